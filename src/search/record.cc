#include "search/record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/date.h"
#include "base/json_text.h"
#include "base/record.h"

namespace hone {

// A folder that has gone since is no reason not to show a run.
std::string AdvisersText(const Advisers& advisers) { return advisers.Text(); }
Result<Advisers> ReadAdvisers(std::string_view text) {
  if (text.empty()) return Advisers{};
  if (auto known = Advisers::Parse(text)) return known;
  return Advisers{Advisers::Kind::kOn, std::string(text)};
}

// A run is found again by this text: what came later is not written while it is as it was before.
template <SameAs<RunSettings> Of>
void Fields(Of& settings, auto&& field) {
  field("seed", settings.seed);
  field("search", settings.search, kAlways);
  field("proposer", settings.proposer, kAlways);
  const auto text = [](const Objective& objective) { return objective.IsTime() ? std::string() : objective.Text(); };
  field("objective", settings.objective, ByText<Objective>{text, Objective::Parse});
  field("tools", settings.tools, ByText<Advisers>{AdvisersText, ReadAdvisers});
  field("profile", settings.profile);
  field("lanes", settings.lanes, WrittenUnless{RunSettings{}.lanes});
  field("start", settings.start, WrittenUnless{RunSettings{}.start});
  field("memory", settings.memory, WrittenUnless{RunSettings{}.memory});
  field("threads", settings.threads, WrittenUnless{RunSettings{}.threads});
}

template <SameAs<Budget> Of>
void Fields(Of& budget, auto&& field) {
  field("attempts", budget.attempts);
  field("seconds", budget.seconds);
  field("headroom", budget.headroom);
  field("idle", budget.idle, WrittenUnless{Budget{}.idle});
  field("joules", budget.joules, WrittenUnless{Budget{}.joules});
  field("max_tokens", budget.tokens, WrittenUnless{Budget{}.tokens});
  field("max_dollars", budget.dollars, WrittenUnless{Budget{}.dollars});
  field("spent_s", budget.spent_s, WrittenUnless{Budget{}.spent_s});
}

namespace {

using Json = nlohmann::json;

// Compilers' words and candidates' names may hold bytes that are no UTF-8.
// `what`: "attempt 3 of run 3fa2 in runs.sqlite".
Result<Candidate> MakeCandidate(const std::string& what, std::string_view kind, std::string text) {
  if (const std::optional<CandidateKind> known = ParseCandidateKind(kind)) return Candidate{*known, std::move(text)};
  return Fail(
      ErrorKind::kCorrupt,
      fmt::format("{} is of the unknown kind '{}'; update hone, or start a run with another --seed", what, kind));
}

Json FindingsJson(const std::vector<Finding>& findings) {
  Json json = Json::array();
  for (const Finding& one : findings) json.push_back(ToJson(one));
  return json;
}

Result<std::vector<Finding>> ReadFindings(const std::string& text) {
  const Json parsed = Json::parse(text, nullptr, false);
  if (!parsed.is_array()) return Fail(ErrorKind::kCorrupt, "the findings in the run store are not ours: " + text);
  std::vector<Finding> findings;
  for (const Json& one : parsed) findings.push_back(HONE_TRY(ParseFinding(one, "a finding of the run store")));
  return findings;
}

}  // namespace

std::string ToJson(const RunSettings& settings) { return JsonText(ToRecord(settings)); }

Result<RunSettings> ParseRunSettings(const std::string& json) {
  return FromRecord<RunSettings>(Json::parse(json, nullptr, false), "the settings of a run of ours: " + json);
}

double SpentSeconds(const RunRecord& run) {
  const auto budget = ParseBudget(run.budget);
  return budget ? budget->spent_s : 0;
}

std::string ToJson(const Budget& budget) { return JsonText(ToRecord(budget)); }

Result<Budget> ParseBudget(const std::string& json) {
  return FromRecord<Budget>(Json::parse(json, nullptr, false), "the budget of a run of ours: " + json);
}

Result<OpenedRun> HoldRun(Store& store, std::string_view prefix) {
  const RunRecord found = HONE_TRY(store.FindRun(prefix));
  std::optional<RunLock> lock = HONE_TRY(store.Lock(found.id));
  if (!lock) {
    return Fail(ErrorKind::kUsage,
                fmt::format("another hone is at work on run {} of this problem; wait for it, or start "
                            "a different run with another --seed",
                            found.id));
  }
  // It may have moved on between the look and the lock.
  return OpenedRun{HONE_TRY(store.FindRun(found.id)), std::move(*lock), true};
}

Result<OpenedRun> OpenRun(Store& store, const RunRecord& wanted, const std::string& problem_json) {
  const std::optional<RunRecord> alike = HONE_TRY(store.FindAlike(wanted));
  OpenedRun opened = HONE_TRY(HoldRun(store, alike ? alike->id : HONE_TRY(store.CreateRun(wanted, problem_json)).id));
  opened.resumed = alike.has_value();
  RunRecord& record = opened.record;
  auto budget = ParseBudget(wanted.budget);
  if (budget) budget->spent_s = SpentSeconds(record);
  record.budget = budget ? ToJson(*budget) : wanted.budget;
  record.bound_us = wanted.bound_us;
  record.flags = wanted.flags;
  return opened;
}

std::string EvaluationText(const Evaluation& evaluation) {
  Evaluation without_log = evaluation;
  without_log.verdict.evidence->log.clear();
  return JsonText(ToJson(without_log));
}

Result<Evaluation> ReadEvaluation(const std::string& json, const std::string& log) {
  Json parsed = Json::parse(json, nullptr, false);
  if (parsed.is_discarded()) return Fail(ErrorKind::kCorrupt, "an evaluation in the run store is not JSON");
  Evaluation evaluation = HONE_TRY(ParseEvaluation(parsed));
  evaluation.verdict.evidence->log = log;
  return evaluation;
}

double PrimarySpeedup(const Evaluation& evaluation) {
  return evaluation.timing && !evaluation.timing->against.empty()
             ? evaluation.timing->against.front().speedup.value_or(0)
             : 0;
}

AttemptRecord StartedRecord(const std::string& run, const Attempt& attempt) {
  AttemptRecord record;
  record.run = run;
  record.number = attempt.number;
  record.parent = attempt.parent;
  record.mate = attempt.mate;
  record.round = attempt.round;
  record.kind = Name(attempt.proposal.candidate.kind);
  record.identity = attempt.proposal.candidate.Identity();
  record.origin = attempt.proposal.origin;
  record.key = attempt.proposal.key;
  record.predicted_us = attempt.proposal.predicted_us;
  record.rule = attempt.proposal.rule;
  record.promised = attempt.proposal.promised;
  record.started_ms = UnixMilliseconds();
  return record;
}

void Complete(AttemptRecord& record, const Evaluation& evaluation, const Insight& insight) {
  record.ended_ms = UnixMilliseconds();
  record.outcome = Name(evaluation.verdict.outcome);
  record.evaluation = EvaluationText(evaluation);
  record.limits = JsonText(ClassJson(insight));
  record.findings = JsonText(FindingsJson(insight.findings));
  if (evaluation.timing) {
    record.median_us = evaluation.timing->warm.median_us;
    record.cold_us = evaluation.timing->cold.median_us;
    if (evaluation.timing->energy) record.joules = evaluation.timing->energy->joules;
  }
  record.speedup = PrimarySpeedup(evaluation);
}

Result<Learned> ReadLearned(Store& store, const RunRecord& run) {
  Learned learned;
  for (const RuleOutcome& one : HONE_TRY(store.Outcomes(run.target, run.machine)))
    learned[one.rule] = {.moved = one.moved, .promised = one.promised, .brought = one.brought};
  return learned;
}

ConfirmationRecord ConfirmedRecord(const std::string& run, int attempt, const Evaluation& evaluation) {
  AttemptRecord as_attempt;
  Complete(as_attempt, evaluation);
  return {.run = run,
          .attempt = attempt,
          .ended_ms = as_attempt.ended_ms,
          .outcome = std::move(as_attempt.outcome),
          .evaluation = std::move(as_attempt.evaluation),
          .log_blob = {},
          .median_us = as_attempt.median_us,
          .cold_us = as_attempt.cold_us,
          .speedup = as_attempt.speedup,
          .joules = as_attempt.joules};
}

std::vector<ProposalRecord> ProposalRecords(const std::vector<Proposal>& proposals) {
  std::vector<ProposalRecord> records;
  for (const Proposal& one : proposals) {
    records.push_back({.kind = std::string(Name(one.candidate.kind)),
                       .source = one.candidate.text,
                       .identity = one.candidate.Identity(),
                       .origin = one.origin,
                       .key = one.key,
                       .predicted_us = one.predicted_us,
                       .rule = one.rule,
                       .promised = one.promised,
                       .doubt = one.doubt,
                       .dropped = one.dropped});
  }
  return records;
}

Result<std::vector<Proposal>> ReadProposals(Store& store, const RoundRecord& round, std::string_view likely) {
  std::vector<Proposal> proposals;
  for (ProposalRecord& record : HONE_TRY(store.Proposals(round.run, round.number, likely))) {
    const std::string what =
        fmt::format("a proposal of round {} of run {} in {}", round.number, round.run, store.path());
    Candidate candidate = HONE_TRY(MakeCandidate(what, record.kind, std::move(record.source)));
    if (candidate.Identity() != record.identity)
      return Fail(ErrorKind::kCorrupt, what + " is not what was written; restore the file from a copy");
    proposals.push_back({std::move(candidate), std::move(record.origin), std::move(record.key), record.predicted_us,
                         std::move(record.rule), record.promised, std::move(record.doubt), record.dropped});
  }
  return proposals;
}

Result<Insight> ReadInsight(const AttemptRecord& record) {
  Insight insight = HONE_TRY(ParseClassJson(Json::parse(record.limits, nullptr, false)));
  insight.findings = HONE_TRY(ReadFindings(record.findings));
  return insight;
}

Result<Attempt> ReadTried(Store& store, const AttemptRecord& record) {
  Attempt attempt;
  attempt.number = record.number;
  attempt.parent = record.parent;
  attempt.mate = record.mate;
  attempt.round = record.round;
  attempt.proposal.candidate =
      HONE_TRY(MakeCandidate(fmt::format("attempt {} of run {} in {}", record.number, record.run, store.path()),
                             record.kind, HONE_TRY(store.Blob(record.source_blob))));
  attempt.proposal.origin = record.origin;
  attempt.proposal.key = record.key;
  attempt.proposal.predicted_us = record.predicted_us;
  attempt.proposal.rule = record.rule;
  attempt.proposal.promised = record.promised;
  return attempt;
}

Result<Attempt> ReadAttempt(Store& store, const AttemptRecord& record) {
  Attempt attempt = HONE_TRY(ReadTried(store, record));
  attempt.insight = HONE_TRY(ReadInsight(record));
  if (!record.ended()) return attempt;
  const std::string log = record.log_blob.empty() ? std::string() : HONE_TRY(store.Blob(record.log_blob));
  attempt.evaluation = HONE_TRY(ReadEvaluation(record.evaluation, log));
  return attempt;
}

Result<Evaluation> ReadConfirmation(Store& store, const ConfirmationRecord& record) {
  const std::string log = record.log_blob.empty() ? std::string() : HONE_TRY(store.Blob(record.log_blob));
  return ReadEvaluation(record.evaluation, log);
}

void NoteBaselines(const Evaluation& evaluation, RunRecord& run) {
  if (!evaluation.timing || evaluation.timing->against.empty()) return;
  Json baselines = Json::parse(run.baselines.empty() ? "{}" : run.baselines, nullptr, false);
  if (!baselines.is_object()) baselines = Json::object();
  for (const Comparison& comparison : evaluation.timing->against) {
    if (!comparison.disturbed.empty() || !comparison.wrong.empty()) continue;
    baselines[comparison.baseline] = comparison.baseline_warm.median_us;
  }
  run.baselines = JsonText(baselines);
}

}  // namespace hone
