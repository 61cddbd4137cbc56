// The inputs on which a candidate is judged, and what the oracle expects of it there. Made when first asked for and
// kept, since they are the same for every candidate of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "evaluate/oracle.h"
#include "problem/generate.h"
#include "problem/problem.h"

namespace hone {

struct DrawnInputs {
  std::string name;                            // "seed 1", "scale 2^10"
  bool own = false;                            // the problem's own generator, unchanged
  std::vector<std::vector<std::byte>> values;  // one a tensor of Problem::Inputs()
  std::vector<Expected> expected;              // one an output; `scale` is dropped
};

// Not thread-safe.
class Draws {
 public:
  // threads: for the oracle.
  Draws(const Problem& problem, const Oracle& oracle, std::uint64_t seed, int threads);

  static constexpr std::size_t kWide = 6;   // very wide: says whether a result holds componentwise
  static constexpr std::size_t kAfter = 7;  // the problem's own, for after the timing
  static constexpr std::size_t kCount = 8;  // [0, kWide) decide
  Result<const DrawnInputs*> Get(std::size_t which);

  // The problem's own inputs for the timing loop, without an oracle: number `which` of an endless row, all different
  // from the above. Parameters are left empty.
  Result<std::vector<std::vector<std::byte>>> Unjudged(std::size_t which) const;

  void Renew(std::uint64_t seed);  // forgets all and draws from another seed

 private:
  const Problem* problem_;
  const Oracle* oracle_;
  std::uint64_t seed_;
  int threads_;
  std::unique_ptr<DrawnInputs> drawn_[kCount];
};

}  // namespace hone
