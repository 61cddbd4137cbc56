// After attention_held.cuh and stored_weights.cuh: keys and values that are signed bytes.
template <class T>
struct PairsOfHeld {
  using Of = BrainPairs;
};
template <>
struct PairsOfHeld<__half> {
  using Of = HalfPairs;
};

// Bytes of two keys are put side by side before they are made pairs.
template <class HELD>
__device__ __forceinline__ void BytesTogether(const unsigned* first, const unsigned* second, unsigned (&pairs)[8]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const unsigned both[2] = {__byte_perm(first[half], second[half], 0x5140), __byte_perm(first[half], second[half], 0x7362)};
    HELD::AsPairs(both, reinterpret_cast<unsigned(&)[4]>(pairs[half * 4]));
  }
}

template <class T>
struct HeldBytes {
  static constexpr int kWords = 2;
  __device__ __forceinline__ static void Together(const unsigned* first, const unsigned* second, unsigned (&pairs)[8]) {
    BytesTogether<HeldBytes>(first, second, pairs);
  }
  __device__ __forceinline__ static void AsPairs(const unsigned* words, unsigned (&pairs)[4]) {
    BytesAsPairs<typename PairsOfHeld<T>::Of>(words[0], words[1], pairs);
  }
  __device__ __forceinline__ static void AsFloats(const unsigned* words, float (&floats)[8]) {
#pragma unroll
    for (int e = 0; e < 8; ++e) floats[e] = static_cast<float>(static_cast<signed char>(words[e / 4] >> e % 4 * 8));
  }
};
