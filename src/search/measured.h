// A device that measures every candidate once, whoever comes to it: for searches side by side, which then differ by
// what they try and not by what a clock said.
//
//   arm 1, seed 1:  A -> measured    B -> measured
//   arm 2, seed 1:  A -> as before   C -> measured
//
// What was measured is a table of candidates without rounds (search/table.h), so that it can be kept, and gone on with.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "evaluate/evaluator.h"
#include "search/recorded.h"
#include "search/table.h"

namespace hone {

// As Evaluator says. What was measured before is answered from the table, a time drawn from its interval by the seed,
// as RecordedEvaluator does; so is what was measured just now. All that it is made with outlives it.
class MeasuredOnce final : public Evaluator {
 public:
  // `seconds`: a rising clock.
  MeasuredOnce(Evaluator& device, SpaceTable& table, std::function<double()> seconds);

  void SetSeed(std::uint64_t seed) { seed_ = seed; }
  // The clock as it would be if each evaluation took what it took when its candidate was measured. From any thread.
  double Seconds() const { return seconds_() + owed_s_; }

  Result<Evaluation> Evaluate(const Candidate& candidate, const EvaluateRequest& request) override;
  void Foresee(std::vector<Candidate> likely) override;  // passed on but for what is known
  void Rest() override { device_.Rest(); }
  void Interrupt() override { device_.Interrupt(); }

 private:
  Evaluator& device_;
  SpaceTable& table_;
  std::function<double()> seconds_;
  std::map<std::string, std::size_t, std::less<>> places_;  // in the table, by name
  std::atomic<double> owed_s_ = 0;
  std::uint64_t seed_ = 1;
};

}  // namespace hone
