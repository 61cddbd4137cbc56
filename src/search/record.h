// Between the search's values and the run store's rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "propose/proposer.h"
#include "search/objective.h"
#include "search/stopper.h"
#include "store/store.h"
#include "verdict/verdict.h"

namespace hone {

// All that the decisions of a search follow from, beside the problem. The budget is not among it: a larger one goes on
// with the same decisions.
struct RunSettings {
  std::uint64_t seed = 1;
  std::string search = "greedy";    // a strategy with its parameters: Chosen::Identity
  std::string proposer = "expert";  // a proposer with its parameters
  Objective objective;
  int lanes = 1;        // attempts in flight at a time: a choice does not know how those will end
  Advisers tools;       // who says what facts mean; the expert acts on it
  std::string profile;  // what is counted of attempts that lead (CounterSet); empty: nothing is
  std::string start;    // Candidate::Identity of the kernel that is tried first; empty: the proposer says what is
  bool memory = false;  // it began with what earlier runs had found out
  int threads = 0;      // on a processor: that kernels may use; 0 = all cores
};
std::string ToJson(const RunSettings& settings);
Result<RunSettings> ParseRunSettings(const std::string& json);
std::string ToJson(const Budget& budget);
Result<Budget> ParseBudget(const std::string& json);
double SpentSeconds(const RunRecord& run);  // Budget::spent_s of its budget

// A run that this process may work on, as long as the lock lives.
struct OpenedRun {
  RunRecord record;
  RunLock lock;
  bool resumed = false;  // it was there
};
// The run whose id begins so. kUsage when another process works on it; fails as Store::FindRun does.
Result<OpenedRun> HoldRun(Store& store, std::string_view prefix);
// The newest run of the same problem, target, machine and settings, else a new one. `wanted` as for Store::CreateRun.
// kUsage when another process works on it.
Result<OpenedRun> OpenRun(Store& store, const RunRecord& wanted, const std::string& problem_json);

// An evaluation is kept without its log, which may be long and is a text of its own.
std::string EvaluationText(const Evaluation& evaluation);
Result<Evaluation> ReadEvaluation(const std::string& json, const std::string& log);

// The speed-up over the first baseline that it was compared with; 0 = none.
double PrimarySpeedup(const Evaluation& evaluation);

AttemptRecord StartedRecord(const std::string& run, const Attempt& attempt);  // started now
// Ended now.
void Complete(AttemptRecord& record, const Evaluation& evaluation, const Insight& insight = {});
// What the moves of rules came to in earlier runs on this target and machine.
Result<Learned> ReadLearned(Store& store, const RunRecord& run);
ConfirmationRecord ConfirmedRecord(const std::string& run, int attempt, const Evaluation& evaluation);

std::vector<ProposalRecord> ProposalRecords(const std::vector<Proposal>& proposals);
// kCorrupt when one is not what was proposed.
// `likely` as of Store::Proposals.
Result<std::vector<Proposal>> ReadProposals(Store& store, const RoundRecord& round, std::string_view likely = {});

// Reads the texts behind a row. The evaluation of one that has not ended is empty.
Result<Insight> ReadInsight(const AttemptRecord& record);
Result<Attempt> ReadTried(Store& store, const AttemptRecord& record);  // without evaluation and insight
Result<Attempt> ReadAttempt(Store& store, const AttemptRecord& record);
Result<Evaluation> ReadConfirmation(Store& store, const ConfirmationRecord& record);

// Takes the baselines' times of an evaluation over into the run's record.
void NoteBaselines(const Evaluation& evaluation, RunRecord& run);

}  // namespace hone
