// The language has another kernel for the same statement that is expected to be quicker on this device.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_better_way {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kCompute, Bottleneck::kMemory, Bottleneck::kLatency,
                                   Bottleneck::kLaunch};
constexpr std::string_view kNeeds[] = {"way", "other_way", "way_cost", "other_way_cost", "way_cost_ratio"};
constexpr std::string_view kUses[] = {"way_knob"};

constexpr RuleMove kMoves[] = {{"way", "*"}};
constexpr std::string_view kFamilies[] = {"attention", "conv", "matmul"};

std::optional<Found> Check(const Facts& facts) {
  const std::string_view knob = facts.Word("way_knob");
  return Found{.lost = 1 - 1 / facts["way_cost_ratio"],
               .evidence = fmt::format(
                   "it is made by '{}', about {:.2g} times as long as the device's limits allow; by '{}' it would "
                   "be {:.2g}",
                   facts.Word("way"), facts["way_cost"], facts.Word("other_way"), facts["other_way_cost"]),
               .advice = fmt::format("Choose {}: {}.", knob.empty() ? "way" : knob, facts.Word("other_way")),
               .moves = {{{"way", std::string(facts.Word("other_way"))}}}};
}

constexpr ExampleFact kOrdinary[] = {
    {"way", 0, "simt"}, {"other_way", 0, "f32x3"}, {"way_cost", 5}, {"other_way_cost", 1.3}, {"way_cost_ratio", 3.85}};
constexpr ExampleFact kBest[] = {
    {"way", 0, "f32x3"}, {"other_way", 0, "simt"}, {"way_cost", 1.3}, {"other_way_cost", 5}, {"way_cost_ratio", 0.26}};
constexpr Example kFires[] = {{"ordinary units where tensor cores would do", kOrdinary}};
constexpr Example kSilent[] = {{"the best that there is", kBest}};

}  // namespace

HONE_ROW(Rule){
    .name = "better_way",
    .title = "a quicker way of the language",
    .scope = Scope::kStatement,
    .classes = kClasses,
    .needs = kNeeds,
    .uses = kUses,
    .threshold = {"way_cost_ratio", Threshold::Side::kAbove, 1.1, "the costs that ways state are rougher than that"},
    .moves = kMoves,
    .families = kFamilies,
    .check = Check,
    .fires = kFires,
    .silent = kSilent};

}  // namespace hone::rule_better_way
