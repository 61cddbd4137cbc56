// Whole rows in order, by the digits of their keys (KeyOf of order.cuh). A team of blocks has a row.

constexpr int kDigits = 256;

__device__ __forceinline__ int LowestBit(unsigned bits) { return __ffs(static_cast<int>(bits)) - 1; }
__device__ __forceinline__ int LowestBit(unsigned long bits) { return __ffsll(static_cast<long>(bits)) - 1; }

// The lanes whose digit is the same, kDigits one of them: bit by bit, as __match_any_sync takes longer. 1024 rows of 4096
// f32 are sorted in 112 us so and in 164 by that (one H100, 2026-11-27).
__device__ __forceinline__ unsigned LanesOf(int digit) {
  unsigned same = __ballot_sync(~0u, digit < kDigits);
  if (digit >= kDigits) same = ~same;
#pragma unroll
  for (int bit = 0; bit < 8; ++bit) {
    const bool set = (digit >> bit & 1) != 0;
    const unsigned all_set = __ballot_sync(~0u, set);
    same &= set ? all_set : ~all_set;
  }
  return same;
}

// All blocks of a row's team, `met` times TEAM of which were here.
template <int TEAM>
__device__ __forceinline__ void MeetRow(int* counter, int& met) {
  if constexpr (TEAM == 1) {
    __syncthreads();
  } else {
    met += TEAM;
    MeetAll(counter, met);
  }
}

// What thread d has, added up over those before it; the threads are as many as there are digits.
__device__ __forceinline__ int BeforeDigit(int count, int (&sums)[kDigits / 32]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int up_to_me = UpToMeInWarp(count);
  if (lane == 31) sums[warp] = up_to_me;
  __syncthreads();
  const int before = __reduce_add_sync(~0u, lane < warp ? sums[lane] : 0);
  __syncthreads();
  return before + up_to_me - count;
}

// Puts a row into order by the bits in which its keys differ, eight at a time and the lowest first: each key goes behind
// those of smaller digits and those of its own that come before it. Each block has `share` of the row, TILES tiles of
// EACH elements a thread. get(at) is an element's key; end(place, key, at) is called for each in the end. Between, keys
// and where they came from are in two halves of `kept` and `kept_at`, or, of a row of one tile, stay in shared memory.
// Of the row's own, beside: `meeting`, 0 at first,
// `counts` for each digit of each block, `bits` for two keys of each.
template <int TEAM, int TILES, int EACH, class KEY, class GET, class END>
__device__ __forceinline__ void SortByDigits(int member, int row, int* meeting, int* counts, KEY* bits, KEY* kept,
                                             int* kept_at, KEY significant, const GET& get, const END& end) {
  constexpr int kWarps = kDigits / 32, kTile = kDigits * EACH;
  constexpr bool kStays = TEAM * TILES == 1;
  __shared__ KEY keys[kTile];
  __shared__ int places[kTile], of_warp[kWarps][kDigits], first[kDigits], next[kDigits], sums[kWarps];
  __shared__ KEY all_of[kWarps], any_of[kWarps];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int begin = min(member * TILES * kTile, row), count = min(begin + TILES * kTile, row) - begin;
  int met = 0;
  // 1. Which bits differ.
  KEY all = ~KEY(0), any = 0;
  const auto over_warp = [&] {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
      all &= __shfl_xor_sync(~0u, all, apart);
      any |= __shfl_xor_sync(~0u, any, apart);
    }
  };
  for (int n = thread; n < count; n += kDigits) {
    const KEY key = get(begin + n);
    all &= key;
    any |= key;
  }
  over_warp();
  if (lane == 0) {
    all_of[warp] = all;
    any_of[warp] = any;
  }
  __syncthreads();
  all = all_of[lane % kWarps];
  any = any_of[lane % kWarps];
  over_warp();
  if constexpr (TEAM > 1) {
    if (thread == 0) {
      bits[member * 2] = all;
      bits[member * 2 + 1] = any;
    }
    MeetRow<TEAM>(meeting, met);
    for (int m = lane; m < TEAM; m += 32) {
      all &= bits[m * 2];
      any |= bits[m * 2 + 1];
    }
    over_warp();
  }
  KEY differ = any & ~all & significant;
  // 2. Digit by digit.
#pragma unroll 1
  for (int from = -1;; from = from == 0) {
    const int shift = differ == 0 ? 0 : LowestBit(differ);
    const auto digit_of = [&](KEY key) { return static_cast<int>(key >> shift & (kDigits - 1)); };
    differ &= ~(KEY(kDigits - 1) << shift);
    const auto key_at = [&](int at) {
      return from < 0 ? get(at) : kStays ? keys[at] : kept[static_cast<long>(from) * row + at];
    };
    const auto place_at = [&](int at) {
      return from < 0 ? at : kStays ? places[at] : kept_at[static_cast<long>(from) * row + at];
    };
    KEY* const to = kept + static_cast<long>(from == 0) * row;
    int* const to_at = kept_at + static_cast<long>(from == 0) * row;
    const auto tell = [&](int mine) {  // how many of a thread's digit the block has
      if constexpr (TEAM > 1) {
        counts[member * kDigits + thread] = mine;
        MeetRow<TEAM>(meeting, met);
      }
      int total = 0, before = 0;
      if constexpr (TEAM == 1) {
        total = mine;
      } else {
#pragma unroll 8
        for (int m = 0; m < TEAM; ++m) {
          const int theirs = counts[m * kDigits + thread];
          total += theirs;
          before += m < member ? theirs : 0;
        }
      }
      next[thread] = BeforeDigit(total, sums) + before;
    };
    if constexpr (TILES > 1) {
      of_warp[0][thread] = 0;
      __syncthreads();
#pragma unroll 4
      for (int n = thread; n < (count + kDigits - 1) / kDigits * kDigits; n += kDigits) {
        const int digit = n < count ? digit_of(key_at(begin + n)) : kDigits;
        if (__all_sync(~0u, digit == __shfl_sync(~0u, digit, 0))) {
          if (lane == 0 && digit < kDigits) atomicAdd(&of_warp[0][digit], 32);
        } else if (digit < kDigits) {
          atomicAdd(&of_warp[0][digit], 1);
        }
      }
      __syncthreads();
      tell(of_warp[0][thread]);
    }
#pragma unroll 1
    for (int tile = 0; tile < TILES; ++tile) {
      const int tile_begin = begin + tile * kTile, in_tile = min(count - tile * kTile, kTile);
      if (TILES > 1 && in_tile <= 0) break;
      // Where each element goes among those of its digit that its warp has.
      KEY own[EACH];
      int at[kStays ? EACH : 1], rank[EACH];
#pragma unroll
      for (int e = 0; e < EACH; ++e) {
        const int n = (warp * EACH + e) * 32 + lane;
        own[e] = n < in_tile ? key_at(tile_begin + n) : 0;
        if constexpr (kStays) at[e] = n < in_tile ? place_at(tile_begin + n) : 0;
      }
      __syncthreads();
#pragma unroll
      for (int w = 0; w < kWarps; ++w) of_warp[w][thread] = 0;
      __syncthreads();
#pragma unroll
      for (int e = 0; e < EACH; ++e) {
        const int digit = (warp * EACH + e) * 32 + lane < in_tile ? digit_of(own[e]) : kDigits;
        const unsigned same = LanesOf(digit);
        const int before = __popc(same & ((1u << lane) - 1));
        int of = 0;
        if (before == 0 && digit < kDigits) {
          of = of_warp[warp][digit];
          of_warp[warp][digit] = of + __popc(same);
        }
        __syncwarp();
        rank[e] = before + __shfl_sync(~0u, of, LowestBit(same));
      }
      __syncthreads();
      int mine = 0;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        const int theirs = of_warp[w][thread];
        of_warp[w][thread] = mine;
        mine += theirs;
      }
      first[thread] = BeforeDigit(mine, sums);
      if constexpr (TILES == 1) tell(mine);
      __syncthreads();
#pragma unroll
      for (int e = 0; e < EACH; ++e) {
        if ((warp * EACH + e) * 32 + lane >= in_tile) continue;
        const int digit = digit_of(own[e]), n = first[digit] + of_warp[warp][digit] + rank[e];
        keys[n] = own[e];
        if constexpr (kStays)
          places[n] = at[e];
        else
          places[n] = place_at(tile_begin + (warp * EACH + e) * 32 + lane);
      }
      __syncthreads();
      if (kStays && differ != 0) break;
#pragma unroll 4
      for (int n = thread; n < in_tile; n += kDigits) {
        const KEY key = keys[n];
        const int digit = digit_of(key), place = next[digit] + n - first[digit];
        if (differ == 0) {
          end(place, key, places[n]);
        } else {
          to[place] = key;
          to_at[place] = places[n];
        }
      }
      if constexpr (TILES > 1) {
        __syncthreads();
        next[thread] += mine;
      }
    }
    if (differ == 0) return;
    MeetRow<TEAM>(meeting, met);
  }
}
