#include "command/live_arms.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "base/date.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/process.h"
#include "command/code_index_option.h"
#include "command/run_session.h"
#include "command/target.h"
#include "command/workbench.h"
#include "diagnose/insight.h"
#include "model/ledger.h"
#include "propose/joint.h"
#include "propose/lookup.h"
#include "propose/recalled.h"
#include "search/loop.h"
#include "search/measured.h"
#include "search/remember.h"
#include "store/store.h"

namespace hone {
namespace {

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What was measured of it before, or an empty table of it.
Result<SpaceTable> KeptTable(const std::string& path, const TableHead& head) {
  if (path.empty() || !std::filesystem::exists(path)) return SpaceTable{.head = head};
  SpaceTable table = HONE_TRY(ReadTable(HONE_TRY(ReadFile(path)), path, Rounds::kOptional));
  const TableHead& was = table.head;
  if (was.problem != head.problem || was.target != head.target)
    return Fail(ErrorKind::kUsage,
                fmt::format("{} is of {} for {}, not of {} for {}; name another folder with --measured", path,
                            was.problem, was.target, head.problem, head.target));
  if (was.machine != head.machine)
    return Fail(ErrorKind::kUsage,
                fmt::format("{} was measured on another machine than this one, with {}; name another "
                            "folder with --measured",
                            path, was.processor));
  return table;
}

// What each memory says of this problem.
Result<std::map<std::string, Recalled>> RecallAll(VerbCall& call, const Workbench& bench, const Memories& memories) {
  std::map<std::string, Recalled> known;
  if (memories.empty()) return known;
  const Beginnings beginnings = BeginningsOf(bench.graph, bench.machine);
  RunRecord run;
  run.target = call.Text("target");
  run.machine = bench.machine.id;
  for (const auto& [word, memory] : memories) {
    Store store = HONE_TRY(Store::Open(":memory:"));
    HONE_TRY(store.PutMemory(memory.proven, memory.lessons));
    known[word] = HONE_TRY(Recall(store, run, beginnings, HONE_VERSION));
  }
  return known;
}

// One search as `hone optimize` makes it, but for baselines, confirmation, and what was learned in earlier runs of
// rules' promises. Nothing of it is kept but what was measured: what a language model answered it is asked again for
// the next seed. `recalled`: what the arm begins with, or null.
Result<Trace> SearchOnce(VerbCall& call, Workbench& bench, const Arm& arm, std::uint64_t seed, MeasuredOnce& device,
                         const SpaceTable& table, const Recalled* recalled) {
  const auto chosen = HONE_TRY(ChosenProposers::Parse(arm.proposer));
  SearchSettings settings;
  MeasureBy(bench, false, settings);
  settings.run = {.seed = seed, .search = arm.search, .proposer = chosen.Identity(), .tools = arm.tools};
  settings.run.memory = recalled != nullptr;
  settings.budget = arm.budget;
  settings.evaluate.baselines.clear();
  settings.confirm_candidates = 0;
  Store store = HONE_TRY(Store::Open(":memory:"));
  RunRecord wanted = WantedRun(bench, table.head.target, settings);
  if (recalled != nullptr) wanted.recalled = ToJson(*recalled);
  OpenedRun opened = HONE_TRY(OpenRun(store, wanted, ToJson(bench.problem)));
  const Learned learned;
  Ledger ledger({settings.budget.tokens, settings.budget.dollars});
  const bool looks_up = chosen.Take(kLookupTokens.name);
  const auto proposer = HONE_TRY(chosen.Make({.graph = bench.graph,
                                              .machine = bench.machine,
                                              .learned = arm.tools.expert_acts() ? &learned : nullptr,
                                              .recalled = recalled,
                                              .models = call.Text("models"),
                                              .ledger = &ledger,
                                              .advisers = arm.tools,
                                              .index = looks_up ? HONE_TRY(IndexFor(call, chosen)) : ""}));
  device.SetSeed(seed);
  Trace trace;
  const auto time_us = [&table, known = std::map<std::string, double>()](const Attempt& attempt) mutable {
    for (std::size_t i = known.size(); i < table.candidates.size(); ++i)
      known[table.candidates[i].name] = table.candidates[i].warm_us;
    return known[TableName(attempt.proposal.candidate)];
  };
  SearchHooks hooks =
      TraceInto(trace, [&device, began_s = device.Seconds()] { return device.Seconds() - began_s; }, time_us);
  hooks.interrupt = &InterruptFlag();
  const InsightSetting looked{bench.problem, &bench.graph, bench.machine, OwnPath(), arm.tools};
  hooks.note = [&call](const std::string& line) { call.Note(line); };
  if (arm.tools.expert_acts() || arm.proposer != kUsualProposer) {
    hooks.look = [&looked](const Attempt& attempt) {
      return LookAt(attempt.proposal.candidate, attempt.time_us(), looked);
    };
  }
  if (recalled != nullptr && bench.machine.kind == DeviceKind::kCuda) hooks.doubt = DoubtByBuild(looked);
  const SearchOutcome outcome =
      HONE_TRY(RunSearch(store, std::move(opened.record), *proposer, device, settings, hooks));
  trace.stop = outcome.stop.reason;
  trace.tokens = ledger.Total().tokens();
  trace.dollars = ledger.Total().dollars;
  if (outcome.stop.cause == Stop::Cause::kInterrupt) return Fail(ErrorKind::kInterrupted, "interrupted");
  return trace;
}

}  // namespace

Result<ProblemTraces> SearchLive(VerbCall& call, const std::string& file, const std::vector<Arm>& arms,
                                 const Memories& memories, const std::function<void(const ProblemTraces&)>& after) {
  call.CatchInterrupts();
  const bool cuda = HONE_TRY(WantsCuda(call));
  Workbench bench = HONE_TRY(OpenWorkbench(call, file,
                                           {.python = call.Text("python"),
                                            .torch = false,
                                            .threads = static_cast<int>(call.Int("threads")),
                                            .cuda = cuda,
                                            .jobs = cuda ? -1 : 0}));
  const std::string path =
      call.Has("measured") ? fmt::format("{}/{}.jsonl", call.Text("measured"), bench.problem.name) : std::string();
  SpaceTable table = HONE_TRY(KeptTable(path, {.problem = bench.problem.name,
                                               .target = call.Text("target"),
                                               .machine = bench.machine.id,
                                               .processor = bench.machine.processor,
                                               .proposer = "several",
                                               .search = "several",
                                               .recorded = Today(),
                                               .stop = "no round was kept",
                                               .bound_us = bench.bound.us}));
  const auto known = HONE_TRY(RecallAll(call, bench, memories));
  MeasuredOnce device(bench.evaluator(), table, SteadySeconds);
  const auto problem_of = [&](std::vector<std::vector<Trace>> traces) {
    ProblemTraces problem{.problem = bench.problem.name, .best_us = 0, .traces = std::move(traces)};
    for (const TableCandidate& one : table.candidates) {
      if (one.warm_us > 0 && (problem.best_us == 0 || one.warm_us < problem.best_us)) problem.best_us = one.warm_us;
    }
    return problem;
  };
  const auto search = [&](const Arm& arm, std::uint64_t seed) {
    call.Note(fmt::format("{}: {}, seed {}", bench.problem.name, arm.words, seed));
    const auto recalled = known.find(arm.memory);
    return SearchOnce(call, bench, arm, seed, device, table, recalled == known.end() ? nullptr : &recalled->second);
  };
  auto traces = EachInTurn(arms, call.Int("seeds"), search, [&](const auto& so_far) { after(problem_of(so_far)); });
  if (!path.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(call.Text("measured"), failed);
    HONE_TRY(WriteFileAtomically(path, ToLines(table)));
  }
  ProblemTraces problem = problem_of(HONE_TRY(std::move(traces)));
  if (problem.best_us <= 0)
    return Fail(ErrorKind::kUsage, fmt::format("{}: no search found anything that was accepted", file));
  return problem;
}

}  // namespace hone
