// The device does nothing between the kernels of a run: each begins when the one before it has ended and its successor
// was fetched.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_launch_gaps {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kLaunch, Bottleneck::kLatency, Bottleneck::kMemory,
                                   Bottleneck::kCompute};
constexpr std::string_view kNeeds[] = {"gap_share", "gap_us", "time_us", "timed_parts"};

std::optional<Found> Check(const Facts& facts) {
  const double parts = facts["timed_parts"];
  if (parts < 2) return std::nullopt;
  return Found{
      .lost = facts["gap_share"],
      .evidence = fmt::format("of the {:.3g} us of a run the device does nothing for {:.3g} us, in {:.0f} gaps",
                              facts["time_us"], facts["gap_us"], parts - 1),
      .advice =
          "Do neighbouring steps in one kernel, or let the next begin while the one before it ends "
          "(programmatic dependent launch)."};
}

constexpr ExampleFact kMany[] = {{"gap_share", 0.3}, {"gap_us", 9}, {"time_us", 30}, {"timed_parts", 10}};
constexpr ExampleFact kDense[] = {{"gap_share", 0.02}, {"gap_us", 2}, {"time_us", 100}, {"timed_parts", 3}};
constexpr ExampleFact kOne[] = {{"gap_share", 0}, {"gap_us", 0}, {"time_us", 100}, {"timed_parts", 1}};
constexpr Example kFires[] = {{"ten kernels of two microseconds", kMany}};
constexpr Example kSilent[] = {{"three long kernels", kDense}, {"one kernel", kOne}};

}  // namespace

HONE_ROW(Rule){
    .name = "launch_gaps",
    .title = "gaps between kernels",
    .scope = Scope::kPlan,
    .classes = kClasses,
    .needs = kNeeds,
    .threshold = {"gap_share", Threshold::Side::kAbove, 0.1, "a tenth is more than timing's noise; not measured"},
    .check = Check,
    .fires = kFires,
    .silent = kSilent};

}  // namespace hone::rule_launch_gaps
