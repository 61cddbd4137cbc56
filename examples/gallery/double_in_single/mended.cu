// The same in floats.
// hone: launch smooth grid=n/1024 block=256 args=x,y,i32:n/4
__device__ float Smoothed(float v) {
  float s = v;
#pragma unroll
  for (int k = 0; k < 16; ++k) s = 0.7f * s * v + 0.3f;
  return s;
}
extern "C" __global__ void smooth(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = x[i];
  y[i] = make_float4(Smoothed(v.x), Smoothed(v.y), Smoothed(v.z), Smoothed(v.w));
}
