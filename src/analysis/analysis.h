// What is degenerate about a problem: an output that is zero, constant, or constant as far as anybody would notice; one
// that does not hang on an input; work that algebra saves. Kernels for such problems are "fast" without being good, so
// their results are reported apart. Worked out from the element definitions (expr/expr.h); nothing is run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace hone {

enum class FlagKind : std::uint8_t {
  kZero,          // all elements of an output are 0 in exact arithmetic
  kConstant,      // are one number
  kNotFinite,     // are NaN or infinite, whatever the inputs: no candidate can be told right from wrong
  kIgnoresAll,    // an output hangs on no input
  kIgnoresInput,  // no output hangs on an input, were it drawn otherwise: one that is a number in the file may be used
  kNearlyZero,    // 0 would pass for an output
  kNearlyConstant,  // some constant would pass for an output, or the output for one draw of the inputs for all others
  kCollapsible,     // algebra saves at least half of the work, or so much of it makes what nobody reads
};

std::string_view Name(FlagKind kind);  // "zero", "nearly-constant"

struct Flag {
  FlagKind kind = FlagKind::kZero;
  std::string output;                          // the output concerned; empty when it is the whole graph
  std::vector<std::string> inputs;             // kIgnoresAll, kIgnoresInput
  double value = 0;                            // kConstant
  double within = 0;                           // kNearly*: by how much elements may be off (standard deviations count)
  double flops_written = 0, flops_needed = 0;  // kCollapsible, of the whole graph
  std::string reason;                          // which node, and what is known there
};

// "output y is zero: the terms of node 4 (aten.sub.Tensor) cancel"
std::string Sentence(const Flag& flag);
std::string Names(const std::vector<Flag>& flags);  // "zero, collapsible"; empty for none

// What comparisons in a precision let pass, absolute and relative: 1e-4 in single precision and 1e-2 in half, as
// KernelBench has it, and 1e-7 in double.
double CommonTolerance(DType dtype);

// Never fails: where nothing is known nothing is flagged. Takes up to a second or so for a thousand nodes. Claims hold
// where all values are finite, for draws as the problem asks for them.
std::vector<Flag> Analyze(const Graph& graph);

}  // namespace hone
