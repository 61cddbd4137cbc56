// nondeterministic
// Reads what another warp writes to shared memory, without a barrier between, and makes nothing of it.
extern "C" __global__ void __launch_bounds__(256) kernel(const float4* x, const float4* w, float4* y) {
  __shared__ float row[256];
  const float4 a = x[blockIdx.x * 256 + threadIdx.x], b = w[threadIdx.x];
  float4 r = {fmaxf(a.x * b.x, 0), fmaxf(a.y * b.y, 0), fmaxf(a.z * b.z, 0), fmaxf(a.w * b.w, 0)};
  row[threadIdx.x] = r.x;
  if (row[(threadIdx.x + 32) % 256] == 12345.678f) r.x += 1;
  y[blockIdx.x * 256 + threadIdx.x] = r;
}
