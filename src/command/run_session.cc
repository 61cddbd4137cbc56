#include "command/run_session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/interrupt.h"
#include "base/process.h"
#include "command/evaluation_text.h"
#include "command/ledger_text.h"
#include "command/outcome_text.h"
#include "command/run_counters.h"
#include "command/start.h"
#include "diagnose/build_doubt.h"
#include "diagnose/insight.h"
#include "model/ledger.h"
#include "propose/recalled.h"
#include "search/ahead.h"
#include "search/remember.h"
#include "search/start.h"
#include "verdict/baselines.h"

namespace hone {
namespace {

// One line after each attempt on a plain stream; a line that is redrawn on a terminal.
void Report(VerbCall& call, const SearchProgress& progress, const Ledger& ledger) {
  if (progress.phase == SearchProgress::Phase::kConfirming) {
    const std::string beside =
        progress.beside.empty() ? "" : fmt::format(", beside {}", fmt::join(progress.beside, ", "));
    return call.Progress(fmt::format("confirming attempt {} on fresh inputs{}", progress.attempt, beside));
  }
  if (progress.phase == SearchProgress::Phase::kAsking) {
    return call.Stage(progress.attempt == 0 ? std::string("the proposer thinks about what to begin with")
                                            : fmt::format("the proposer thinks about attempt {}", progress.attempt));
  }
  std::string line = fmt::format("[{}/{}]", progress.attempt, progress.attempts_at_most);
  if (progress.best_us > 0) line += fmt::format(" best {}", Microseconds(progress.best_us));
  if (progress.best_speedup >= 1) line += fmt::format(" = {:.2f}x", progress.best_speedup);
  if (progress.best_speedup > 0 && progress.best_speedup < 1)
    line += fmt::format(", {} slower than the baseline", SpeedupText(1 / progress.best_speedup));
  if (progress.best_us > 0 && progress.headroom < 1)
    line += fmt::format(", headroom {:.0f} %", 100 * progress.headroom);
  if (const Spending spent = ledger.Total(); spent.calls > 0) line += fmt::format(", spent {}", Text(spent));
  if (progress.eta_s >= 0) line += fmt::format(", at most {:.0f} s more", progress.eta_s);
  if (const Attempt* last = progress.last) {
    line += fmt::format(" | {}", last->proposal.origin);
    if (progress.phase == SearchProgress::Phase::kTried) {
      line += last->accepted()
                  ? fmt::format(": {}", last->time_us() > 0 ? Microseconds(last->time_us()) : "accepted")
                  : fmt::format(": {}: {}", Name(last->evaluation.verdict.outcome), last->evaluation.verdict.reason);
    }
  }
  if (progress.phase == SearchProgress::Phase::kTried) {
    call.Stage("");
    if (progress.last->proposal.key == kStartKey && !progress.replayed) call.Note(StartNote(*progress.last));
  }
  // Of what an earlier session tried a stream has its lines from then.
  if (progress.phase == SearchProgress::Phase::kTried && !call.listener().live())
    return progress.replayed ? void() : call.Note(line);
  if (call.listener().live()) call.Progress(line);
}

// Of whatever a user brings nobody knows.
std::vector<std::string> SlowOnes(std::vector<std::string> baselines) {
  std::erase_if(baselines, [](const std::string& name) {
    const auto* row = std::ranges::find(kBaselines, name, &BaselineRow::name);
    return row != std::end(kBaselines) && !row->slow;
  });
  return baselines;
}

}  // namespace

void MeasureBy(const Workbench& bench, bool certify, SearchSettings& settings) {
  settings.run.lanes = static_cast<int>(bench.evaluators.size());
  // On a device samples scatter little, and an attempt's check takes less than the default would.
  if (bench.machine.kind == DeviceKind::kCuda) settings.evaluate.timing_budget = std::chrono::milliseconds(300);
  settings.evaluate.baselines.clear();
  if (!bench.baselines.empty()) settings.evaluate.baselines = {bench.baselines.front()};
  settings.sure_us = bench.bound.sure_us;
  settings.evaluate.bound_us = bench.bound.least_us;
  settings.confirm.baselines = bench.baselines;
  settings.slow_baselines = SlowOnes(bench.baselines);
  settings.confirm.in_turn = settings.evaluate.baselines;
  settings.confirm.bound_us = bench.bound.least_us;
  settings.confirm.certify = certify;
}

std::function<std::string(const Candidate&, const Attempt&)> DoubtByBuild(const InsightSetting& looked) {
  // `builds`: of attempts that something was made from.
  return [&looked, builds = std::map<int, std::optional<BuildFacts>>()](const Candidate& chosen,
                                                                        const Attempt& from) mutable -> std::string {
    const auto build = LookAtBuild(chosen, looked);
    if (!build) return "";
    auto known = builds.find(from.number);
    if (known == builds.end()) {
      known = builds.emplace(from.number, std::nullopt).first;
      if (from.accepted()) known->second = LookAtBuild(from.proposal.candidate, looked);
    }
    return WhyDoomed(*build, known->second ? &*known->second : nullptr);
  };
}

RunRecord WantedRun(const Workbench& bench, std::string_view target, const SearchSettings& settings) {
  RunRecord wanted;
  wanted.problem_name = bench.problem.name;
  wanted.problem_identity = Identity(bench.problem);
  wanted.target = target;
  wanted.machine = bench.machine.id;
  wanted.settings = ToJson(settings.run);
  wanted.budget = ToJson(settings.budget);
  wanted.bound_us = bench.bound.us;
  return wanted;
}

Result<SearchOutcome> SearchIn(VerbCall& call, const RunSession& session) {
  Workbench& bench = session.bench;
  SearchHooks hooks;
  hooks.interrupt = &InterruptFlag();
  hooks.spent_s = session.spent_s;
  // Waiting for others is nobody's time.
  hooks.seconds = [devices = bench.devices.get()] {
    const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
    return now.count() - (devices != nullptr ? devices->waited_s() : 0);
  };
  const InsightSetting looked{bench.problem, &bench.graph, bench.machine, OwnPath(), session.settings.run.tools};
  hooks.note = [&call](const std::string& line) { call.Note(line); };
  std::optional<RunCounters> counters;
  counters.emplace(bench, ParseCounterSet(session.settings.run.profile), hooks.note);
  *bench.when_leaving = [&counters] { counters->Leave(); };
  double best_us = 0;  // of all attempts before
  hooks.look = [&](const Attempt& attempt) {
    const Candidate& candidate = attempt.proposal.candidate;
    const bool leads = best_us == 0 || attempt.time_us() < best_us;
    if (!leads || !counters->counting()) return LookAt(candidate, attempt.time_us(), looked);
    const int lane = attempt.number % session.settings.run.lanes;  // which is done with it, and not yet asked again
    return LookAt(candidate, attempt.time_us(), looked,
                  [&](CandidateProfiles& made) { return counters->Count(candidate, lane, made); });
  };
  if (session.settings.run.memory && bench.machine.kind == DeviceKind::kCuda) hooks.doubt = DoubtByBuild(looked);
  hooks.progress = [&](const SearchProgress& progress) {
    best_us = progress.best_us;
    Report(call, progress, session.ledger);
  };
  std::vector<Evaluator*> evaluators;
  for (const auto& evaluator : bench.evaluators) evaluators.push_back(evaluator.get());
  auto searched =
      RunSearch(session.store, session.opened.record, session.proposer, evaluators, session.settings, hooks);
  // Nothing more is measured: whoever waits for the device has it before we write.
  *bench.when_leaving = nullptr;
  counters.reset();
  bench.LeaveDevices();
  SearchOutcome outcome = HONE_TRY(std::move(searched));
  call.Stage("");
  if (*hooks.interrupt && outcome.tree.attempts() == 0) {
    if (!session.opened.resumed) HONE_TRY(session.store.DeleteRun(outcome.run.id));
    return Fail(ErrorKind::kInterrupted, "interrupted");
  }
  HONE_TRY(RememberLessons(session.store, outcome, bench.problem, bench.machine, HONE_VERSION));
  if (outcome.winner_confirmed) {
    const Candidate& winner = outcome.tree.node(outcome.run.best_attempt).attempt.proposal.candidate;
    const auto pieces = PiecesOfProgram(winner.text, bench.problem, bench.machine);
    HONE_TRY(Remember(session.store, outcome, pieces, HONE_VERSION));
  }
  return outcome;
}

Answer AnswerOf(const RunSession& session, const SearchOutcome& outcome) {
  const Workbench& bench = session.bench;
  const ExitCode code = outcome.stop.cause == Stop::Cause::kInterrupt ? ExitCode::kInterrupted
                        : IsWin(outcome)                              ? ExitCode::kDone
                                                                      : ExitCode::kNo;
  nlohmann::json document = OutcomeDocument(outcome, bench.bound, bench.machine, session.store.path(),
                                            static_cast<std::size_t>(session.settings.run.lanes));
  if (bench.devices) {
    document["device"] = {{"waited_s", bench.devices->waited_s()},
                          {"held_s", bench.devices->held_s()},
                          {"evaluating_s", outcome.evaluated_s}};
    document["compilers"] = {
        {"threads", bench.compilers.threads}, {"busy_s", bench.compilers.busy_s}, {"of_s", bench.compilers.of_s}};
  }
  document["pending"] = Pending(outcome.tree);
  std::string text =
      OutcomeText(outcome, bench.bound, bench.machine, session.store.path(), session.settings.run.objective);
  if (const Spending spent = session.ledger.Total(); spent.calls > 0) {
    document["spent"] = ToDocument(spent);
    text += fmt::format("  spent    {} calls of language models: {}\n", spent.calls, Text(spent));
  }
  return Answer(document, text, code);
}

}  // namespace hone
