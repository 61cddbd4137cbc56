// Lists of terms by their keys: where each begins, and their order.

// Gives each list its place, as many as `counts` says, behind what others took: counts[lists] says how much is taken.
// Blocks of THREADS, a thread a list.
template <int THREADS>
__device__ void BeginLists(int* counts, int* begins, long lists) {
  __shared__ int sums[THREADS / 32], first;
  const long list = static_cast<long>(blockIdx.x) * THREADS + threadIdx.x;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int count = list < lists ? counts[list] : 0;
  int upto = count;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int below = __shfl_up_sync(~0u, upto, step);
    if (lane >= step) upto += below;
  }
  if (lane == 31) sums[warp] = upto;
  __syncthreads();
  if (threadIdx.x == 0) {
    int all = 0;
    for (int w = 0; w < THREADS / 32; ++w) {
      const int own = sums[w];
      sums[w] = all;
      all += own;
    }
    first = all > 0 ? atomicAdd(counts + lists, all) : 0;
  }
  __syncthreads();
  if (list < lists) begins[list] = first + sums[warp] + upto - count;
}

// Puts each list into ascending order, a warp a list; `spare` is as large as `listed`. A list of n terms takes
// n * n / 32 steps: one of more than kLongList stays as it is.
constexpr int kLongList = 1 << 14;
__device__ void SortLists(const int* counts, const int* begins, int* listed, int* spare, long lists) {
  const long list = (static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (list >= lists) return;
  const int lane = threadIdx.x % 32, count = counts[list];
  if (count < 2 || count > kLongList) return;
  int* const own = listed + begins[list];
  if (count <= 32) {
    const int mine = lane < count ? own[lane] : 0x7fffffff;
    int place = 0;
    for (int other = 0; other < count; ++other) place += __shfl_sync(~0u, mine, other) < mine ? 1 : 0;
    if (lane < count) own[place] = mine;
    return;
  }
  int* const sorted = spare + begins[list];
  for (int i = lane; i < count; i += 32) {
    const int mine = own[i];
    int place = 0;
    for (int other = 0; other < count; ++other) place += own[other] < mine ? 1 : 0;
    sorted[place] = mine;
  }
  __syncwarp();
  for (int i = lane; i < count; i += 32) own[i] = sorted[i];
}
