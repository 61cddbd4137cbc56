// Kernels with launch lines: CUDA C++ without host code, in whose comments stands what is launched, in order. It is a
// plan in another notation (docs/plan.md, "Kernels with launch lines"):
//
//   // hone: launch relu grid=(n+255)/256 block=256 args=x,y,i64:n
//   __global__ void relu(const float* x, float* y, long n) { ... }
#pragma once

#include <string_view>
#include <variant>

#include "candidate/plan.h"
#include "problem/problem.h"

namespace hone {

// Whether a source says so: a line begins with "// hone:".
bool HasLaunchLines(std::string_view source);

// What is wrong has "line 7" as its place.
std::variant<Plan, PlanIssue> PlanOfKernels(std::string_view source, const Problem& problem);

// A plan's text in either notation.
std::variant<Plan, PlanIssue> ParsePlan(std::string_view text, const Problem& problem);

}  // namespace hone
