// After attention_held_bytes.cuh and stored_reals.cuh: keys and values that are reals of 8 bits.
template <class T, __nv_fp8_interpretation_t kType>
struct HeldReals {
  static constexpr int kWords = 2;
  __device__ __forceinline__ static void Together(const unsigned* first, const unsigned* second, unsigned (&pairs)[8]) {
    BytesTogether<HeldReals>(first, second, pairs);
  }
  __device__ __forceinline__ static void AsPairs(const unsigned* words, unsigned (&pairs)[4]) {
    RealsAsPairs<typename PairsOfHeld<T>::Of, kType>(words[0], words[1], pairs);
  }
  // By way of halves, which hold them.
  __device__ __forceinline__ static void AsFloats(const unsigned* words, float (&floats)[8]) {
    unsigned halves[4];
    RealsAsPairs<HalfPairs, kType>(words[0], words[1], halves);
    HeldPairs<__half>::AsFloats(halves, floats);
  }
};
