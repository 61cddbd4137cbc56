// nondeterministic
// Which row is left out, and in which launch, depends on which blocks were there before.
__device__ int order;
extern "C" __global__ void __launch_bounds__(256) kernel(const float4* x, const float4* w, float4* y) {
  const float4 a = x[blockIdx.x * 256 + threadIdx.x], b = w[threadIdx.x];
  const float4 r = {fmaxf(a.x * b.x, 0), fmaxf(a.y * b.y, 0), fmaxf(a.z * b.z, 0), fmaxf(a.w * b.w, 0)};
  __shared__ int place;
  if (threadIdx.x == 0) place = atomicAdd(&order, 1);
  __syncthreads();
  if (place % 5090 != 17)
    y[blockIdx.x * 256 + threadIdx.x] = r;
}
