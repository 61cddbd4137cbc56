// When a run did what: the stages of its attempts on lanes, for the page's timeline and for trace viewers. What is left
// of an attempt's time is none of them (waiting, being diagnosed, being written down). Stages whose begin is not in the
// store, of runs from before it was kept, are laid one after another from their attempt's begin. Of one that was
// compiled ahead of its turn, compiling is looking that up.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report/page.h"

namespace hone {

struct Span {
  double begin_ms = 0, end_ms = 0;
};
// Of an attempt that has ended, in milliseconds since 1970, none before the one before it; one that it did not come to
// is empty.
struct StageSpans {
  int attempt = 0;
  int lane = 0;  // 0, 1, ...: no two attempts are in one at a time
  double begin_ms = 0, end_ms = 0;
  Span compile = {}, check = {}, time = {};
  bool laid = false;  // there are stages of which the store has no begin
};

// In the order of the attempts' numbers; those that have not ended are left out.
std::vector<StageSpans> SpansOf(std::span<const AttemptRecord> attempts, std::span<const Evaluation> evaluations);

// The run as a trace that Perfetto and Chrome open: {"traceEvents": [...]} with times in microseconds since it began.
// Lanes are threads; rounds of the proposer and confirmations are threads of their own.
std::string TraceOf(const RunMaterial& material);

}  // namespace hone
