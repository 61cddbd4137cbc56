// How many corners are behind a value says how much its slope has changed by then: sums that are known, no conditions.
// hone: launch curve grid=n/1024 block=256 args=x,y,i32:n/4
__device__ float Bent(float v) {
  const float from = v + 2.0f, k = fminf(fmaxf(ceilf(from * 8.0f), 0.0f), 32.0f);
  const float slopes = 0.5f * k * (k - 1.0f), corners = slopes * (2.0f * k - 1.0f) * (1.0f / 3.0f);
  return v + 0.01f * (from * slopes - 0.125f * corners);
}
extern "C" __global__ void curve(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = x[i];
  y[i] = make_float4(Bent(v.x), Bent(v.y), Bent(v.z), Bent(v.w));
}
