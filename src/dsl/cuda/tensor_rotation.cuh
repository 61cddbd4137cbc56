// Pairs of columns, DISTANCE apart, turned by a quarter: what stands at a place of a thread's sums, which wgmma leaves as
// two neighbours of each eight columns, for two rows.
template <int DISTANCE, int COUNT>
__device__ __forceinline__ float Rotated(const float (&sums)[COUNT], int at, int thread) {
  if constexpr (DISTANCE == 1) {
    return at & 1 ? sums[at ^ 1] : -sums[at ^ 1];
  } else if constexpr (DISTANCE < 8) {  // another thread of four has it
    const float other = __shfl_xor_sync(0xffffffffu, sums[at], DISTANCE / 2);
    return thread & DISTANCE / 2 ? other : -other;
  } else {
    constexpr int kApart = DISTANCE / 2;
    return at % DISTANCE < kApart ? -sums[at + kApart] : sums[at - kApart];
  }
}
