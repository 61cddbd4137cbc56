// How far the whole candidate is from the bound: whether there is anything left to find. It suggests no settings: a gap
// says that time is lost and not to what.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_roofline_gap {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kMemory, Bottleneck::kCompute, Bottleneck::kLatency,
                                   Bottleneck::kLaunch};
constexpr std::string_view kNeeds[] = {"time_ratio", "time_us", "bound_us", "bytes_limit_us", "flops_limit_us"};

std::optional<Found> Check(const Facts& facts) {
  const bool memory = facts["bytes_limit_us"] >= facts["flops_limit_us"];
  return Found{
      .lost = 1 - 1 / facts["time_ratio"],
      .evidence = fmt::format("{:.3g} us, {:.2f} times the bound of {:.3g} us, which is of {}", facts["time_us"],
                              facts["time_ratio"], facts["bound_us"], memory ? "memory" : "arithmetic"),
      .advice = memory ? "Look for bytes that move twice, then for what keeps the memory waiting."
                       : "Look for the unit that does the products, then for what keeps it waiting."};
}

constexpr ExampleFact kFar[] = {
    {"time_ratio", 4}, {"time_us", 200}, {"bound_us", 50}, {"bytes_limit_us", 50}, {"flops_limit_us", 3}};
constexpr ExampleFact kThere[] = {
    {"time_ratio", 1.05}, {"time_us", 52.5}, {"bound_us", 50}, {"bytes_limit_us", 50}, {"flops_limit_us", 3}};
constexpr Example kFires[] = {{"four times the bound", kFar}};
constexpr Example kSilent[] = {{"within a twentieth", kThere}};

}  // namespace

HONE_ROW(Rule){
    .name = "roofline_gap",
    .title = "far from the bound",
    .scope = Scope::kPlan,
    .classes = kClasses,
    .needs = kNeeds,
    .threshold = {"time_ratio", Threshold::Side::kAbove, 1.1, "nine tenths of a measured ceiling are at the limit"},
    .check = Check,
    .fires = kFires,
    .silent = kSilent,
    .sums_up = true};

}  // namespace hone::rule_roofline_gap
