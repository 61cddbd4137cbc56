// hone record: a table of all candidates that a space gives, measured once, so that searches over it can be made again
// without a compiler or a device (search/table.h).
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/interrupt.h"
#include "command/command.h"
#include "command/evaluation_text.h"
#include "command/run_note.h"
#include "command/run_session.h"
#include "command/target.h"
#include "command/workbench.h"
#include "propose/joint.h"
#include "propose/proposer.h"
#include "search/loop.h"
#include "search/remember.h"
#include "search/search.h"
#include "search/table.h"
#include "store/store.h"

namespace hone::verb_record {
namespace {

constexpr Positional kPositionals[] = {
    {.name = "problem", .help = "a KernelBench-style .py file, or problem.json", .reads = true}};
constexpr Option kOptions[] = {
    kTargetOption,
    {.name = "out",
     .letter = 'o',
     .value = "FILE",
     .help = "the table (default: PROBLEM.jsonl, by the problem's name)",
     .writes = true},
    {.name = "budget",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "candidates at most",
     .otherwise = "200",
     .at_least = 1},
    {.name = "time",
     .type = ValueType::kReal,
     .value = "S",
     .help = "seconds at most; 0 = no limit",
     .otherwise = "0",
     .at_least = 0},
    kSeedOption,
    {.name = "search",
     .value = "NAME",
     .help = "strategy that says what is measured next; half of the choices go to the fastest unless told otherwise",
     .otherwise = "breadth:0.5",
     .choices = ChoicesOf<AllStrategies>},
    {.name = "proposer",
     .value = "NAME",
     .help = "whose space it is",
     .otherwise = "expert",
     .choices = ChoicesOf<AllProposers>},
    kModelsOption,
    kThreadsOption,
    kPythonOption,
    kStoreOption,
};

// A candidate is measured once and held against its neighbours, which lie far apart, so not for longer than this.
constexpr std::chrono::milliseconds kTiming{300};

void Report(VerbCall& call, const SearchProgress& progress) {
  if (progress.phase != SearchProgress::Phase::kTried || progress.replayed) return;
  std::string line = fmt::format("[{}/{}] best {} | {}: ", progress.attempt, progress.attempts_at_most,
                                 TimeText(progress.best_us), progress.last->proposal.origin);
  line += progress.last->accepted() ? TimeText(progress.last->time_us())
                                    : std::string(Name(progress.last->evaluation.verdict.outcome));
  call.Stage("");
  if (call.listener().live()) return call.Progress(line);
  call.Note(line);
}

nlohmann::json Document(const SpaceTable& table, const std::string& path) {
  std::size_t offered = 0, accepted = 0;
  double seconds = 0;
  for (const TableRound& round : table.rounds)
    offered += round.offers.size() + static_cast<std::size_t>(round.unmeasured);
  for (const TableCandidate& one : table.candidates) {
    accepted += one.outcome == Outcome::kAccepted ? 1 : 0;
    seconds += one.seconds;
  }
  return {{"table", path},
          {"problem", table.head.problem},
          {"candidates", table.candidates.size()},
          {"accepted", accepted},
          {"rounds", table.rounds.size()},
          {"offered", offered},
          {"best_us", table.best_us},
          {"seconds", seconds},
          {"stop", table.head.stop}};
}

Result<Answer> RunIt(VerbCall& call) {
  const auto begun = std::chrono::steady_clock::now();
  call.CatchInterrupts();
  const bool cuda = HONE_TRY(WantsCuda(call));
  const auto strategy = HONE_TRY(ChooseStrategy(call.Text("search")));
  const auto chosen = HONE_TRY(ChosenProposers::Parse(call.Text("proposer")));
  const std::atomic<bool>& interrupt = InterruptFlag();
  Workbench bench = HONE_TRY(OpenWorkbench(
      call, call.Text("problem"),
      {.python = call.Text("python"), .torch = false, .threads = static_cast<int>(call.Int("threads")), .cuda = cuda}));
  SearchSettings settings;
  settings.run.seed = static_cast<std::uint64_t>(call.Int("seed"));
  settings.run.search = strategy.Identity();
  settings.run.proposer = chosen.Identity();
  settings.budget = {.attempts = static_cast<int>(call.Int("budget")), .seconds = call.Real("time"), .headroom = -1};
  settings.evaluate.baselines.clear();
  settings.evaluate.bound_us = bench.bound.least_us;
  settings.evaluate.timing_budget = kTiming;
  settings.confirm_candidates = 0;

  Store store = HONE_TRY(Store::Open(StorePath(call)));
  const OpenedRun opened =
      HONE_TRY(OpenRun(store, WantedRun(bench, call.Text("target"), settings), ToJson(bench.problem)));
  call.Note(RunNote(opened.record.id, opened.resumed));
  const auto proposer =
      HONE_TRY(chosen.Make({.graph = bench.graph, .machine = bench.machine, .models = call.Text("models")}));

  SearchHooks hooks;
  hooks.interrupt = &interrupt;
  hooks.spent_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  hooks.progress = [&](const SearchProgress& progress) { Report(call, progress); };
  const SearchOutcome outcome =
      HONE_TRY(RunSearch(store, opened.record, *proposer, bench.evaluator(), settings, hooks));
  call.Stage("");
  SpaceTable table = HONE_TRY(TableOf(store, outcome.run, [&bench](const Proposal& proposal, const Attempt* from) {
    return LessonOf(proposal, from, bench.problem, bench.machine);
  }));
  table.head.processor = bench.machine.processor;
  const std::string path = call.Has("out") ? call.Text("out") : bench.problem.name + ".jsonl";
  nlohmann::json document = Document(table, path);
  const std::string text = fmt::format(
      "{}: {} of {} candidates that were offered are measured, {} of them accepted, in {:.0f} s; the fastest takes "
      "{}\n",
      path, document["candidates"].get<int>(), document["offered"].get<int>(), document["accepted"].get<int>(),
      document["seconds"].get<double>(), TimeText(table.best_us));
  const bool interrupted = outcome.stop.cause == Stop::Cause::kInterrupt;
  const ExitCode code = interrupted ? ExitCode::kInterrupted : table.best_us == 0 ? ExitCode::kNo : ExitCode::kDone;
  return AnswerWithFile(std::move(document), text, code, path, ToLines(table));
}

}  // namespace

HONE_ROW(Verb){
    .name = "record",
    .doc = "Measure a table of what a space holds, for searches over it without a device",
    .group = VerbGroup::kMachine,
    .place = 4,
    .help =
        "Tries what the proposer offers, from the start and from every attempt that was tried, up to the budget. The\n"
        "table says what was offered where, what came of it, how long it takes and how long trying it took. It is one\n"
        "run in the store, so the same command goes on where it was stopped, or further with a larger budget. What\n"
        "takes long is not compared with anything: a table is for comparing searches (docs/search.md).\n"
        "\n"
        "  hone record model.py --budget 100 -o model.jsonl\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "table (the file), problem, candidates (measured), accepted, rounds, offered (with what was offered twice),\n"
        "best_us (0 = none), seconds (that trying them took), stop (why it went no further), unwritten (why the table "
        "is not there)",
    .no = "nothing was accepted",
    .run = RunIt};

}  // namespace hone::verb_record
