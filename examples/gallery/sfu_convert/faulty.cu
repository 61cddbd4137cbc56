// A sum of powers of two of 64 scaled values: each takes the slow unit.
// hone: launch partition grid=n/1024 block=256 args=x,y,i32:n/4
__device__ float PowerOfTwo(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
extern "C" __global__ void partition(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = x[i];
  float4 s = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
  for (int k = 1; k <= 64; ++k) {
    s.x += PowerOfTwo(v.x * k);
    s.y += PowerOfTwo(v.y * k);
    s.z += PowerOfTwo(v.z * k);
    s.w += PowerOfTwo(v.w * k);
  }
  y[i] = s;
}
