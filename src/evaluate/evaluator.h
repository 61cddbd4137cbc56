// The evaluator: candidates in, verdicts and timings out. The search knows only this interface, so that a scripted one
// can stand in for the real one (testing/scripted_evaluator.h).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "verdict/verdict.h"

namespace hone {

struct EvaluateRequest {
  bool time = true;                                // false: judge only
  std::chrono::milliseconds timing_budget{1000};   // for one candidate's timing beside one baseline
  double confidence = 0.02;                        // stop when the 95 % interval is within this fraction of the median
  std::vector<std::string> baselines = {"naive"};  // to compare with, of those that the evaluator has
  std::vector<std::string> in_turn;  // of them: those that take turns with the candidate also if their time is known
  bool fresh_draws = false;          // new seeds: to confirm a winner
  bool range_full = false;           // being wrong on the very wide draw refuses, too
  bool certify = false;              // what is accepted goes through compute-sanitizer, too (certify.h)
  double bound_us = 0;               // nobody is below it on this machine; who is faster is suspicious. 0 = unknown
  double best_us = 0;  // the fastest so far: who is clearly slower is timed no longer than that takes. 0 = none
};

// Not thread-safe: one evaluator, one caller. Evaluate blocks.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Fails only when the world does (no compiler, judge lost twice in a row), or with kTimeout "interrupted"; a bad
  // candidate is a verdict.
  virtual Result<Evaluation> Evaluate(const Candidate& candidate, const EvaluateRequest& request) = 0;
  // Whether Timing::joules is of this evaluator's timings.
  virtual bool MeasuresEnergy() const { return false; }
  // Candidates that may come next, the likeliest first, in place of those that were foreseen before. Whoever can get
  // them ready meanwhile does; no verdict depends on it.
  virtual void Foresee(std::vector<Candidate> likely) { static_cast<void>(likely); }
  // Asks the evaluation in flight to end soon; called from another thread or a signal's self-pipe.
  virtual void Interrupt() = 0;
};

}  // namespace hone
