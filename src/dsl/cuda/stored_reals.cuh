// After stored_weights.cuh: two reals of f16, which holds all of 8 bits, as a pair. So does bf16.
template <class Pairs>
__device__ __forceinline__ unsigned PairOfHalves(unsigned halves) {
  const __half2_raw raw = {static_cast<unsigned short>(halves), static_cast<unsigned short>(halves >> 16)};
  const __nv_bfloat162_raw made = __float22bfloat162_rn(__half22float2(raw));
  return made.x | static_cast<unsigned>(made.y) << 16;
}
template <>
__device__ __forceinline__ unsigned PairOfHalves<HalfPairs>(unsigned halves) {
  return halves;
}

// Eight reals of 8 bits as four pairs.
template <class Pairs, __nv_fp8_interpretation_t kType>
__device__ __forceinline__ void RealsAsPairs(unsigned first, unsigned second, unsigned (&pairs)[4]) {
  const unsigned words[2] = {first, second};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const auto both = static_cast<__nv_fp8x2_storage_t>(words[i / 2] >> i % 2 * 16);
    const __half2_raw halves = __nv_cvt_fp8x2_to_halfraw2(both, kType);
    pairs[i] = PairOfHalves<Pairs>(halves.x | static_cast<unsigned>(halves.y) << 16);
  }
}
