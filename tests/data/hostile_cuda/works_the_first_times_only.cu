// wrong_result
// Thirteen launches check seven draws; after them nothing is written.
__device__ int calls[512];
extern "C" __global__ void __launch_bounds__(256) kernel(const float4* x, const float4* w, float4* y) {
  const float4 a = x[blockIdx.x * 256 + threadIdx.x], b = w[threadIdx.x];
  const float4 r = {fmaxf(a.x * b.x, 0), fmaxf(a.y * b.y, 0), fmaxf(a.z * b.z, 0), fmaxf(a.w * b.w, 0)};
  const int mine = calls[blockIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) calls[blockIdx.x] = mine + 1;
  if (mine < 13)
    y[blockIdx.x * 256 + threadIdx.x] = r;
}
