// A step that computes nothing: a layout is changed, or a value copied, between steps that could read or write it as it
// is.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_only_moves {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kMemory, Bottleneck::kLaunch, Bottleneck::kLatency};
constexpr std::string_view kNeeds[] = {"work_share", "launches", "step_bytes"};
constexpr std::string_view kUses[] = {"whole_tensors"};

std::optional<Found> Check(const Facts& facts) {
  // Moving is all that there is to do, or integers are data and not indices alone.
  if (facts["launches"] < 2 || facts.Maybe("whole_tensors").value_or(0) > 0) return std::nullopt;
  return Found{
      .lost = 0.9,
      .evidence = fmt::format("it computes nothing and moves {:.3g} MB, one of {:.0f} steps", facts["step_bytes"] / 1e6,
                              facts["launches"]),
      .advice =
          "Let the step before write what the next one wants, or the next one read through strides: a view costs "
          "nothing; what parameters need can be done once, in prepare."};
}

constexpr ExampleFact kTranspose[] = {{"work_share", 0}, {"launches", 3}, {"step_bytes", 134e6}};
constexpr ExampleFact kAlone[] = {{"work_share", 0}, {"launches", 1}, {"step_bytes", 134e6}};
constexpr ExampleFact kScales[] = {{"work_share", 0.05}, {"launches", 3}, {"step_bytes", 134e6}};
constexpr ExampleFact kIndices[] = {{"work_share", 0}, {"launches", 3}, {"step_bytes", 134e6}, {"whole_tensors", 1}};
constexpr Example kFires[] = {{"a transposition before a product", kTranspose}};
constexpr Example kSilent[] = {{"a problem that is a transposition", kAlone},
                               {"one that scales meanwhile", kScales},
                               {"a sort of integers", kIndices}};

}  // namespace

HONE_ROW(Rule){.name = "only_moves",
               .title = "a step that only moves data",
               .scope = Scope::kLaunch,
               .classes = kClasses,
               .needs = kNeeds,
               .uses = kUses,
               .threshold = {"work_share", Threshold::Side::kBelow, 0.001, "none at all, but for a fill"},
               .check = Check,
               .fires = kFires,
               .silent = kSilent,
               .leaves_out = true};

}  // namespace hone::rule_only_moves
