// Keys and values of attention as memory holds them, eight elements at a time: in kWords words, of which pairs of T are
// made, or floats. Uses attention_pairs.cuh.

// Two numbers of 16 bits, as floats.
template <class T>
__device__ __forceinline__ float2 PairFrom(unsigned pair);
template <>
__device__ __forceinline__ float2 PairFrom<__half>(unsigned pair) {
  return __half22float2(reinterpret_cast<const __half2&>(pair));
}
template <>
__device__ __forceinline__ float2 PairFrom<__nv_bfloat16>(unsigned pair) {
  return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u));
}

// As T itself. Together makes pairs of elements of two keys.
template <class T>
struct HeldPairs {
  static constexpr int kWords = 4;
  __device__ __forceinline__ static void Together(const unsigned* first, const unsigned* second, unsigned (&pairs)[8]) {
#pragma unroll
    for (int e = 0; e < 8; ++e) pairs[e] = __byte_perm(first[e / 2], second[e / 2], e % 2 == 0 ? 0x5410 : 0x7632);
  }
  __device__ __forceinline__ static void AsPairs(const unsigned* words, unsigned (&pairs)[4]) {
#pragma unroll
    for (int p = 0; p < 4; ++p) pairs[p] = words[p];
  }
  __device__ __forceinline__ static void AsFloats(const unsigned* words, float (&floats)[8]) {
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const float2 both = PairFrom<T>(words[p]);
      floats[p * 2] = both.x;
      floats[p * 2 + 1] = both.y;
    }
  }
};

// Values of which each has a scale: weights are multiplied by that over the largest so far, so that they stay numbers of
// 16 bits, and sums are of values over it. `own`: of the keys that a thread has of them, which SHARE neighbours have.
struct LargestScale {
  float largest = 0;
  // By what sums so far are to be multiplied.
  template <int N, int SHARE>
  __device__ __forceinline__ float Take(const float (&own)[N]) {
    float top = largest;
#pragma unroll
    for (int n = 0; n < N; ++n) top = fmaxf(top, fabsf(own[n]));
#pragma unroll
    for (int step = 1; step < SHARE; step *= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
    const float shrink = largest * Inverse(top);
    largest = top;
    return shrink;
  }
  // What is below all numbers of 16 bits is none.
  __device__ __forceinline__ static float Inverse(float x) { return x > 1.2e-38f ? 1 / x : 0.0f; }
};

template <class A, class B>
struct IsSame {
  static constexpr bool kIs = false;
};
template <class A>
struct IsSame<A, A> {
  static constexpr bool kIs = true;
};

// A row of bf16 that four threads have, divided by a power of two, which it gives, as halves: all that is not 2^-29 of its
// largest, or less, is exact.
template <int BLOCKS>
__device__ __forceinline__ float AsHalves(unsigned (&row)[BLOCKS][4]) {
  float most = 0;
#pragma unroll
  for (int p = 0; p < BLOCKS * 4; ++p) {
    const float2 both = PairFrom<__nv_bfloat16>(row[p / 4][p % 4]);
    most = fmaxf(most, fmaxf(fabsf(both.x), fabsf(both.y)));
  }
  most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
  most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
  // The largest is 2^14 or more then, and none 2^15.
  const int exponent = max(__float_as_int(most) >> 23, 20);
  const float by = __int_as_float((268 - exponent) << 23);
#pragma unroll
  for (int p = 0; p < BLOCKS * 4; ++p) {
    const float2 both = PairFrom<__nv_bfloat16>(row[p / 4][p % 4]);
    row[p / 4][p % 4] = PairOf<__half>(both.x * by, both.y * by);
  }
  return __int_as_float((exponent - 14) << 23);
}
