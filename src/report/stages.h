// When a run did what: the stages of its attempts on lanes, for the page's timeline and for trace viewers. The store
// has an attempt's begin and end and how long its stages took, but not when each began: they are laid one after another
// from its begin, in their order, and what is left is neither of them (waiting, being diagnosed, being written down).
// So one that was compiled ahead of its turn is shown as if it had not been.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report/page.h"

namespace hone {

// Of an attempt that has ended, in milliseconds since 1970, none before the one before it.
struct StageSpans {
  int attempt = 0;
  int lane = 0;  // 0, 1, ...: no two attempts are in one at a time
  double begin_ms = 0, compiled_ms = 0, checked_ms = 0, timed_ms = 0, end_ms = 0;
};

// In the order of the attempts' numbers; those that have not ended are left out.
std::vector<StageSpans> SpansOf(std::span<const AttemptRecord> attempts, std::span<const Evaluation> evaluations);

// The run as a trace that Perfetto and Chrome open: {"traceEvents": [...]} with times in microseconds since it began.
// Lanes are threads; rounds of the proposer and confirmations are threads of their own.
std::string TraceOf(const RunMaterial& material);

}  // namespace hone
