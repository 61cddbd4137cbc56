// Ranks by sorting, for a device (oracle/cuda_nest.cc embeds this text behind ranks.inc and cuda_nests.cuh): rows that
// lie one behind the other are merged from runs of twice the length at each step. Threads take an element each.
#pragma once

constexpr std::int64_t kFirstRun = 32;  // is sorted by comparing each with all

// For each of `all` elements in turn: call(row's first, place in the row).
template <class Call>
void ForPlaces(std::int64_t all, std::int64_t count, const Call& call) {
  for (std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < all;
       at += std::int64_t{gridDim.x} * blockDim.x)
    call(at / count * count, at % count);
}

template <class Key>
void SortStep(const InRow<Key>* from, std::int64_t all, std::int64_t count, bool descending, std::int64_t step,
              InRow<Key>* to) {
  ForPlaces(all, count, [&](std::int64_t first, std::int64_t at) {
    const InRow<Key>* const row = from + first;
    const InRow<Key> mine = row[at];
    if (step == 0) {
      const std::int64_t begin = at / kFirstRun * kFirstRun, end = std::min(count, begin + kFirstRun);
      std::int64_t before = 0;
      for (std::int64_t other = begin; other < end; ++other)
        before += ComesBefore(row[other], mine, descending) ? 1 : 0;
      to[first + begin + before] = mine;
      return;
    }
    // Behind those of its own run that it is behind, and those of the run beside it.
    const std::int64_t width = kFirstRun << (step - 1), pair = at / (2 * width) * (2 * width);
    const std::int64_t middle = std::min(count, pair + width);
    const bool is_first = at < middle;
    const std::int64_t beside = is_first ? middle : pair, last = is_first ? std::min(count, pair + 2 * width) : middle;
    std::int64_t begin = beside, end = last;
    while (begin < end) {
      const std::int64_t between = (begin + end) / 2;
      if (ComesBefore(row[between], mine, descending))
        begin = between + 1;
      else
        end = between;
    }
    to[first + pair + (at - (is_first ? pair : middle)) + (begin - beside)] = mine;
  });
}

// Errors are of the tracked pass alone.
template <class R>
constexpr bool kHasErrors = false;
template <>
constexpr bool kHasErrors<Tracked> = true;

// Each step looks twice as far as the one before.
template <class R, class Key>
void FurthestStep(const InRow<Key>* sorted, const double* errors, std::int64_t all, std::int64_t count, bool descending,
                  std::int64_t step, const Furthest* from, Furthest* to) {
  if (!kHasErrors<R>) return;
  ForPlaces(all, count, [&](std::int64_t first, std::int64_t at) {
    const SortedRow<Key> row{sorted + first, errors + first, count, descending};
    const auto so_far = [&](std::int64_t of) {
      const auto own = static_cast<std::uint32_t>(of);
      return step == 0 ? Furthest{own, own} : from[first + of];
    };
    const std::int64_t far = std::int64_t{1} << step;
    Furthest mine = so_far(at);
    if (at >= far) mine.up = row.Further(so_far(at - far).up, mine.up, true);
    if (at + far < count) mine.down = row.Further(so_far(at + far).down, mine.down, false);
    to[first + at] = mine;
  });
}

template <class Key>
void WriteRanks(const InRow<Key>* sorted, std::int64_t all, std::int64_t count, std::uint32_t* ranks) {
  ForPlaces(all, count, [&](std::int64_t first, std::int64_t at) {
    ranks[first + sorted[first + at].place] = static_cast<std::uint32_t>(at);
  });
}
// Where what is compared has errors.
template <class R, class Key>
void WriteDoubtedRanks(const InRow<Key>* sorted, const double* errors, std::int64_t all, std::int64_t count,
                       bool descending, const Furthest* furthest, std::uint32_t* ranks) {
  if (!kHasErrors<R>) return WriteRanks(sorted, all, count, ranks);
  ForPlaces(all, count, [&](std::int64_t first, std::int64_t at) {
    const SortedRow<Key> row{sorted + first, errors + first, count, descending};
    ranks[first + row.sorted[at].place] =
        static_cast<std::uint32_t>(at) | (IsDoubted(row, furthest + first, at) ? kDoubted : 0);
  });
}
