// In which pieces the runs of an oracle go where what they leave for one another would not fit: attention of 16 heads
// over 16384 keys leaves 4 billion scores, but those of one head are made of that head alone. Runs in whose results the
// same so many parts follow one another, each made of the same part of what the others made, go one slab of parts after
// the other, and what only they need is never there but of one slab. Pure; results are the same to the bit.
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "oracle/cuda_nest.h"

namespace hone {

// Runs that go together, for a slab of so many parts at a time.
struct SlabGroup {
  std::vector<std::size_t> runs;
  std::int64_t parts = 1, each = 1;
  std::set<int> within;   // memories that hold a slab
  std::vector<int> done;  // others that nobody needs afterwards

  std::int64_t Slabs() const { return (parts + each - 1) / each; }
  // The parts of a slab, begin and end.
  std::pair<std::int64_t, std::int64_t> PartsOf(std::int64_t slab) const;
};

inline constexpr std::int64_t kAnyBytes = std::numeric_limits<std::int64_t>::max();

struct SlabPlan {
  std::vector<SlabGroup> groups;
  std::int64_t peak_bytes = 0;  // the most that memories and scratch take at one time, in the pass that needs more
};

// With slabs as large as `most_bytes` allow and not where all fits without. If it is not possible, what takes most is
// in the smallest slabs there are, and peak_bytes says what it takes.
SlabPlan PlanSlabs(const CudaNests& nests, std::int64_t most_bytes = kAnyBytes);

}  // namespace hone
