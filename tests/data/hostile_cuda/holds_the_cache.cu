// accepted
// Asks the second-level cache to evict its input last, so that a sweep might leave it there: allowed, and the cold times
// are true all the same.
extern "C" __global__ void __launch_bounds__(256) kernel(const float4* x, const float4* w, float4* y) {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  float4 a;
  asm volatile("ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
               : "=f"(a.x), "=f"(a.y), "=f"(a.z), "=f"(a.w)
               : "l"(x + blockIdx.x * 256 + threadIdx.x), "l"(policy));
  const float4 b = w[threadIdx.x];
  const float4 r = {fmaxf(a.x * b.x, 0), fmaxf(a.y * b.y, 0), fmaxf(a.z * b.z, 0), fmaxf(a.w * b.w, 0)};
  y[blockIdx.x * 256 + threadIdx.x] = r;
}
