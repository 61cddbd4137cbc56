// A module that the user brings as a baseline (OutsideBaseline::own): before it is timed it computes the problem once,
// on the judge's own inputs, and what it makes is held against the oracle. Its memory is shared with nobody else.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "judge/outside_baseline.h"
#include "judge/trial.h"
#include "problem/problem.h"
#include "protocol/tensor_memory.h"

namespace hone {

struct HeldBaseline {
  std::string wrong;             // what it makes that is not expected; empty: it is right
  double error_over_budget = 0;  // the largest of the right elements
};

// The tensors of one call, inputs and parameters with the values of a draw.
class CallSheet {
 public:
  // Fails where there is no memory for them.
  static Result<CallSheet> Create(Trial& trial, const Problem& problem, const DrawnInputs& drawn);
  int descriptor() const { return memory_.descriptor(); }
  // Has a process that was started with the descriptor make the call, after which it keeps the inputs for all others.
  // Fails when it does, or when its module takes something else.
  Result<HeldBaseline> Hold(OutsideProcess& process, Trial& trial, const DrawnInputs& drawn) const;

 private:
  CallSheet(const Problem& problem, SharedMemory memory, std::vector<Place> places)
      : problem_(&problem), memory_(std::move(memory)), places_(std::move(places)) {}
  const Problem* problem_;
  SharedMemory memory_;
  std::vector<Place> places_;  // of Problem::Inputs(), then of Outputs()
};

}  // namespace hone
