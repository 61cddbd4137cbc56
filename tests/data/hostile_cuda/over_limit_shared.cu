// compile_error
// More shared memory than a multiprocessor has.
extern "C" __global__ void __launch_bounds__(256) kernel(const float4* x, const float4* w, float4* y) {
  __shared__ float4 all[20480];
  for (int i = threadIdx.x; i < 20480; i += 256) all[i] = w[i % 256];
  __syncthreads();
  const float4 a = x[blockIdx.x * 256 + threadIdx.x], b = all[threadIdx.x + 256 * (a.x > 1)];
  const float4 r = {fmaxf(a.x * b.x, 0), fmaxf(a.y * b.y, 0), fmaxf(a.z * b.z, 0), fmaxf(a.w * b.w, 0)};
  y[blockIdx.x * 256 + threadIdx.x] = r;
}
