// What all kernels of attention do with numbers: how scores become weights, over the largest of their row.

// What a kernel's weights are: exponentials over the largest of a row; scores themselves, whose sum nobody asks for;
// scores, and their sum. `Hidden` is the score of a key that has no weight.
struct Softmax {
  static constexpr bool kIsSoftmax = true;
  __device__ __forceinline__ static float Hidden() { return -__int_as_float(0x7f800000); }
};
struct Scores {
  static constexpr bool kIsSoftmax = false, kSums = false;
  __device__ __forceinline__ static float Hidden() { return 0; }
};
struct SummedScores {
  static constexpr bool kIsSoftmax = false, kSums = true;
  __device__ __forceinline__ static float Hidden() { return 0; }
};

// What scores of a row are scaled by, whose largest is `top`. Where numbers hide all keys, the least of their type, that
// times `scale` would be none; and scores in the millions are multiplied by a power of two alone: what rounding takes
// from the largest would be many powers of two, and all weights infinite or none. Of such scores those that differ at
// all differ by so much that a little more or less of it is no matter.
__device__ __forceinline__ float RowScale(float top, float scale) {
  const float largest = fabsf(top * scale);
  const float power = largest > 3.4028235e38f ? 0.5f : __int_as_float(__float_as_int(scale) & 0xff800000);
  return largest < 16777216.0f ? scale : power;
}
// The largest score in units of log2; -inf alone is what no key has.
__device__ __forceinline__ float InLog2(float top, float scale) {
  return top >= -3.4028235e38f ? fmaxf(top * scale, -3.4028235e38f) : top;
}
__device__ __forceinline__ float Exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
