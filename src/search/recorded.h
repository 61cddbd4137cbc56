// A recorded device: searches over a table of a space (search/table.h) instead of a proposer, compilers and a machine.
// A whole search takes milliseconds. Its clock is the table's: an answer and an attempt take what they took when they
// were recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "evaluate/evaluator.h"
#include "propose/proposer.h"
#include "search/loop.h"
#include "search/recorded_crossing.h"
#include "search/stopper.h"
#include "search/table.h"

namespace hone {

// Seconds since it was made. One thread.
class RecordedClock {
 public:
  void Pass(double seconds) { seconds_ += seconds; }
  double seconds() const { return seconds_; }

 private:
  double seconds_ = 0;
};

// Offers what was offered, as far as it was measured. A candidate's text is its name in the table. The table and the
// clock outlive it, and so for the evaluator.
class RecordedProposer final : public Proposer {
 public:
  // With experience, which outlives it, it predicts anew, as the expert would.
  RecordedProposer(const SpaceTable& table, RecordedClock& clock, const Experience* experience = nullptr);
  Result<Round> Propose(const Question& question) override;

 private:
  Round Crossed(const Question& question);
  double Predicted(const TableOffer& offer, double from_us) const;

  RecordedClock& clock_;
  const Experience* experience_;
  const RecordedCrossing crossing_;
  std::map<std::string_view, std::vector<const TableRound*>> turns_;  // by what they are from
  std::map<std::string_view, double> times_us_;                       // by candidate
};

// What was measured, as an evaluation. A time is drawn from the interval that the median was found to lie in, by the
// seed: the same for a candidate each time it is asked.
Evaluation RecordedEvaluation(const TableCandidate& recorded, std::uint64_t seed);

// Says what was measured. kUsage for a candidate that the table does not have.
class RecordedEvaluator final : public Evaluator {
 public:
  RecordedEvaluator(const SpaceTable& table, RecordedClock& clock, std::uint64_t seed);
  Result<Evaluation> Evaluate(const Candidate& candidate, const EvaluateRequest& request) override;
  void Interrupt() override {}

 private:
  RecordedClock& clock_;
  const std::uint64_t seed_;
  std::map<std::string_view, const TableCandidate*> candidates_;
};

// How far a search had come after an attempt.
struct TracePoint {
  double seconds = 0;          // since the search began
  double best_us = 0;          // of the attempt that it held to be the best: its time in the table; 0 = none
  std::string candidate = {};  // this attempt's name in a table
  double us = 0;               // and its time there; 0 = it was refused
  std::string change = {};     // Proposal::key
  std::string rule = {};       // by whose finding it was proposed, and what share of the time that promised and brought
  double promised = 0, brought = 0;
};
struct Trace {
  std::vector<TracePoint> points;  // one an attempt
  std::string stop;                // why it ended
  std::int64_t tokens = 0;         // that language models took
  double dollars = 0;
};

// Hooks that write the trace of a search, by this clock. `time_us` says how fast the attempt that is the best by then
// really is. The trace outlives them. What an attempt brought is by the times that the search saw.
SearchHooks TraceInto(Trace& trace, std::function<double()> seconds, std::function<double(const Attempt&)> time_us);

// A search from the beginning, in memory. `strategy` as ChooseStrategy reads it; budget.seconds are the table's.
Result<Trace> SearchTable(const SpaceTable& table, const std::string& strategy, std::uint64_t seed,
                          const Budget& budget, const Experience* experience = nullptr);

}  // namespace hone
