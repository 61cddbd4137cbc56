// The first elements of rows in order. A team, one warp or all warps of a block, holds a row, or a part of one, in its
// registers: element e * 32 + lane of its EACH * 32 is a lane's e-th.

constexpr int kNoPlace = 0x7fffffff;  // of what is there to fill up

// A number as one without sign that has its place in order: a NaN is above all numbers, both zeros are one.
__device__ __forceinline__ unsigned KeyOf(float x) {
  const int bits = __float_as_int(x + 0.0f);  // which makes both zeros one
  const unsigned key = static_cast<unsigned>(bits ^ (bits >> 31 | static_cast<int>(0x80000000u)));
  return x != x ? 0xffc00000u : key;
}
__device__ __forceinline__ unsigned KeyOf(int x) { return static_cast<unsigned>(x) ^ 0x80000000u; }
__device__ __forceinline__ unsigned KeyOf(bool x) { return x ? 1 : 0; }
__device__ __forceinline__ unsigned long KeyOf(long x) { return static_cast<unsigned long>(x) ^ (1ul << 63); }
__device__ __forceinline__ unsigned long KeyOf(double x) {
  if (x != x) return 0xfff8000000000000ul;
  const long bits = x == 0 ? 0 : __double_as_longlong(x);
  return bits < 0 ? ~static_cast<unsigned long>(bits) : static_cast<unsigned long>(bits) | (1ul << 63);
}

// The number that has this key; false where several have it, which are both zeros and all NaNs.
__device__ __forceinline__ bool IsKeyOf(unsigned key, float& x) {
  x = __int_as_float(static_cast<int>(key >> 31 ? key ^ 0x80000000u : ~key));
  return key != 0x80000000u && key != 0xffc00000u;
}
__device__ __forceinline__ bool IsKeyOf(unsigned key, long& x) {
  x = static_cast<int>(key ^ 0x80000000u);
  return true;
}
__device__ __forceinline__ bool IsKeyOf(unsigned key, bool& x) {
  x = key != 0;
  return true;
}
__device__ __forceinline__ bool IsKeyOf(unsigned long key, long& x) {
  x = static_cast<long>(key ^ (1ul << 63));
  return true;
}
__device__ __forceinline__ bool IsKeyOf(unsigned long key, double& x) {
  x = __longlong_as_double(static_cast<long>(key >> 63 ? key ^ (1ul << 63) : ~key));
  return key != 1ul << 63 && key != 0xfff8000000000000ul;
}

template <int WARPS>
__device__ __forceinline__ void MeetTeam() {
  if constexpr (WARPS == 1)
    __syncwarp();
  else
    __syncthreads();
}

// The sum over a team; `sums` is used by nobody else until the team has met twice.
template <int WARPS>
__device__ __forceinline__ int SumOfTeam(int value, int (&sums)[WARPS]) {
  value = __reduce_add_sync(~0u, value);
  if constexpr (WARPS > 1) {
    const int lane = threadIdx.x % 32;
    if (lane == 0) sums[threadIdx.x / 32] = value;
    __syncthreads();
    value = __reduce_add_sync(~0u, lane < WARPS ? sums[lane] : 0);
  }
  return value;
}

// How many of a team's elements are below a key.
template <int EACH, int WARPS, class KEY>
__device__ __forceinline__ int CountBelow(const KEY (&keys)[EACH], KEY limit, int (&sums)[WARPS]) {
  int count = 0;
#pragma unroll
  for (int e = 0; e < EACH; ++e) count += keys[e] < limit ? 1 : 0;
  return SumOfTeam<WARPS>(count, sums);
}

__device__ __forceinline__ void LeastOf(unsigned* of, unsigned key) { atomicMin(of, key); }
__device__ __forceinline__ void LeastOf(unsigned long* of, unsigned long key) {
  atomicMin(reinterpret_cast<unsigned long long*>(of), static_cast<unsigned long long>(key));
}

// Finds the first `wanted` of a team's elements, and with them others, `room` at most, where that is less work; in the
// order of their places, but `wanted` of equals first. place(e): of a lane's e-th, kNoPlace if there is none (its key
// is the largest). put(n, e): the lane's e-th is the n-th that was found. Gives their number, which is less than wanted
// only where there are no more, or where `reached` is not null. That is of all teams that have parts of a row: the least
// key below which, or with which, one of them had as many as are wanted, ~0 at first. What is above it is of no account,
// and mostly that is all but a few: then nobody looks for a limit again.
template <int EACH, int WARPS, class KEY, class PLACE, class PUT>
__device__ __forceinline__ int FindFirst(const KEY (&keys)[EACH], int wanted, int room, const PLACE& place,
                                         const PUT& put, KEY* reached = nullptr) {
  __shared__ int sums[4][WARPS];
  const int lane = threadIdx.x % 32, warp = WARPS == 1 ? 0 : threadIdx.x / 32;
  // 1. The limit, bit by bit: what is below it is found, and `equals` of those that are it.
  KEY limit = 0;
  int below = 0, equals = -1;
  if (reached != nullptr) {
    __shared__ KEY known;
    if (threadIdx.x == 0) known = *static_cast<const volatile KEY*>(reached);
    __syncthreads();
    limit = known;
    int count = EACH * 32;
    if (limit != ~KEY(0)) {
      count = 0;
#pragma unroll
      for (int e = 0; e < EACH; ++e) count += keys[e] <= limit ? 1 : 0;
    }
    if (SumOfTeam<WARPS>(count, sums[0]) <= room) {
      ++limit;  // whatever is not above it is found
      equals = 0;
    } else {
      limit = 0;
    }
  }
  if (equals >= 0) {
    // What others have reached is the limit.
  } else if (room < EACH * WARPS * 32) {
    for (int bit = sizeof(KEY) * 8 - 1; bit >= 0; --bit) {
      const KEY trial = limit | KEY(1) << bit;
      const int count = CountBelow<EACH, WARPS>(keys, trial, sums[bit & 1]);
      if (count < wanted) {
        limit = trial;
        below = count;
      } else if (count <= room) {
        limit = trial;
        equals = 0;
        break;
      }
    }
    if (reached != nullptr && threadIdx.x == 0) LeastOf(reached, equals < 0 ? limit : limit - 1);
    if (equals < 0) equals = wanted - below;
  } else {
    limit = ~KEY(0);
    equals = room;
  }
  // 2. How many the warps before this one have.
  int before = 0, same = 0;
#pragma unroll
  for (int e = 0; e < EACH; ++e) {
    before += keys[e] < limit ? 1 : 0;
    same += keys[e] == limit && place(e) != kNoPlace ? 1 : 0;
  }
  before = __reduce_add_sync(~0u, before);
  same = __reduce_add_sync(~0u, same);
  int at = 0, total = before + min(equals, same);
  if constexpr (WARPS > 1) {
    if (lane == 0) {
      sums[2][warp] = before;
      sums[3][warp] = same;
    }
    __syncthreads();
    const int theirs = lane < WARPS ? sums[2][lane] : 0, same_there = lane < WARPS ? sums[3][lane] : 0;
    const int all_same = __reduce_add_sync(~0u, same_there);
    const int same_before = __reduce_add_sync(~0u, lane < warp ? same_there : 0);
    total = __reduce_add_sync(~0u, theirs) + min(equals, all_same);
    at = __reduce_add_sync(~0u, lane < warp ? theirs : 0) + min(equals, same_before);
    equals -= same_before;
  }
  // 3. What is found.
  const unsigned lower = (1u << lane) - 1;
#pragma unroll
  for (int e = 0; e < EACH; ++e) {
    if (reached != nullptr && __ballot_sync(~0u, keys[e] <= limit) == 0) continue;  // of few there are none in most
    const bool is_same = keys[e] == limit && place(e) != kNoPlace;
    const unsigned all_same = __ballot_sync(~0u, is_same);
    const bool found = keys[e] < limit || (is_same && __popc(all_same & lower) < equals);
    const unsigned all_found = __ballot_sync(~0u, found);
    if (found) put(at + __popc(all_found & lower), e);
    at += __popc(all_found);
    equals -= __popc(all_same);
  }
  return total;
}

// Places are not below zero, and as such they are the lower words as they are: nothing but the comparison is computed.
__device__ __forceinline__ bool IsBefore(unsigned a, int of_a, unsigned b, int of_b) {
  return (static_cast<unsigned long>(a) << 32 | static_cast<unsigned>(of_a)) <
         (static_cast<unsigned long>(b) << 32 | static_cast<unsigned>(of_b));
}
__device__ __forceinline__ bool IsBefore(unsigned long a, int of_a, unsigned long b, int of_b) {
  return a < b || (a == b && of_a < of_b);
}

// Orders pairs of a thread's elements, from those that lie `step` apart down to neighbours; `up`: of each, or, where
// `size` is not 0, by where it lies among as many.
template <int EACH, class KEY>
__device__ __forceinline__ void OrderWithin(KEY (&keys)[EACH], int (&places)[EACH], int from, int size, bool up) {
#pragma unroll
  for (int step = from; step > 0; step /= 2) {
#pragma unroll
    for (int a = 0; a < EACH; ++a) {
      const int b = a + step;
      if ((a & step) != 0) continue;
      const bool goes_up = size == 0 ? up : (a & size) == 0;
      if (IsBefore(keys[b], places[b], keys[a], places[a]) != goes_up) continue;
      const KEY key = keys[a];
      const int place = places[a];
      keys[a] = keys[b];
      places[a] = places[b];
      keys[b] = key;
      places[b] = place;
    }
  }
}

// Where the n-th lies after SortFirst: so that threads that hold neighbours each, and those that read one after the
// other, are in 32 banks.
__device__ __forceinline__ int OfSorted(int n) { return n ^ (n >> 5 & 31); }

// Among the threads of a team's first warps alone.
template <int SORTING, int WARPS>
__device__ __forceinline__ void MeetSorting() {
  if constexpr (SORTING == WARPS)
    MeetTeam<WARPS>();
  else
    asm volatile("bar.sync 1, %0;" ::"n"(SORTING * 32) : "memory");
}

// Puts elements, as many as a power of two, into order, by a team or the first warps of one: each of their threads has
// neighbours in registers, and pairs that lie further apart are of two lanes, or of two warps.
template <int COUNT, int WARPS, class KEY>
__device__ void SortFirst(KEY* keys, int* places) {
  constexpr int kWarps = COUNT <= 128 ? 1 : COUNT / 128 < WARPS ? COUNT / 128 : WARPS, kThreads = kWarps * 32;
  constexpr int kEach = COUNT <= kThreads ? 1 : COUNT / kThreads;
  const int thread = threadIdx.x % (WARPS * 32);
  KEY own[kEach];
  int of[kEach];
  MeetTeam<WARPS>();
  if (thread < kThreads) {
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int n = e * kThreads + thread;
      own[e] = n < COUNT ? keys[n] : ~KEY(0);
      of[e] = n < COUNT ? places[n] : kNoPlace;
    }
#pragma unroll
    for (int size = 2; size < kEach; size *= 2) OrderWithin(own, of, size / 2, size, true);
#pragma unroll 1
    for (int size = kEach; size <= kEach * kThreads; size *= 2) {
      const bool up = (thread * kEach & size) == 0;
#pragma unroll 1
      for (int apart = size / 2 / kEach; apart > 0; apart /= 2) {
        const bool first = ((thread & apart) == 0) == up;
        const bool of_other_warp = kWarps > 1 && apart >= 32;
        if (of_other_warp) {
          MeetSorting<kWarps, WARPS>();
#pragma unroll
          for (int e = 0; e < kEach; ++e) {
            keys[e * kThreads + thread] = own[e];
            places[e * kThreads + thread] = of[e];
          }
          MeetSorting<kWarps, WARPS>();
        }
#pragma unroll
        for (int e = 0; e < kEach; ++e) {
          KEY other;
          int of_other;
          if (of_other_warp) {
            const int n = (e * kThreads + (thread ^ apart)) % COUNT;
            other = keys[n];
            of_other = places[n];
          } else {
            other = __shfl_xor_sync(~0u, own[e], apart);
            of_other = __shfl_xor_sync(~0u, of[e], apart);
          }
          if (IsBefore(other, of_other, own[e], of[e]) == first) {
            own[e] = other;
            of[e] = of_other;
          }
        }
      }
      OrderWithin(own, of, kEach / 2, 0, up);
    }
    MeetSorting<kWarps, WARPS>();
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int n = thread * kEach + e;
      if (n >= COUNT) continue;
      keys[OfSorted(n)] = own[e];
      places[OfSorted(n)] = of[e];
    }
  }
  MeetTeam<WARPS>();
}

// The first few of a warp's elements, one after the other: lane n gets the place of the n-th.
template <int EACH>
__device__ __forceinline__ int PickFirst(const unsigned (&keys)[EACH], int wanted) {
  const int lane = threadIdx.x % 32;
  unsigned gone = 0;
  int mine = 0;
  for (int n = 0; n < wanted; ++n) {
    unsigned key = ~0u;
    int at = EACH;
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
      if ((gone >> e & 1) == 0 && (at == EACH || keys[e] < key)) {
        key = keys[e];
        at = e;
      }
    }
    const unsigned first = __reduce_min_sync(~0u, key);
    const unsigned place = at < EACH && key == first ? at * 32 + lane : kNoPlace;
    const unsigned picked = __reduce_min_sync(~0u, place);
    if (place == picked) gone |= 1u << at;
    if (lane == n) mine = static_cast<int>(picked);
  }
  return mine;
}

__device__ __forceinline__ unsigned LeastOfWarp(unsigned key) { return __reduce_min_sync(~0u, key); }
__device__ __forceinline__ unsigned long LeastOfWarp(unsigned long key) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    const unsigned long other = __shfl_xor_sync(~0u, key, apart);
    key = other < key ? other : key;
  }
  return key;
}
__device__ __forceinline__ int TopBit(unsigned bits) { return 31 - __clz(static_cast<int>(bits)); }
__device__ __forceinline__ int TopBit(unsigned long bits) { return 63 - __clzll(static_cast<long>(bits)); }

__device__ __forceinline__ int UpToMeInWarp(int count) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int apart = 1; apart < 32; apart *= 2) {
    const int below = __shfl_up_sync(~0u, count, apart);
    if (lane >= apart) count += below;
  }
  return count;
}

// Where a limit lies, of which `below` keys are known to be below `from`: not above `from + range`.
template <class KEY>
struct Span {
  KEY from, range;
  int below;
  bool right;  // `from + range` is the limit
};

// Narrows what PARTS limits lie in, which is the same: keys are counted in bins, as many as a block has threads.
template <int WARPS, int PARTS, class KEY>
__device__ __forceinline__ void NarrowByBins(const KEY* keys, int count, int rank, int more, int slack,
                                             Span<KEY>* spans) {
  constexpr int kThreads = WARPS * 32;
  __shared__ int bins[kThreads], sums[WARPS];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const Span<KEY> span = spans[0];
  const int shift = max(0, TopBit(span.range) + 1 - TopBit(static_cast<unsigned>(kThreads)));
  bins[thread] = 0;
  __syncthreads();
  for (int n = thread; n < count; n += kThreads) {
    const KEY at = keys[n] - span.from;
    if (at <= span.range) atomicAdd(bins + (at >> shift), 1);
  }
  __syncthreads();
  const int own = bins[thread], up_to_me = UpToMeInWarp(own);
  if (lane == 31) sums[warp] = up_to_me;
  __syncthreads();
  const int up_to = span.below + __reduce_add_sync(~0u, lane < warp ? sums[lane] : 0) + up_to_me;
  const KEY begin = KEY(thread) << shift, end = begin + ((KEY(1) << shift) - 1);
#pragma unroll
  for (int p = 0; p < PARTS; ++p) {
    const int of = rank + p * more;
    if (up_to < of || up_to - own >= of) continue;
    spans[p] = {span.from + begin, (end < span.range ? end : span.range) - begin, up_to - own,
                up_to <= of + slack || shift == 0};
  }
  __syncthreads();
}

// Keys that are not below the first `rank` of so many in shared memory, twice as many and so on, and below or with which
// no more than `slack` more of them are, unless many are equal. By a block.
template <int WARPS, int PARTS, class KEY>
__device__ __forceinline__ void LimitsOf(const KEY* keys, int count, int rank, int slack, KEY (&limits)[PARTS]) {
  __shared__ KEY least_of[WARPS], largest_of[WARPS];
  __shared__ Span<KEY> spans[PARTS];
  const int thread = threadIdx.x, lane = thread % 32;
  KEY least = ~KEY(0), largest = 0;
  for (int n = thread; n < count; n += WARPS * 32) {
    const KEY key = keys[n];
    least = key < least ? key : least;
    largest = key > largest ? key : largest;
  }
  least = LeastOfWarp(least);
  largest = ~LeastOfWarp(~largest);
  if (lane == 0) {
    least_of[thread / 32] = least;
    largest_of[thread / 32] = largest;
  }
  __syncthreads();
  if (thread < 32) {
    least = LeastOfWarp(least_of[lane % WARPS]);
    largest = ~LeastOfWarp(~largest_of[lane % WARPS]);
    if (lane == 0) spans[0] = {least, largest - least, 0, false};
  }
  __syncthreads();
  NarrowByBins<WARPS, PARTS>(keys, count, rank, rank, slack, spans);
#pragma unroll 1
  for (int p = 0; p < PARTS; ++p) {
    while (!spans[p].right) NarrowByBins<WARPS, 1>(keys, count, (p + 1) * rank, 0, slack, spans + p);
  }
  if (thread < PARTS) limits[thread] = spans[thread].from + spans[thread].range;
  __syncthreads();
}

// The `rank`-th least of a block's elements, read again for each bit. key(e) is a thread's e-th, of so many.
template <int WARPS, class KEY, class GET>
__device__ __noinline__ KEY LimitBySteps(const GET& key, int each, int rank) {
  __shared__ int sums[2][WARPS];
  KEY limit = 0;
  for (int bit = sizeof(KEY) * 8 - 1; bit >= 0; --bit) {
    const KEY trial = limit | KEY(1) << bit;
    int count = 0;
    for (int e = 0; e < each; ++e) count += key(e) < trial ? 1 : 0;
    if (SumOfTeam<WARPS>(count, sums[bit & 1]) < rank) limit = trial;
  }
  return limit;
}

// Such limits of all of a block's elements, EACH of a thread, where they are a fair sample: its threads' first elements
// say what the others need hardly be above, and what is not above that is mostly so little that it has room in SLOTS.
// That limit is of `coarse_rank` of the first elements, or `coarse_slack` more. key(e) is a thread's e-th element;
// put(p, limit) is called by one thread each.
template <int EACH, int WARPS, int SLOTS, int PARTS, class KEY, class GET, class PUT>
__device__ __forceinline__ void LimitsOfSample(const GET& key, int coarse_rank, int coarse_slack, int rank, int slack,
                                               const PUT& put) {
  __shared__ KEY few[SLOTS], coarse[1], limits[PARTS];
  __shared__ int few_count;
  const int thread = threadIdx.x, lane = thread % 32;
  KEY keys[EACH];
#pragma unroll
  for (int e = 0; e < EACH; ++e) keys[e] = key(e);
  few[thread] = keys[0];
  if (thread == 0) few_count = 0;
  __syncthreads();
  LimitsOf<WARPS>(few, WARPS * 32, coarse_rank, coarse_slack, coarse);
  const KEY most = coarse[0];
  int mine = 0;
#pragma unroll
  for (int e = 0; e < EACH; ++e) mine += keys[e] <= most ? 1 : 0;
  const int up_to_me = UpToMeInWarp(mine);
  int n = 0;
  if (lane == 31) n = atomicAdd(&few_count, up_to_me);
  n = __shfl_sync(~0u, n, 31) + up_to_me - mine;
#pragma unroll
  for (int e = 0; e < EACH; ++e) {
    if (keys[e] > most) continue;
    if (n < SLOTS) few[n] = keys[e];
    ++n;
  }
  __syncthreads();
  const int count = few_count;
  if (count >= PARTS * rank && count <= SLOTS) {
    LimitsOf<WARPS>(few, count, rank, slack, limits);
    if (thread < PARTS) put(thread, limits[thread]);
  } else {
#pragma unroll 1
    for (int p = 0; p < PARTS; ++p) {
      const KEY limit = LimitBySteps<WARPS, KEY>(key, EACH, (p + 1) * rank);
      if (thread == 0) put(p, limit);
      __syncthreads();
    }
  }
}

// Finds the first `wanted` elements of a row by reading it again for each bit, by a block: for rows of which a sample
// said too little. key(at) is an element's; put(n, key, at).
template <int WARPS, class KEY, class GET, class PUT>
__device__ __noinline__ void FindBySteps(int row, int wanted, const GET& key, const PUT& put) {
  constexpr int kThreads = WARPS * 32;
  __shared__ int sums[2][WARPS], found;
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  KEY limit = 0;
  int below = 0;
  for (int bit = sizeof(KEY) * 8 - 1; bit >= 0; --bit) {
    const KEY trial = limit | KEY(1) << bit;
    int count = 0;
    for (int at = thread; at < row; at += kThreads) count += key(at) < trial ? 1 : 0;
    count = SumOfTeam<WARPS>(count, sums[bit & 1]);
    if (count >= wanted) continue;
    limit = trial;
    below = count;
  }
  if (thread == 0) found = 0;
  // Of equals those that come first are wanted.
  int same_before = 0;
  for (int first = 0; first < row; first += kThreads) {
    const int at = first + thread;
    const KEY own = at < row ? key(at) : ~KEY(0);
    const bool same = at < row && own == limit;
    const unsigned all_same = __ballot_sync(~0u, same);
    __syncthreads();
    if (lane == 0) sums[0][warp] = __popc(all_same);
    __syncthreads();
    const int theirs = lane < WARPS ? sums[0][lane] : 0;
    const int before = same_before + __reduce_add_sync(~0u, lane < warp ? theirs : 0) +
                       __popc(all_same & ((1u << lane) - 1));
    same_before += __reduce_add_sync(~0u, theirs);
    if (at < row && own < limit) put(atomicAdd(&found, 1), own, at);
    if (same && before < wanted - below) put(below + before, own, at);
  }
}
