// Folds of what neighbouring threads have, and sums of exponentials, each below what it would be by its row's largest.

// Of the four threads that have a row of what wgmma leaves; of the warp.
template <class HOW, class T>
__device__ __forceinline__ T AcrossRow(T it) {
  it = HOW::Of(it, Across(it, 1));
  return HOW::Of(it, Across(it, 2));
}
template <class HOW, class T>
__device__ __forceinline__ T AcrossWarp(T it) {
#pragma unroll
  for (int other = 1; other < 32; other *= 2) it = HOW::Of(it, Across(it, other));
  return it;
}
// What scores are taken from: the largest, but 0 where that is infinite.
__device__ __forceinline__ float BaseOf(float largest) {
  return fabsf(largest) == __int_as_float(0x7f800000) ? 0.0f : largest;
}
// e^(score - base).
__device__ __forceinline__ float Power(float score, float base) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"((score - base) * 1.44269504f));
  return power;
}
