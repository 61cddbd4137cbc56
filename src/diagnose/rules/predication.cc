// Instructions under a condition take their issue slot whether or not a thread carries them out.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_predication {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kCompute, Bottleneck::kLatency};
constexpr std::string_view kNeeds[] = {"predicated_share"};
constexpr std::string_view kUses[] = {"active_threads", "chosen_threads", "issue_busy", "loops"};

std::optional<Found> Check(const Facts& facts) {
  constexpr double kWarp = 32, kNearlyAll = 24, kIssues = 0.6;
  // Whom a condition leaves out is active all the same: only where branches part a warp fewer are.
  auto active = facts.Maybe("chosen_threads");
  if (!active) active = facts.Maybe("active_threads");
  const bool counted = facts.Maybe("chosen_threads").has_value();
  if (active && *active > kNearlyAll) {
    // Of conditions within a warp nothing is counted. They cost slots, which is nothing where slots are to spare.
    if (counted || facts.Maybe("issue_busy").value_or(0) < kIssues) return std::nullopt;
    active.reset();
  }
  return Found{
      .lost = active ? 1 - *active / kWarp : facts["predicated_share"] / 2,  // half of the time in vain
      .evidence = active ? fmt::format("{:.0f} % of the instructions carried out are under a condition; {:.1f} of 32 "
                                       "threads take part on average",
                                       100 * facts["predicated_share"], *active)
                         : fmt::format("{:.0f} % of the instructions carried out are under a condition",
                                       100 * facts["predicated_share"]),
      .advice =
          facts.Maybe("loops").value_or(0) > 0
              ? "Take the checks of bounds out of the inner loop: go over the whole tiles without them, then over "
                "what is left; let a warp take one branch, not its threads several."
              : "Check bounds once for all that a thread does, and let a warp take one branch, not its threads "
                "several."};
}

constexpr ExampleFact kChecked[] = {{"predicated_share", 0.4}, {"loops", 1}};
constexpr ExampleFact kOnce[] = {{"predicated_share", 0.05}};
constexpr ExampleFact kTogether[] = {{"predicated_share", 0.4}, {"active_threads", 31}, {"issue_busy", 0.3}};
constexpr ExampleFact kFilled[] = {{"predicated_share", 0.6}, {"active_threads", 32}, {"issue_busy", 0.86}};
constexpr ExampleFact kChosen[] = {{"predicated_share", 0.6}, {"chosen_threads", 31}, {"issue_busy", 0.86}};
constexpr Example kFires[] = {{"bounds checked at every step of a window", kChecked},
                              {"a condition for each of 32 pieces, every issue slot taken", kFilled}};
constexpr Example kSilent[] = {{"one check a thread", kOnce},
                               {"conditions beside issue slots to spare", kTogether},
                               {"conditions that nearly all threads meet", kChosen}};

}  // namespace

HONE_ROW(Rule){.name = "predication",
               .title = "work under conditions",
               .scope = Scope::kLaunch,
               .classes = kClasses,
               .needs = kNeeds,
               .uses = kUses,
               .threshold = {"predicated_share", Threshold::Side::kAbove, 0.25,
                             "a fourth: as many as Nsight Compute's ThreadDivergence (2025.4) allows a warp to lack"},
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_predication
