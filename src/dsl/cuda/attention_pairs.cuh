// Weights of attention as pairs of the type of the values.

template <class T>
__device__ __forceinline__ unsigned PairOf(float a, float b);
template <>
__device__ __forceinline__ unsigned PairOf<__half>(float a, float b) {
  const __half2 pair = __floats2half2_rn(a, b);
  return reinterpret_cast<const unsigned&>(pair);
}
template <>
__device__ __forceinline__ unsigned PairOf<__nv_bfloat16>(float a, float b) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
  return reinterpret_cast<const unsigned&>(pair);
}
