// An evaluator whose verdicts and times are a pure function of the candidate's text and a seed (scripted_space.h): the
// search runs thousands of attempts a second on it and does the same on every machine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evaluate/evaluator.h"

namespace hone::testing {

class ScriptedEvaluator final : public Evaluator {
 public:
  explicit ScriptedEvaluator(std::uint64_t seed) : seed_(seed) {}

  Result<Evaluation> Evaluate(const Candidate& candidate, const EvaluateRequest& request) override;
  Result<void> GetReady(const Candidate& first) override {
    readied.push_back(first.text);
    return before_ready ? before_ready() : Result<void>();
  }
  std::string WhyNoEnergy() const override { return joules || joules_each > 0 ? "" : "nobody has scripted joules"; }
  Result<std::vector<EnergyOrWhy>> MeasureEnergy(const std::vector<Candidate>& candidates,
                                                 const std::vector<double>& call_us,
                                                 const EnergyRequest& request) override;
  void Rest() override { ++rests; }
  void Interrupt() override { ++interrupts; }

  // Controls. before: called with the number of the evaluation (1, 2, ...); an error from it is the evaluator's.
  std::function<Result<void>(int)> before;
  int evaluations = 0;
  std::function<Result<void>()> before_ready;  // an error from it is the evaluator's
  std::vector<std::string> readied;            // for whom it was told to get ready
  // What a call of a candidate takes; nothing: nobody can say. Empty: this evaluator measures no energy.
  std::function<std::optional<double>(const std::string& text)> joules;
  double joules_each = 0;                       // that an evaluation uses; 0: nobody counts
  std::function<Result<void>()> before_energy;  // an error from it is the evaluator's
  struct Asked {
    std::vector<std::string> texts;
    EnergyRequest request;
  };
  std::vector<Asked> energies;  // that were asked for
  std::atomic<int> interrupts = 0;
  int rests = 0;                         // times that it was told to
  bool disturbed_confirmations = false;  // the machine is not quiet while winners are timed again
  int noise_thousandths = 20;            // the largest deviation of a time from the true one

 private:
  std::uint64_t seed_;
};

}  // namespace hone::testing
