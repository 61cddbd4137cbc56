// Threads of a warp that touch different words of one bank of shared memory are served one after the other.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_shared_conflicts {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kMemory, Bottleneck::kLatency, Bottleneck::kCompute};
constexpr std::string_view kNeeds[] = {"conflict_share", "shared_conflicts", "shared_passes"};

std::optional<Found> Check(const Facts& facts) {
  return Found{
      .lost = facts["conflict_share"] / 2,  // shared memory is seldom all that a kernel waits for
      .evidence = fmt::format("{:.3g} of the {:.3g} passes of loads from shared memory are conflicts ({:.0f} %)",
                              facts["shared_conflicts"], facts["shared_passes"], 100 * facts["conflict_share"]),
      .advice = "Pad rows by one word, or store element j of row i at j ^ i (a swizzle)."};
}

constexpr ExampleFact kColumns[] = {{"conflict_share", 0.97}, {"shared_conflicts", 3.1e6}, {"shared_passes", 3.2e6}};
constexpr ExampleFact kPadded[] = {{"conflict_share", 0.01}, {"shared_conflicts", 1e3}, {"shared_passes", 1e5}};
constexpr Example kFires[] = {{"columns of a tile of 32 x 32 words", kColumns}};
constexpr Example kSilent[] = {{"columns of a tile of 32 x 33", kPadded}};

}  // namespace

HONE_ROW(Rule){.name = "shared_conflicts",
               .title = "bank conflicts in shared memory",
               .scope = Scope::kLaunch,
               .classes = kClasses,
               .needs = kNeeds,
               .threshold = {"conflict_share", Threshold::Side::kAbove, 0.1,
                             "the trigger of Nsight Compute's SharedMemConflicts (2025.4)"},
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_shared_conflicts
