// The evaluator: candidates in, verdicts and timings out. The search knows only this interface, so that a scripted one
// can stand in for the real one (testing/scripted_evaluator.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "verdict/request.h"
#include "verdict/verdict.h"

namespace hone {

// How busy threads that compile ahead were, in seconds of all of them together.
struct CompilersUse {
  int threads = 0;
  double busy_s = 0;  // that they compiled
  double of_s = 0;    // since they were let go
};

// Not thread-safe: one evaluator, one caller. Evaluate blocks.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Before the first Evaluate, or not at all: what it will need, the device that several share among it, with all that
  // can be done for `first` before that one is ours. Blocks until then; fails as Evaluate does. A bad candidate is
  // none of its business.
  virtual Result<void> GetReady(const Candidate& first) {
    static_cast<void>(first);
    return {};
  }
  // Fails only when the world does (no compiler, judge lost twice in a row), or with kInterrupted; a bad
  // candidate is a verdict.
  virtual Result<Evaluation> Evaluate(const Candidate& candidate, const EvaluateRequest& request) = 0;
  // Whether the time of this baseline is known, so that a comparison with it takes no time.
  virtual bool Knows(const std::string& baseline) const {
    static_cast<void>(baseline);
    return false;
  }
  // Why it cannot measure energy; empty where it can.
  virtual std::string WhyNoEnergy() const { return "this evaluator measures no energy"; }
  // What a call of each takes, in turn with the others: one result for each, in their order. They were accepted, and
  // `call_us` is what their warm calls were timed at. Blocks for seconds a window; fails as Evaluate does.
  virtual Result<std::vector<EnergyOrWhy>> MeasureEnergy(const std::vector<Candidate>& candidates,
                                                         const std::vector<double>& call_us,
                                                         const EnergyRequest& request) {
    static_cast<void>(call_us), static_cast<void>(request);
    return std::vector<EnergyOrWhy>(candidates.size(), EnergyOrWhy{.energy = {}, .why = WhyNoEnergy()});
  }
  // Candidates that may come next, the likeliest first, in place of those that were foreseen before. Whoever can get
  // them ready meanwhile does; no verdict depends on it.
  virtual void Foresee(std::vector<Candidate> likely) { static_cast<void>(likely); }
  // How busy those are that do, so far.
  virtual CompilersUse Compilers() const { return {}; }
  // Nothing is asked of it for now, said again and again meanwhile: once that takes long, it leaves to others what they
  // wait for, until it is asked again.
  virtual void Rest() {}
  // Asks the evaluation in flight to end soon; called from another thread or a signal's self-pipe.
  virtual void Interrupt() = 0;
};

}  // namespace hone
