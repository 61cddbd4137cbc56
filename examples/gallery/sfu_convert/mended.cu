// 2 to the k v is 2 to the v, to the k: one power, and a sum by Horner's rule.
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
  const float4 e = make_float4(PowerOfTwo(v.x), PowerOfTwo(v.y), PowerOfTwo(v.z), PowerOfTwo(v.w));
  float4 s = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
  for (int k = 1; k <= 64; ++k) {
    s.x = fmaf(s.x, e.x, e.x);
    s.y = fmaf(s.y, e.y, e.y);
    s.z = fmaf(s.z, e.z, e.z);
    s.w = fmaf(s.w, e.w, e.w);
  }
  y[i] = s;
}
