// Groups of rows, each with a matrix of its own to be multiplied with: where they and their tiles end is found on the
// device, by every block for itself.

// Sets row_end to where the rows of each group end, in ascending order, the last one with all rows that are left, and
// tile_end to how many tiles of `tile` rows the groups up to it have. All threads of the block come here; what is written
// is to be read behind their next barrier.
template <int GROUPS, class Int>
__device__ void FindGroups(const Int* ends, long stride, int rows, int tile, int (&row_end)[GROUPS],
                           int (&tile_end)[GROUPS]) {
  for (int g = threadIdx.x; g < GROUPS; g += blockDim.x) {
    const Int end = ends[g * stride];
    tile_end[g] = end < 0 ? 0 : end > rows ? rows : static_cast<int>(end);
  }
  __syncthreads();
  for (int g = threadIdx.x; g < GROUPS; g += blockDim.x) {
    int place = 0;
    for (int other = 0; other < GROUPS; ++other)
      place += tile_end[other] < tile_end[g] || (tile_end[other] == tile_end[g] && other < g) ? 1 : 0;
    row_end[place] = place == GROUPS - 1 ? rows : tile_end[g];
  }
  __syncthreads();
  if (threadIdx.x >= 32) return;
  int before = 0;
  for (int first = 0; first < GROUPS; first += 32) {
    const int g = first + threadIdx.x;
    int upto = g < GROUPS ? (row_end[g] - (g > 0 ? row_end[g - 1] : 0) + tile - 1) / tile : 0;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int below = __shfl_up_sync(~0u, upto, step);
      if (threadIdx.x >= step) upto += below;
    }
    if (g < GROUPS) tile_end[g] = before + upto;
    before += __shfl_sync(~0u, upto, 31);
  }
}

// The group of a tile: how many of them have ended before it.
template <int GROUPS>
__device__ __forceinline__ int GroupOf(const int (&tile_end)[GROUPS], int tile) {
  int ended = 0;
#pragma unroll
  for (int step = 1 << 30; step > 0; step /= 2) {
    if (step < GROUPS && ended + step < GROUPS && tile_end[ended + step - 1] <= tile) ended += step;
  }
  return ended;
}

// Of a result that leaves in tiles, where one reaches into the rows of another group.
__device__ __forceinline__ int4 ReadShared(unsigned from) {
  int4 read;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(read.x), "=r"(read.y), "=r"(read.z), "=r"(read.w)
               : "r"(from));
  return read;
}
