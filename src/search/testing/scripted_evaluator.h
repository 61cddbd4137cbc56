// An evaluator whose verdicts and times are a pure function of the candidate's text and a seed (scripted_space.h): the
// search runs thousands of attempts a second on it and does the same on every machine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "evaluate/evaluator.h"

namespace hone::testing {

class ScriptedEvaluator final : public Evaluator {
 public:
  explicit ScriptedEvaluator(std::uint64_t seed) : seed_(seed) {}

  Result<Evaluation> Evaluate(const Candidate& candidate, const EvaluateRequest& request) override;
  void Interrupt() override { ++interrupts; }

  // Controls. before: called with the number of the evaluation (1, 2, ...); an error from it is the evaluator's.
  std::function<Result<void>(int)> before;
  int evaluations = 0;
  std::atomic<int> interrupts = 0;
  bool disturbed_confirmations = false;  // the machine is not quiet while winners are timed again
  int noise_thousandths = 20;            // the largest deviation of a time from the true one

 private:
  std::uint64_t seed_;
};

}  // namespace hone::testing
