// A curve of 32 pieces: from each corner on the slope changes. A condition for every corner.
// hone: launch curve grid=n/1024 block=256 args=x,y,i32:n/4
extern "C" __global__ void curve(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = x[i];
  float4 s = v;
#pragma unroll
  for (int k = 0; k < 32; ++k) {
    const float corner = 0.125f * k - 2.0f, slope = 0.01f * k;
    if (v.x > corner) s.x = fmaf(v.x - corner, slope, s.x);
    if (v.y > corner) s.y = fmaf(v.y - corner, slope, s.y);
    if (v.z > corner) s.z = fmaf(v.z - corner, slope, s.z);
    if (v.w > corner) s.w = fmaf(v.w - corner, slope, s.w);
  }
  y[i] = s;
}
