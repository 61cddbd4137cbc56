#include "search/recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>
#include <utility>

#include "base/sha256.h"
#include "propose/random.h"
#include "search/search.h"

namespace hone {

RecordedProposer::RecordedProposer(const SpaceTable& table, RecordedClock& clock, const Experience* experience)
    : clock_(clock), experience_(experience), crossing_(table) {
  for (const TableRound& round : table.rounds) turns_[round.from].push_back(&round);
  for (const TableCandidate& one : table.candidates) times_us_[one.name] = one.warm_us;
}

// What it claims is a share of the time before as it was when the table was made, and so is what is expected.
double RecordedProposer::Predicted(const TableOffer& offer, double from_us) const {
  if (experience_ == nullptr || !offer.lesson || offer.predicted_us <= 0) return offer.predicted_us;
  if (offer.lesson->family == kStart) return offer.predicted_us * std::exp(-experience_->HopeOfStart(*offer.lesson));
  if (from_us <= 0) return offer.predicted_us;
  return from_us * std::exp(-experience_->Expect(*offer.lesson, std::log(from_us / offer.predicted_us)));
}

Result<Round> RecordedProposer::Propose(const Question& question) {
  if (question.mate != 0) return Crossed(question);
  const Attempt* from = question.from();
  const auto found = turns_.find(from ? std::string_view(from->proposal.candidate.text) : std::string_view());
  const auto turn = static_cast<std::size_t>(question.turn);
  if (found == turns_.end() || turn >= found->second.size()) return Round();
  const TableRound& recorded = *found->second[turn];
  clock_.Pass(recorded.seconds);
  Round round;
  for (const TableOffer& offer : recorded.offers) {
    round.proposals.push_back({.candidate = {CandidateKind::kProgram, offer.candidate},
                               .origin = "recorded: " + offer.key,
                               .key = offer.key,
                               .predicted_us = Predicted(offer, from ? times_us_[recorded.from] : 0)});
  }
  if (experience_ != nullptr) std::ranges::stable_sort(round.proposals, {}, &Proposal::predicted_us);
  // None of a round was measured, but that is no end: the next one may have been.
  if (round.proposals.empty() && recorded.unmeasured > 0) {
    Question next = question;
    ++next.turn;
    return Propose(next);
  }
  return round;
}

Round RecordedProposer::Crossed(const Question& question) {
  Round round;
  for (std::string& name :
       crossing_.Of(question.from()->proposal.candidate.text, question.with()->proposal.candidate.text)) {
    std::string key = "cross " + name;
    round.proposals.push_back(
        {.candidate = {CandidateKind::kProgram, std::move(name)}, .origin = "recorded: " + key, .key = key});
  }
  return round;
}

RecordedEvaluator::RecordedEvaluator(const SpaceTable& table, RecordedClock& clock, std::uint64_t seed)
    : clock_(clock), seed_(seed) {
  for (const TableCandidate& one : table.candidates) candidates_[one.name] = &one;
}

Result<Evaluation> RecordedEvaluator::Evaluate(const Candidate& candidate, const EvaluateRequest&) {
  const auto found = candidates_.find(candidate.text);
  if (found == candidates_.end())
    return Fail(ErrorKind::kUsage, fmt::format("the table has no candidate '{}'", candidate.text.substr(0, 40)));
  const TableCandidate& recorded = *found->second;
  clock_.Pass(recorded.seconds);
  return RecordedEvaluation(recorded, seed_);
}

Evaluation RecordedEvaluation(const TableCandidate& recorded, std::uint64_t seed) {
  Evaluation evaluation;
  evaluation.how->sandbox = "none: recorded";
  evaluation.verdict.outcome = recorded.outcome;
  evaluation.verdict.reason = recorded.reason;
  if (recorded.warm_us <= 0) return evaluation;
  double warm_us = recorded.warm_us;
  if (recorded.interval) {
    std::uint64_t hash = Random::Mix(seed + 1);
    for (const char c : recorded.name) hash = Random::Mix(hash ^ static_cast<unsigned char>(c));
    const Interval& interval = *recorded.interval;
    warm_us = interval.low + Random(hash).Uniform() * (interval.high - interval.low);
  }
  evaluation.timing = Timing{.warm = {.median_us = warm_us, .interval = recorded.interval, .count = 1}};
  return evaluation;
}

SearchHooks TraceInto(Trace& trace, std::function<double()> seconds, std::function<double(const Attempt&)> time_us) {
  struct Seen {
    double held_us = 0;  // the best, by the search
    double really_us = 0;
    std::vector<double> all_us;  // by number, of attempts
  };
  SearchHooks hooks;
  hooks.seconds = seconds;
  hooks.progress = [&trace, seconds, time_us, seen = std::make_shared<Seen>()](const SearchProgress& progress) {
    if (progress.phase != SearchProgress::Phase::kTried) return;
    const Attempt& last = *progress.last;
    const double us = last.time_us(), really_us = us > 0 ? time_us(last) : 0;
    if (us > 0 && (seen->held_us == 0 || us < seen->held_us))
      std::tie(seen->held_us, seen->really_us) = std::pair(us, really_us);
    const double before_us = last.parent > 0 ? seen->all_us[static_cast<std::size_t>(last.parent) - 1] : 0;
    seen->all_us.push_back(us);
    trace.points.push_back({.seconds = seconds(),
                            .best_us = seen->really_us,
                            .candidate = TableName(last.proposal.candidate),
                            .us = really_us,
                            .change = last.proposal.key,
                            .rule = last.proposal.rule,
                            .promised = last.proposal.promised,
                            .brought = before_us > 0 && us > 0 ? 1 - us / before_us : 0});
  };
  return hooks;
}

Result<Trace> SearchTable(const SpaceTable& table, const std::string& strategy, std::uint64_t seed,
                          const Budget& budget, const Experience* experience) {
  RecordedClock clock;
  RecordedProposer proposer(table, clock, experience);
  RecordedEvaluator evaluator(table, clock, seed);
  std::map<std::string_view, double> times_us;
  for (const TableCandidate& one : table.candidates) times_us[one.name] = one.warm_us;

  SearchSettings settings;
  settings.run = {.seed = seed, .search = HONE_TRY(ChooseStrategy(strategy)).Identity(), .proposer = "recorded"};
  settings.run.memory = experience != nullptr;
  settings.budget = budget;
  settings.confirm_candidates = 0;
  RunRecord wanted;
  wanted.problem_name = table.head.problem;
  wanted.problem_identity = Sha256(wanted.problem_name);
  wanted.target = table.head.target;
  wanted.machine = table.head.machine;
  wanted.settings = ToJson(settings.run);
  wanted.budget = ToJson(budget);
  wanted.bound_us = table.head.bound_us;
  if (experience != nullptr) wanted.recalled = ToJson(Recalled{.proven = {}, .experience = *experience});
  Store store = HONE_TRY(Store::Open(":memory:"));
  OpenedRun opened = HONE_TRY(OpenRun(store, wanted, "{\"recorded\": true}\n"));

  Trace trace;
  const SearchHooks hooks = TraceInto(
      trace, [&clock] { return clock.seconds(); },
      [&times_us](const Attempt& attempt) { return times_us[attempt.proposal.candidate.text]; });
  const SearchOutcome outcome =
      HONE_TRY(RunSearch(store, std::move(opened.record), proposer, evaluator, settings, hooks));
  trace.stop = outcome.stop.reason;
  return trace;
}

}  // namespace hone
