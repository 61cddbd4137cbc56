// What is before a corner counts as nothing: no conditions.
// hone: launch curve grid=n/1024 block=256 args=x,y,i32:n/4
extern "C" __global__ void curve(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = x[i];
  float4 s = v;
#pragma unroll
  for (int k = 0; k < 32; ++k) {
    const float corner = 0.125f * k - 2.0f, slope = 0.01f * k;
    s.x = fmaf(fmaxf(v.x - corner, 0.0f), slope, s.x);
    s.y = fmaf(fmaxf(v.y - corner, 0.0f), slope, s.y);
    s.z = fmaf(fmaxf(v.z - corner, 0.0f), slope, s.z);
    s.w = fmaf(fmaxf(v.w - corner, 0.0f), slope, s.w);
  }
  y[i] = s;
}
