#include "oracle/slabs.h"

#include <algorithm>
#include <optional>

namespace hone {
namespace {

using Argument = CudaNests::Argument;

// How many runs before the one that takes most are looked at as the first of a group.
constexpr std::size_t kFarthest = 64;

class Planner {
 public:
  Planner(const CudaNests& nests, std::int64_t most) : nests_(nests), most_(most) {
    for (std::size_t r = 0; r < nests.runs.size(); ++r)
      plan_.groups.push_back({.runs = {r}, .parts = 1, .each = 1, .within = {}, .done = nests.runs[r].done});
  }

  SlabPlan Make() {
    for (;;) {
      const Peaks peaks = PeaksOf(plan_.groups);
      plan_.peak_bytes = peaks.most;
      if (peaks.most <= most_ || plan_.groups[peaks.at].parts > 1 || !Divide(peaks)) return std::move(plan_);
    }
  }

 private:
  struct Peaks {
    std::int64_t most = 0;
    std::size_t at = 0;               // the group that takes it
    std::vector<std::int64_t> bytes;  // by group
  };
  Peaks PeaksOf(const std::vector<SlabGroup>& groups) const {
    Peaks peaks;
    std::int64_t now = 0;
    std::set<int> held;
    for (const SlabGroup& group : groups) {
      std::int64_t peak = now;
      const auto bytes = [&](int memory) {
        const std::int64_t all = nests_.memories[static_cast<std::size_t>(memory)].MostBytes();
        return group.within.contains(memory) ? all / group.parts * group.each : all;
      };
      const auto release = [&](int memory) {
        if (held.erase(memory) > 0) now -= bytes(memory);
      };
      for (const std::size_t run : group.runs) {
        std::int64_t scratch = 0;
        for (const auto& launch : nests_.runs[run].launches) scratch = std::max(scratch, launch.scratch_bytes);
        for (const int memory : MemoriesOf(run)) {
          if (held.insert(memory).second) now += bytes(memory);
        }
        peak = std::max(peak, now + scratch);
        for (const int memory : nests_.runs[run].done) {
          if (group.within.contains(memory)) release(memory);
        }
      }
      for (const int memory : group.done) release(memory);
      if (peak > peaks.most) peaks.at = peaks.bytes.size();
      peaks.most = std::max(peaks.most, peak);
      peaks.bytes.push_back(peak);
    }
    return peaks;
  }

  std::set<int> MemoriesOf(std::size_t run) const {
    std::set<int> memories;
    for (const auto& launch : nests_.runs[run].launches) {
      for (const auto& argument : launch.arguments) {
        if (argument.kind == Argument::Kind::kMemory) memories.insert(argument.index);
      }
    }
    return memories;
  }

  const CudaNests::Split* SplitOf(std::size_t run, std::int64_t parts) const {
    for (const auto& split : nests_.runs[run].splits) {
      if (split.parts == parts) return &split;
    }
    return nullptr;
  }

  // A group of runs that go by slabs, and what goes before it.
  struct Chain {
    std::size_t begin = 0, end = 0;  // of groups, which it takes the place of
    std::vector<SlabGroup> before;
    SlabGroup group;
  };

  // From a group on as far as they go by so many parts, those aside that read nothing of theirs.
  std::optional<Chain> ChainFrom(std::size_t begin, std::int64_t parts) const {
    Chain chain{.begin = begin, .end = begin, .before = {}, .group = {.parts = parts}};
    std::set<int> known;  // what was there before, and is made aside
    for (std::size_t g = 0; g < begin; ++g) {
      for (const std::size_t run : plan_.groups[g].runs) known.merge(MemoriesOf(run));
    }
    std::set<int> made;
    std::vector<SlabGroup> aside;
    for (std::size_t g = begin; g < plan_.groups.size(); ++g) {
      const SlabGroup& next = plan_.groups[g];
      if (next.parts > 1) break;
      const std::size_t run = next.runs[0];
      const auto memories = MemoriesOf(run);
      const auto is_made = [&](int memory) { return made.contains(memory); };
      const auto* split = SplitOf(run, parts);
      if (split != nullptr && std::none_of(split->across.begin(), split->across.end(), is_made)) {
        chain.before.insert(chain.before.end(), aside.begin(), aside.end());
        aside.clear();
        chain.group.runs.push_back(run);
        for (const int memory : memories) {
          if (!known.contains(memory)) made.insert(memory);
        }
        chain.end = g + 1;
      } else if (std::none_of(memories.begin(), memories.end(), is_made)) {
        aside.push_back(next);
        known.insert(memories.begin(), memories.end());
      } else {
        break;
      }
    }
    if (chain.group.runs.size() < 2) return std::nullopt;
    for (const std::size_t run : chain.group.runs) {
      for (const int memory : nests_.runs[run].done)
        (made.contains(memory) ? static_cast<void>(chain.group.within.insert(memory))
                               : chain.group.done.push_back(memory));
    }
    // Those of the chain may still read what the ones aside read last.
    for (auto& one : chain.before) {
      chain.group.done.insert(chain.group.done.end(), one.done.begin(), one.done.end());
      one.done.clear();
    }
    return chain;
  }

  std::vector<SlabGroup> With(const Chain& chain) const {
    const auto at = [&](std::size_t g) { return plan_.groups.begin() + static_cast<std::ptrdiff_t>(g); };
    std::vector<SlabGroup> groups(plan_.groups.begin(), at(chain.begin));
    groups.insert(groups.end(), chain.before.begin(), chain.before.end());
    groups.push_back(chain.group);
    groups.insert(groups.end(), at(chain.end), plan_.groups.end());
    return groups;
  }
  // The most that the chain takes, or what goes before it.
  std::int64_t PeakOf(const Chain& chain) const {
    const Peaks peaks = PeaksOf(With(chain));
    const auto begin = peaks.bytes.begin() + static_cast<std::ptrdiff_t>(chain.begin);
    return *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(chain.before.size()) + 1);
  }

  // By the group that takes least where most is taken; false: there is none.
  bool Divide(const Peaks& peaks) {
    std::optional<Chain> best;
    std::int64_t least = peaks.most;
    const std::size_t run = plan_.groups[peaks.at].runs[0];
    for (std::size_t g = peaks.at - std::min(peaks.at, kFarthest); g <= peaks.at; ++g) {
      if (plan_.groups[g].parts > 1) continue;
      for (const auto& split : nests_.runs[plan_.groups[g].runs[0]].splits) {
        auto chain = ChainFrom(g, split.parts);
        if (!chain || std::find(chain->group.runs.begin(), chain->group.runs.end(), run) == chain->group.runs.end())
          continue;
        const std::int64_t peak = PeakOf(*chain);
        if (peak >= least) continue;
        least = peak;
        best = std::move(chain);
      }
    }
    if (!best) return false;
    // As many parts at a time as fit.
    std::int64_t most = best->group.parts;
    for (std::int64_t& each = best->group.each; each < most;) {
      const std::int64_t before = std::exchange(each, (each + most + 1) / 2);
      if (PeakOf(*best) <= most_) continue;
      most = each - 1;
      each = before;
    }
    plan_.groups = With(*best);
    return true;
  }

  const CudaNests& nests_;
  const std::int64_t most_;
  SlabPlan plan_;
};

}  // namespace

std::pair<std::int64_t, std::int64_t> SlabGroup::PartsOf(std::int64_t slab) const {
  return {slab * each, std::min(parts, (slab + 1) * each)};
}

SlabPlan PlanSlabs(const CudaNests& nests, std::int64_t most_bytes) { return Planner(nests, most_bytes).Make(); }

}  // namespace hone
