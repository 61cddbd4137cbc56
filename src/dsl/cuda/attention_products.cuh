// What kernels of attention with wgmma share: products, a ring of stages, and scores that become weights in registers.
// Uses tensor_core.cuh, attention_numbers.cuh, attention_pairs.cuh and the specializations of Products that the kernel needs.

// d = a * b, and what d was where `add` is not 0: a of 64 x 16, b of 16 x N. Of(d, a, b, add) has both in shared memory,
// b by rows of its N; After(d, a, b) has a in registers, and b by rows of the 16; AfterShared(d, a, b) has a in shared
// memory, too.
template <class T, int N>
struct Products;

// A tile of 64 columns beside the one before, each column's elements of 128 bytes apart: b as After wants it.
__device__ __forceinline__ unsigned long TurnedDescriptor(unsigned address, unsigned apart) {
  return static_cast<unsigned long>((address & 0x3ffff) >> 4) | (static_cast<unsigned long>(apart >> 4) << 16) |
         (64ul << 32) | (1ul << 62);
}
// The stage of a ring that is next, and how often the ring has gone round.
template <int STAGES>
struct Next {
  int stage = 0;
  unsigned phase = 0;
  __device__ __forceinline__ void Advance() {
    if (++stage == STAGES) {
      stage = 0;
      phase ^= 1;
    }
  }
};

// Makes exp2(scale * score) of a warpgroup's scores, over that of the largest so far, and gives by what the sums so far
// shrink. A query that no key counts for yet has -inf as its largest. A thread has two queries, `half` 0 and 1.
template <int N>
__device__ __forceinline__ void WeighScores(float (&scores)[N], float scale, float (&most)[2], float (&total)[2],
                                            float (&shrink)[2]) {
  float offset[2], by[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float top = most[half];
#pragma unroll
    for (int i = 0; i < N / 4; ++i) top = fmaxf(top, fmaxf(scores[i * 4 + half * 2], scores[i * 4 + half * 2 + 1]));
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
    by[half] = RowScale(top, scale);
    offset[half] = top == -__int_as_float(0x7f800000) ? 0.0f : top * by[half];
    shrink[half] = Exp2(fmaf(most[half], by[half], -offset[half]));
    most[half] = top;
  }
#pragma unroll
  for (int i = 0; i < N; ++i) scores[i] = Exp2(fmaf(scores[i], by[i / 2 % 2], -offset[i / 2 % 2]));
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < N / 4; ++i) sum += scores[i * 4 + half * 2] + scores[i * 4 + half * 2 + 1];
    total[half] = fmaf(total[half], shrink[half], sum);
  }
}
template <class T, int N>
__device__ __forceinline__ void PackWeights(const float (&scores)[N], unsigned (&weights)[N / 2]) {
#pragma unroll
  for (int i = 0; i < N / 2; ++i) weights[i] = PairOf<T>(scores[i * 2], scores[i * 2 + 1]);
}
