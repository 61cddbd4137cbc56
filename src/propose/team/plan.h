// What a planner answers: one change, and where it belongs. The places are marked in the attempt's own text, between
// anchors, and that it is this text is checked here: a plan for another text is no plan.
//
//   change: load four columns at a time                 change: one kernel instead of two
//   gain: 1.4                                           kind: program
//   ```program
//   ...                                                 (to begin with: there is no text yet)
//   <<<IMPROVE BEGINS>>>
//   y = softmax(x) over [1]
//   <<<IMPROVE ENDS>>>
//   ```
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "propose/proposer.h"

namespace hone {

inline constexpr std::string_view kAnchorBegins = "<<<IMPROVE BEGINS>>>", kAnchorEnds = "<<<IMPROVE ENDS>>>";

struct ChangePlan {
  std::string change;  // one line
  double gain = 0;     // how many times as fast, by the planner's estimate; 0 = it has none
  CandidateKind kind = CandidateKind::kProgram;
  std::string marked;  // the attempt's text with anchors; empty to begin with
};

// `from`: the attempt that the plan is about, null to begin with. Nothing: there is nothing worth trying. kUsage and
// the line where it is malformed.
Result<std::optional<ChangePlan>> ParsePlan(std::string_view answer, const Attempt* from);
std::string PlanForm();  // for models: how a plan is written

// A plan as a coder is told it; `from`: the attempt's number, 0 = to begin with.
std::string RenderPlan(const ChangePlan& plan, int from);

bool HasAnchor(std::string_view text);

// Whether two changes are the same in other letters and signs.
bool SameChange(std::string_view a, std::string_view b);

}  // namespace hone
