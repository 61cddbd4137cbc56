// Products of a few rows that stay with many that stream past, with mma.sync. dsl/cuda/ways/matmul_reduce_stream.cc and
// matmul_reduce_ring.cc say how it goes. Uses mma.cuh.
//
// A thread is (g, t) = (lane / 4, lane % 4). Of the products' inner index only that both sides agree matters, so each thread has of
// every 32 elements those from t * 8 to t * 8 + 7, which lie together: of sixteen streaming rows those of g and g + 8, of eight rows
// that stay those of g. Of the products it then has those of rows g (places 0, 1) and g + 8 (2, 3) with rows 2 t and 2 t + 1 of
// each eight that stay.

// Where a warp is: in which of its tasks, at which sixteen rows of it, at which slice of their elements.
struct StreamStep {
  long task;
  int sixteen, slice;
};

// Whether the thread's own two of sixteen streaming rows count, and whether any does.
struct WhichRows {
  bool counts[2], wanted;
};

// Sixteen streaming rows' elements of a slice.
template <int BLOCKS>
struct StreamedRows : WhichRows {
  __align__(16) unsigned first[BLOCKS][4], second[BLOCKS][4];
};

// From the thread's own first elements on of both rows; null where one does not count. `left`: how many elements there are from
// there on.
template <int BLOCKS, class T>
__device__ __forceinline__ void ReadRows(StreamedRows<BLOCKS>& rows, const T* first, const T* second, int left) {
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b) {
    ReadOnce(rows.first[b], first + b * 32, first != nullptr && b * 32 < left);
    ReadOnce(rows.second[b], second + b * 32, second != nullptr && b * 32 < left);
  }
}

// The same out of shared memory, where rows lie as in memory.
template <int BLOCKS>
__device__ __forceinline__ void TakeRows(StreamedRows<BLOCKS>& rows, const uint4* first, const uint4* second) {
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b) {
    *reinterpret_cast<uint4*>(rows.first[b]) = first[b * 4];
    *reinterpret_cast<uint4*>(rows.second[b]) = second[b * 4];
  }
}

// The same out of a box of the copy engine, where lines of LINE pieces of 16 bytes lie one below the other, those of sixteen rows
// and then the rows' next ones; lines of eight pieces are swizzled. `row`: the first.
template <int LINE, int BLOCKS>
__device__ __forceinline__ void TakeBox(StreamedRows<BLOCKS>& rows, const uint4* box, int row, int t) {
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b) {
    const int piece = b * 4 % LINE + t;
    const uint4* const at = box + (b * 4 / LINE * 16 + row) * LINE + (LINE == 8 ? piece ^ row : piece);
    *reinterpret_cast<uint4*>(rows.first[b]) = at[0];
    *reinterpret_cast<uint4*>(rows.second[b]) = at[8 * LINE];
  }
}

// sums += the streaming rows times TILES times eight rows that stay. Of those `kept` has this thread's 16 bytes of each block and
// tile, STRIDE apart.
template <class T, int STRIDE, int BLOCKS, int TILES>
__device__ __forceinline__ void MultiplyRows(float (&sums)[TILES][4], const StreamedRows<BLOCKS>& rows, const uint4* kept) {
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b) {
    const unsigned lower[4] = {rows.first[b][0], rows.second[b][0], rows.first[b][1], rows.second[b][1]};
    const unsigned upper[4] = {rows.first[b][2], rows.second[b][2], rows.first[b][3], rows.second[b][3]};
#pragma unroll
    for (int tile = 0; tile < TILES; ++tile) {
      const uint4 own = kept[(b * TILES + tile) * STRIDE];
      MultiplyAdd<T>(sums[tile], lower, own.x, own.y);
      MultiplyAdd<T>(sums[tile], upper, own.z, own.w);
    }
  }
}
