// Segments of K, each of which is a product of its own: where they end is read on the device.

// Where a segment ends, of `extent` terms in all; -1 is before the first one.
template <class Int>
__device__ __forceinline__ int SegmentEnd(const Int* ends, long stride, int segment, int extent) {
  if (segment < 0) return 0;
  const Int end = ends[segment * stride];
  return end < 0 ? 0 : end > extent ? extent : static_cast<int>(end);
}

// Terms that are another segment's, behind the first `left` of boxes of 64 lines of K, 128 bytes each: zeros, by the
// threads of a warpgroup, which all come here. What the tensor cores read then is of before and of these zeros.
template <int BOXES>
__device__ __forceinline__ void ClearLines(unsigned boxes, int left, int thread) {
#pragma unroll 1
  for (int box = 0; box < BOXES; ++box) {
    for (int at = left * 128 + thread * 16; at < 8192; at += 2048)
      asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(boxes + box * 8192 + at), "r"(0) : "memory");
  }
}
__device__ __forceinline__ void PublishLines(int warpgroup) {
  PublishToCopies();
  asm volatile("bar.sync %0, 128;" ::"r"(warpgroup + 8) : "memory");
}
