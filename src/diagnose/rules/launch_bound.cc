// A run of many small steps is mostly their beginnings: what a step takes at least, whatever it does, beside what the
// whole problem takes at least.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_launch_bound {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kLaunch, Bottleneck::kLatency, Bottleneck::kMemory,
                                   Bottleneck::kCompute};
constexpr std::string_view kNeeds[] = {"launch_share", "launches", "launch_us", "bound_us"};

constexpr RuleMove kMoves[] = {{"split", "less"}, {"products", "together"}};
constexpr std::string_view kFamilies[] = {"attention", "matmul", "norm", "reduce", "softmax"};

std::optional<Found> Check(const Facts& facts) {
  const double launches = facts["launches"], each = facts["launch_us"];
  if (launches < 2) return std::nullopt;  // nothing to fuse
  // A move leaves out one of them. 15 moves that were promised all, 21.6 % of the time, made it 2.7 % longer (11
  // problems on an H200, 2026-11-23, docs/measured/tools.md).
  const double one = 1 / (launches - 1);
  return Found{
      .lost = (launches - 1) * each / (launches * each + facts["bound_us"]),
      .evidence =
          fmt::format("{:.0f} steps of at least {:.2g} us each, {:.3g} us together, beside a bound of {:.3g} us for "
                      "all of the work",
                      launches, each, launches * each, facts["bound_us"]),
      .advice =
          "Do neighbouring steps in one kernel; what cannot be joined can overlap: one step begins while the one "
          "before it ends (programmatic dependent launch).",
      .moves = {{{"split", "less", one}, {"products", "together", one}}}};
}

constexpr ExampleFact kTen[] = {{"launch_share", 0.83}, {"launches", 10}, {"launch_us", 1}, {"bound_us", 2}};
constexpr ExampleFact kOne[] = {{"launch_share", 0.5}, {"launches", 1}, {"launch_us", 1}, {"bound_us", 1}};
constexpr ExampleFact kLong[] = {{"launch_share", 0.03}, {"launches", 3}, {"launch_us", 1}, {"bound_us", 100}};
constexpr Example kFires[] = {{"ten steps for two microseconds of work", kTen}};
constexpr Example kSilent[] = {{"one step", kOne}, {"three steps of much work", kLong}};

}  // namespace

HONE_ROW(Rule){
    .name = "launch_bound",
    .title = "launches beside little work",
    .scope = Scope::kPlan,
    .classes = kClasses,
    .needs = kNeeds,
    .threshold = {"launch_share", Threshold::Side::kAbove, 0.2, "a fifth is more than timing's noise; not measured"},
    .moves = kMoves,
    .families = kFamilies,
    .check = Check,
    .fires = kFires,
    .silent = kSilent};

}  // namespace hone::rule_launch_bound
