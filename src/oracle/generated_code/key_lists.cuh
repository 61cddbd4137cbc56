// The terms of folds by their keys, for a device (oracle/cuda_nest.cc embeds this text behind cuda_nests.cuh): a sort
// by lists, stable so that the terms of a list ascend, a digit a step. A block counts the digits of a chunk, entries
// that lie side by side; the sums of these counts are where its entries of each digit go. It orders a tile of them in
// shared memory first, so that those that go side by side are written together. Time hangs on the keys only by how
// these fall into memory.
#pragma once

// Tests run blocks as one thread, whose warp has one lane, or, with HONE_THREADS_TAKE_TURNS, as all of their threads.
#if defined(__CUDACC_RTC__) || defined(HONE_THREADS_TAKE_TURNS)
constexpr unsigned kWarpLanes = 32, kSorters = 256;  // kThreads of oracle/cuda_nest.cc
inline unsigned LanesWhere(bool holds) { return __ballot_sync(~0u, holds); }
inline unsigned CountLanes(unsigned lanes) { return static_cast<unsigned>(__popc(lanes)); }
inline std::uint32_t FromLaneBelow(std::uint32_t x, unsigned far) { return __shfl_up_sync(~0u, x, far); }
inline void MeetWarp() { __syncwarp(); }
#else
constexpr unsigned kWarpLanes = 1, kSorters = 1;
inline unsigned LanesWhere(bool holds) { return holds ? 1 : 0; }
inline unsigned CountLanes(unsigned lanes) { return lanes; }
inline std::uint32_t FromLaneBelow(std::uint32_t x, unsigned) { return x; }
inline void MeetWarp() {}
#endif

constexpr unsigned kDigitBits = 8, kDigits = 1 << kDigitBits;
constexpr unsigned kOwnDigits = kDigits / kSorters;  // which a thread looks after
constexpr unsigned kWarps = kSorters / kWarpLanes;
constexpr unsigned kOfThread = 8, kOfTile = kSorters * kOfThread;  // entries

struct Listed {
  std::uint32_t list, term;
};

// `segments` of so many entries, each of which is sorted by itself, by so many bits a step. Those that are in none of
// the segment's `lists` are left out by the first step, and the others are the first of the segment then. A block takes
// one of the `chunks` of a segment.
struct KeySort {
  std::int64_t segments, entries, lists, chunks, bits;

  std::int64_t Digits() const { return std::int64_t{1} << bits; }
  unsigned DigitOf(const Listed& entry, std::int64_t step) const {
    return entry.list >> (step * bits) & ((1u << bits) - 1);
  }
  bool IsListed(const Listed& entry) const { return entry.list < lists; }
  // Of all segments' chunks, one behind the other.
  Span EntriesOf(std::int64_t chunk, std::int64_t step, const std::uint32_t* counts) const {
    const std::int64_t segment = chunk / chunks, first = segment * entries;
    const std::int64_t all = step == 0 ? entries : counts[LeftAt(segment)], each = (all + chunks - 1) / chunks;
    const std::int64_t begin = chunk % chunks * each;
    return {first + std::min(all, begin), first + std::min(all, begin + each)};
  }
  // Where a chunk's count of a digit lies: those of all chunks of a segment side by side. Behind all of these are the
  // sums of each digit in each segment, and behind these how many entries of each segment are in its lists.
  std::int64_t CountAt(std::int64_t chunk, std::int64_t digit) const {
    return (chunk / chunks * Digits() + digit) * chunks + chunk % chunks;
  }
  std::int64_t SumAt(std::int64_t segment, std::int64_t digit) const {
    return segments * Digits() * chunks + segment * Digits() + digit;
  }
  std::int64_t LeftAt(std::int64_t segment) const { return SumAt(segments, 0) + segment; }
};

// A thread's entries of the tile that begins at `begin`; where there are no more, entries that are in no list. Those of
// a warp lie side by side, and it reads kWarpLanes of them at a time: in their order by k, then by lane.
struct OwnEntries {
  Listed of[kOfThread];

  OwnEntries(const Listed* entries, std::int64_t begin, std::int64_t end) {
    const unsigned first = threadIdx.x / kWarpLanes * (kWarpLanes * kOfThread) + threadIdx.x % kWarpLanes;
    const auto count = static_cast<unsigned>(std::min<std::int64_t>(end - begin, kOfTile));
    const Listed* const own = entries + begin + first;
#pragma unroll
    for (unsigned k = 0; k < kOfThread; ++k)
      of[k] = first + k * kWarpLanes < count ? own[k * kWarpLanes] : Listed{~0u, 0};
  }
};

// How many entries of the same digit came before this thread's in the counts of its warp, `row`, which have counted it
// then. All of a warp call it, for entries in their order.
inline unsigned CountInRow(std::uint32_t* row, unsigned digit, bool is_listed) {
  unsigned same = LanesWhere(is_listed);
#pragma unroll
  for (unsigned bit = 0; bit < kDigitBits; ++bit) {
    const bool is_set = (digit >> bit & 1) != 0;
    const unsigned set = LanesWhere(is_set);
    same &= is_set ? set : ~set;
  }
  const unsigned beside = CountLanes(same & ((1u << threadIdx.x % kWarpLanes) - 1));
  const std::uint32_t before = row[digit];
  MeetWarp();
  if (is_listed && beside == 0) row[digit] = before + CountLanes(same);
  MeetWarp();
  return before + beside;
}

inline void ClearRow(std::uint32_t* row) {
  for (unsigned digit = threadIdx.x % kWarpLanes; digit < kDigits; digit += kWarpLanes) row[digit] = 0;
  MeetWarp();
}

// The sum of what the threads before this one have, and that of all. All of a block call it.
struct ThreadSums {
  std::uint32_t before, all;
};
inline ThreadSums SumOverThreads(std::uint32_t own) {
  __shared__ std::uint32_t of_warps[kWarps];
  const unsigned warp = threadIdx.x / kWarpLanes, lane = threadIdx.x % kWarpLanes;
  std::uint32_t sum = own;
  for (unsigned far = 1; far < kWarpLanes; far *= 2) {
    const std::uint32_t other = FromLaneBelow(sum, far);
    if (lane >= far) sum += other;
  }
  if (lane == kWarpLanes - 1) of_warps[warp] = sum;
  __syncthreads();
  ThreadSums sums{sum - own, 0};
  for (unsigned w = 0; w < blockDim.x / kWarpLanes; ++w) {
    if (w < warp) sums.before += of_warps[w];
    sums.all += of_warps[w];
  }
  __syncthreads();
  return sums;
}

template <class Call>
inline void ForOwnDigits(const Call& call) {
#pragma unroll 1
  for (unsigned i = 0; i < kOwnDigits; ++i) call(threadIdx.x * kOwnDigits + i);
}
// Each of kDigits becomes the sum of those before it; gives that of all. All of a block call it, and see all of it
// afterwards.
inline std::uint32_t SumOverDigits(std::uint32_t* of) {
  std::uint32_t own = 0;
  ForOwnDigits([&](unsigned digit) { own += of[digit]; });
  const ThreadSums sums = SumOverThreads(own);
  std::uint32_t before = sums.before;
  ForOwnDigits([&](unsigned digit) {
    const std::uint32_t one = of[digit];
    of[digit] = before;
    before += one;
  });
  __syncthreads();
  return sums.all;
}

// A block a chunk.
inline void CountDigits(const Listed* entries, const KeySort& sort, std::int64_t step, std::uint32_t* counts) {
  __shared__ std::uint32_t rows[kWarps * kDigits];
  std::uint32_t* const row = rows + threadIdx.x / kWarpLanes * kDigits;
  for (std::int64_t chunk = blockIdx.x; chunk < sort.segments * sort.chunks; chunk += gridDim.x) {
    const Span span = sort.EntriesOf(chunk, step, counts);
    ClearRow(row);
    for (std::int64_t begin = span.begin; begin < span.end; begin += kOfTile) {
      const OwnEntries own(entries, begin, span.end);
#pragma unroll
      for (unsigned k = 0; k < kOfThread; ++k) CountInRow(row, sort.DigitOf(own.of[k], step), sort.IsListed(own.of[k]));
    }
    __syncthreads();
    for (unsigned digit = threadIdx.x; digit < sort.Digits(); digit += kSorters) {
      std::uint32_t sum = 0;
      for (unsigned warp = 0; warp < kWarps; ++warp) sum += rows[warp * kDigits + digit];
      counts[sort.CountAt(chunk, digit)] = sum;
    }
    __syncthreads();
  }
}

// A block a digit of a segment: of its chunks' counts each becomes the sum of those before it.
inline void SumCounts(const KeySort& sort, std::uint32_t* counts) {
  for (std::int64_t of = blockIdx.x; of < sort.segments * sort.Digits(); of += gridDim.x) {
    std::uint32_t* const row = counts + of * sort.chunks;
    std::uint32_t before = 0;
    for (std::int64_t first = 0; first < sort.chunks; first += blockDim.x) {
      const std::int64_t chunk = first + threadIdx.x;
      const ThreadSums sums = SumOverThreads(chunk < sort.chunks ? row[chunk] : 0);
      if (chunk < sort.chunks) row[chunk] = before + sums.before;
      before += sums.all;
    }
    if (threadIdx.x == 0) counts[sort.SumAt(0, of)] = before;
  }
}

// A block a chunk, by the sums of the counts.
inline void SortByDigit(const Listed* entries, const KeySort& sort, std::int64_t step, std::uint32_t* counts,
                        Listed* sorted) {
  __shared__ Listed tile[kOfTile];
  __shared__ std::uint32_t rows[kWarps * kDigits];
  // Of each digit: where its next entry goes; how many there are in the tile, and where in it they begin.
  __shared__ std::uint32_t places[kDigits], sizes[kDigits], begins[kDigits];
  std::uint32_t* const row = rows + threadIdx.x / kWarpLanes * kDigits;
  for (std::int64_t chunk = blockIdx.x; chunk < sort.segments * sort.chunks; chunk += gridDim.x) {
    const std::int64_t segment = chunk / sort.chunks;
    const Span span = sort.EntriesOf(chunk, step, counts);
    ForOwnDigits(
        [&](unsigned digit) { places[digit] = digit < sort.Digits() ? counts[sort.SumAt(segment, digit)] : 0; });
    const std::uint32_t left = SumOverDigits(places);
    if (step == 0 && chunk % sort.chunks == 0 && threadIdx.x == 0) counts[sort.LeftAt(segment)] = left;
    ForOwnDigits([&](unsigned digit) {
      if (digit < sort.Digits())
        places[digit] += static_cast<std::uint32_t>(segment * sort.entries) + counts[sort.CountAt(chunk, digit)];
    });
    for (std::int64_t begin = span.begin; begin < span.end; begin += kOfTile) {
      ClearRow(row);
      const OwnEntries own(entries, begin, span.end);
      std::uint32_t ranks[kOfThread];
#pragma unroll
      for (unsigned k = 0; k < kOfThread; ++k)
        ranks[k] = CountInRow(row, sort.DigitOf(own.of[k], step), sort.IsListed(own.of[k]));
      __syncthreads();
      ForOwnDigits([&](unsigned digit) {
        std::uint32_t before = 0;
        for (unsigned warp = 0; warp < kWarps; ++warp) {
          std::uint32_t& of_warp = rows[warp * kDigits + digit];
          const std::uint32_t one = of_warp;
          of_warp = before;
          before += one;
        }
        begins[digit] = sizes[digit] = before;
      });
      const std::uint32_t count = SumOverDigits(begins);
#pragma unroll
      for (unsigned k = 0; k < kOfThread; ++k) {
        const unsigned digit = sort.DigitOf(own.of[k], step);
        if (sort.IsListed(own.of[k])) tile[begins[digit] + row[digit] + ranks[k]] = own.of[k];
      }
      __syncthreads();
      for (unsigned i = threadIdx.x; i < count; i += kSorters) {
        const Listed entry = tile[i];
        const unsigned digit = sort.DigitOf(entry, step);
        sorted[places[digit] + (i - begins[digit])] = entry;
      }
      __syncthreads();
      ForOwnDigits([&](unsigned digit) { places[digit] += sizes[digit]; });
    }
    __syncthreads();
  }
}

// Where the at-th list begins in sorted entries: a segment has `lists` and, behind them, where the last one ends.
inline std::uint32_t BeginOf(const Listed* entries, const KeySort& sort, const std::uint32_t* counts, std::int64_t at) {
  const std::int64_t segment = at / (sort.lists + 1), list = at % (sort.lists + 1);
  std::int64_t begin = segment * sort.entries, end = begin + counts[sort.LeftAt(segment)];
  while (begin < end) {
    const std::int64_t middle = (begin + end) / 2;
    if (entries[middle].list < list)
      begin = middle + 1;
    else
      end = middle;
  }
  return static_cast<std::uint32_t>(begin);
}

struct List {
  const Listed* entries;
  std::int64_t size;
};
inline List ListOf(const Listed* entries, const std::uint32_t* begins, std::int64_t list) {
  return {entries + begins[list], std::int64_t{begins[list + 1]} - begins[list]};
}

// Calls make(at) for each of `results` whose list is long, with all of a block's threads.
template <class IsLong, class Make>
inline void ForLongLists(Span results, const IsLong& is_long, const Make& make) {
  __shared__ bool marks[kMostThreads];
  for (std::int64_t first = results.begin + std::int64_t{blockIdx.x} * blockDim.x; first < results.end;
       first += std::int64_t{gridDim.x} * blockDim.x) {
    const std::int64_t own = first + threadIdx.x;
    const bool mark = own < results.end && is_long(own);
    marks[threadIdx.x] = mark;
    if (!__syncthreads_or(mark)) continue;
    for (unsigned i = 0; i < blockDim.x; ++i) {
      if (marks[i]) make(first + i);
    }
    __syncthreads();
  }
}
