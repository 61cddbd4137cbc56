// out_of_bounds
// Reads behind its input and makes nothing of it: no output shows that.
extern "C" __global__ void __launch_bounds__(256) kernel(const float4* x, const float4* w, float4* y) {
  const float4 a = x[blockIdx.x * 256 + threadIdx.x], b = w[threadIdx.x];
  float4 r = {fmaxf(a.x * b.x, 0), fmaxf(a.y * b.y, 0), fmaxf(a.z * b.z, 0), fmaxf(a.w * b.w, 0)};
  if (x[(blockIdx.x + 1) * 256 + threadIdx.x].x == 12345.678f) r.x += 1;
  y[blockIdx.x * 256 + threadIdx.x] = r;
}
