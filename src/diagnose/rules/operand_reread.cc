// Several steps read the same input. One that did what they do would read it once.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_operand_reread {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kMemory, Bottleneck::kLaunch};
constexpr std::string_view kNeeds[] = {"read_again_share", "read_again_bytes", "plan_bytes", "problem_bytes"};
constexpr std::string_view kUses[] = {"l2_bytes"};

std::optional<Found> Check(const Facts& facts) {
  if (facts["plan_bytes"] <= facts["problem_bytes"]) return std::nullopt;  // the bound reads it as often
  double lost = facts["read_again_share"];
  if (const auto l2 = facts.Maybe("l2_bytes"); l2 && facts["plan_bytes"] < *l2) lost /= 3;
  return Found{
      .lost = lost,
      .evidence =
          fmt::format("{:.3g} MB of inputs and parameters are read by more than one step; the plan moves {:.3g} MB, "
                      "the problem needs {:.3g} MB",
                      facts["read_again_bytes"] / 1e6, facts["plan_bytes"] / 1e6, facts["problem_bytes"] / 1e6),
      .advice =
          "Let one kernel do all that is done with an input while it is there: several results from one pass, or "
          "products with parameters laid side by side."};
}

constexpr ExampleFact kThree[] = {
    {"read_again_share", 0.4}, {"read_again_bytes", 134e6}, {"plan_bytes", 335e6}, {"problem_bytes", 201e6}};
constexpr ExampleFact kOnce[] = {
    {"read_again_share", 0}, {"read_again_bytes", 0}, {"plan_bytes", 2e8}, {"problem_bytes", 2e8}};
constexpr ExampleFact kHasTo[] = {
    {"read_again_share", 0.3}, {"read_again_bytes", 134e6}, {"plan_bytes", 402e6}, {"problem_bytes", 402e6}};
constexpr Example kFires[] = {{"query, key and value from one x, in three products", kThree}};
constexpr Example kSilent[] = {{"each input in one step", kOnce}, {"a norm of rows that nothing holds", kHasTo}};

}  // namespace

HONE_ROW(Rule){.name = "operand_reread",
               .title = "an input read by several steps",
               .scope = Scope::kPlan,
               .classes = kClasses,
               .needs = kNeeds,
               .uses = kUses,
               .threshold = {"read_again_share", Threshold::Side::kAbove, 0.1, "a tenth; not measured"},
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_operand_reread
