#include "command/pending.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/interrupt.h"
#include "command/code_index_option.h"
#include "command/outcome_text.h"
#include "command/run_note.h"
#include "command/run_session.h"
#include "command/target.h"
#include "graph/graph.h"
#include "problem/problem.h"
#include "propose/joint.h"
#include "propose/proposer.h"
#include "search/ahead.h"
#include "search/past_winners.h"
#include "search/record.h"
#include "search/run_ledger.h"
#include "search/start.h"
#include "store/store.h"

namespace hone {
namespace {

// A run with what its decisions follow from, held by this process.
struct Held {
  Store store;
  OpenedRun opened;
  Problem problem;
  SearchSettings settings;
};

// The text is in the store as soon as the kernel was begun with.
Result<std::optional<Proposal>> StartOf(Store& store, const RunRecord& run, const RunSettings& settings) {
  if (settings.start.empty()) return std::nullopt;
  const std::vector<AttemptRecord> attempts = HONE_TRY(store.Attempts(run.id));
  if (attempts.empty() || attempts.front().identity != settings.start) {
    return Fail(
        ErrorKind::kUsage,
        fmt::format("run {} has not begun with its kernel: repeat the `hone optimize --start` that made it", run.id));
  }
  const Attempt first = HONE_TRY(ReadAttempt(store, attempts.front()));
  return StartProposal(first.proposal.candidate, StartName(first.proposal.origin));
}

Result<Held> Hold(VerbCall& call) {
  Store store = HONE_TRY(Store::OpenExisting(StorePath(call)));
  const std::string name = call.Text("problem");
  auto held = HoldRun(store, name);
  if (!held && held.error().kind == ErrorKind::kNotFound) {
    return Fail(ErrorKind::kUsage,
                fmt::format("the run store {} has no run '{}': here a run is named by its id, and not "
                            "a problem; `hone runs` lists them",
                            store.path(), name));
  }
  OpenedRun opened = HONE_TRY(std::move(held));
  const RunRecord& run = opened.record;
  Problem problem =
      HONE_TRY(ParseProblem(HONE_TRY(store.Blob(run.problem_blob)), fmt::format("the problem of run {}", run.id)));
  SearchSettings settings;
  settings.run = HONE_TRY(ParseRunSettings(run.settings));
  settings.budget = HONE_TRY(ParseBudget(run.budget));
  settings.start = HONE_TRY(StartOf(store, run, settings.run));
  return Held{std::move(store), std::move(opened), std::move(problem), std::move(settings)};
}

// The run's proposer, as it was told. What stands for a file in a run's settings is only the file's hash.
Result<ChosenProposers> ProposerOf(VerbCall& call, const RunRecord& run, const RunSettings& settings) {
  auto chosen = ChosenProposers::Parse(call.Has("proposer") ? call.Text("proposer") : settings.proposer);
  if (!chosen && !call.Has("proposer")) {
    return Fail(ErrorKind::kUsage,
                fmt::format("the proposer of run {} is {}, which is not here: name it with --proposer", run.id,
                            settings.proposer));
  }
  if (chosen && chosen->Identity() != settings.proposer) {
    return Fail(ErrorKind::kUsage, fmt::format("the proposer of run {} is {} and not {}; another one is of another run",
                                               run.id, settings.proposer, chosen->Identity()));
  }
  return chosen;
}

}  // namespace

Result<Answer> ProposeMore(VerbCall& call) {
  call.CatchInterrupts();
  Held held = HONE_TRY(Hold(call));
  const RunRecord& run = held.opened.record;
  const auto chosen = HONE_TRY(ProposerOf(call, run, held.settings.run));
  const Graph graph = HONE_TRY(Graph::Create(held.problem));
  const DeviceModel machine = HONE_TRY(call.Has("device") ? NamedDevice(call) : DeviceOfRun(run));
  const Learned learned = HONE_TRY(ParseLearned(run.learned));
  const Recalled recalled = HONE_TRY(ParseRecalled(run.recalled));
  const Budget& budget = held.settings.budget;
  const auto ledger = HONE_TRY(OpenLedger(held.store, run.id, {budget.tokens, budget.dollars}));
  const Advisers& advisers = held.settings.run.tools;
  std::vector<PastWinner> winners;
  if (held.settings.run.memory) winners = HONE_TRY(PastWinners(held.store, run));
  const bool energy = held.settings.run.objective.NeedsEnergy();
  const auto proposer = HONE_TRY(chosen.Make({.graph = graph,
                                              .machine = machine,
                                              .learned = advisers.expert_acts() ? &learned : nullptr,
                                              .recalled = held.settings.run.memory ? &recalled : nullptr,
                                              .saving = energy ? Saving::kEnergy : Saving::kTime,
                                              .models = call.Text("models"),
                                              .ledger = ledger.get(),
                                              .advisers = advisers,
                                              .index = HONE_TRY(IndexFor(call, chosen)),
                                              .winners = std::move(winners)}));
  call.Note(RunNote(run.id, true));
  SearchHooks hooks;
  hooks.interrupt = &InterruptFlag();
  hooks.note = [&call](const std::string& line) { call.Note(line); };
  const SearchOutcome outcome =
      HONE_TRY(ProposeAhead(held.store, run, *proposer, held.settings, static_cast<int>(call.Int("number")), hooks));
  const int pending = Pending(outcome.tree);
  std::string text = fmt::format("run {}: {} proposals more, {} wait to be tried\n", run.id, outcome.proposed, pending);
  if (pending > 0) {
    text += fmt::format("  next     {} evaluate {} --pending, on its machine\n", ProgramAsTyped(), run.id);
    if (outcome.proposed == 0 && chosen.pace() == Pace::kPrompt)
      text += fmt::format("  why      what {} proposes next follows from what comes of these: try them first\n",
                          chosen.Identity());
  } else if (held.settings.start && outcome.tree.attempts() == 0) {
    text += fmt::format("  next     {} evaluate {} --pending: what is proposed follows from its own kernel\n",
                        ProgramAsTyped(), run.id);
  }
  const ExitCode code = InterruptFlag()        ? ExitCode::kInterrupted
                        : outcome.proposed > 0 ? ExitCode::kDone
                                               : ExitCode::kNo;
  return Answer({{"run", run.id}, {"proposed", outcome.proposed}, {"pending", pending}}, text, code);
}

Result<Answer> EvaluatePending(VerbCall& call) {
  call.CatchInterrupts();
  Held held = HONE_TRY(Hold(call));
  const RunRecord& run = held.opened.record;
  const bool cuda = run.target == "cuda";
  const int lanes = held.settings.run.lanes, threads = held.settings.run.threads;
  if (call.Has("threads") && ThreadsOfRun(call) != threads) {
    return Fail(
        ErrorKind::kUsage,
        fmt::format("run {} is of {} threads and not {}: `hone optimize --threads {}` makes a run of its own", run.id,
                    threads > 0 ? std::to_string(threads) : "all", call.Int("threads"), call.Int("threads")));
  }
  const Pace pace = HONE_TRY(PaceOfProposers(held.settings.run.proposer));
  Workbench bench = HONE_TRY(OpenWorkbench(call, held.problem,
                                           {.python = call.Text("python"),
                                            .torch = !call.Flag("no-torch"),
                                            .baselines = call.Texts("baseline"),
                                            .threads = held.settings.run.threads,
                                            .cuda = cuda,
                                            .devices = lanes > 1 ? "all" : "",
                                            .jobs = -1}));
  if (bench.machine.id != run.machine) {
    return Fail(ErrorKind::kUsage,
                fmt::format("run {} is of machine {} and this is {}: times of two machines are not compared; "
                            "`hone optimize` here makes a run of its own",
                            run.id, run.machine, bench.machine.id));
  }
  if (bench.evaluators.size() < static_cast<std::size_t>(lanes)) {
    return Fail(ErrorKind::kUsage,
                fmt::format("run {} tries on {} devices at a time and {} are free here: its decisions "
                            "would be others",
                            run.id, lanes, bench.evaluators.size()));
  }
  bench.evaluators.resize(static_cast<std::size_t>(lanes));
  MeasureBy(bench, call.Flag("certify"), held.settings);
  const auto ledger = HONE_TRY(OpenLedger(held.store, run.id, {}));
  AskedElsewhere proposer(pace,
                          fmt::format("all that was proposed is tried: hone propose {} -n N asks for more", run.id));
  call.Note(RunNote(run.id, true));
  const RunSession session{.bench = bench,
                           .store = held.store,
                           .opened = held.opened,
                           .proposer = proposer,
                           .ledger = *ledger,
                           .settings = held.settings};
  return AnswerOf(session, HONE_TRY(SearchIn(call, session)));
}

}  // namespace hone
