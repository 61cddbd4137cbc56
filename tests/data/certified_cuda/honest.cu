// accepted
// Nothing is wrong with this one.
extern "C" __global__ void __launch_bounds__(256) kernel(const float4* x, const float4* w, float4* y) {
  const float4 a = x[blockIdx.x * 256 + threadIdx.x], b = w[threadIdx.x];
  const float4 r = {fmaxf(a.x * b.x, 0), fmaxf(a.y * b.y, 0), fmaxf(a.z * b.z, 0), fmaxf(a.w * b.w, 0)};
  y[blockIdx.x * 256 + threadIdx.x] = r;
}
