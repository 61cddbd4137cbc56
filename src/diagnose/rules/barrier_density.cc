// Each barrier makes all warps of a block wait for the slowest. One a tile is the price of shared memory; more can be
// had away.
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/rule.h"

namespace hone::rule_barrier_density {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kLatency, Bottleneck::kCompute, Bottleneck::kMemory};
constexpr std::string_view kNeeds[] = {"loop_barriers", "loop_barrier_share"};
constexpr std::string_view kUses[] = {"stall_barrier", "shuffles"};

constexpr RuleMove kMoves[] = {{"stages"}, {"lanes", "less"}, {"block"}, {"each", "more"}};

std::optional<Found> Check(const Facts& facts) {
  const auto stalled = facts.Maybe("stall_barrier");
  constexpr double kLittle = 0.1;
  if (stalled && *stalled < kLittle) return std::nullopt;
  return Found{
      // Each barrier as much as ten instructions, where nobody counted: an estimate.
      .lost = stalled ? *stalled : std::min(0.5, 10 * facts["loop_barrier_share"]) / 2,
      .evidence = fmt::format("{:.0f} barriers in one round of the innermost loop, one in {:.0f} of its instructions",
                              facts["loop_barriers"], 1 / facts["loop_barrier_share"]),
      .advice = facts.Maybe("shuffles").value_or(0) > 0
                    ? "Hold two tiles in turn, so that one barrier a round does for both."
                    : "Hold two tiles in turn, so that one barrier a round does for both; sums over a warp need none: "
                      "__shfl_xor_sync."};
}

constexpr ExampleFact kTwo[] = {{"loop_barriers", 2}, {"loop_barrier_share", 0.05}};
constexpr ExampleFact kTree[] = {{"loop_barriers", 8}, {"loop_barrier_share", 0.15}, {"shuffles", 4}};
constexpr ExampleFact kOne[] = {{"loop_barriers", 1}, {"loop_barrier_share", 0.01}};
constexpr ExampleFact kNobodyWaits[] = {{"loop_barriers", 2}, {"loop_barrier_share", 0.02}, {"stall_barrier", 0.01}};
constexpr Example kFires[] = {{"load, barrier, use, barrier", kTwo}, {"a sum by halves in shared memory", kTree}};
constexpr Example kSilent[] = {{"two tiles in turn", kOne}, {"two, at which nobody waits", kNobodyWaits}};

}  // namespace

HONE_ROW(Rule){.name = "barrier_density",
               .title = "barriers in the inner loop",
               .scope = Scope::kLaunch,
               .classes = kClasses,
               .needs = kNeeds,
               .uses = kUses,
               .threshold = {"loop_barriers", Threshold::Side::kAbove, 1, "two tiles in turn need one"},
               .moves = kMoves,
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_barrier_density
