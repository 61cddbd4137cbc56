// hone optimize: the loop, from a problem to the fastest candidate that was proved right.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/interrupt.h"
#include "command/code_index_option.h"
#include "command/command.h"
#include "command/flags.h"
#include "command/optimize_suite.h"
#include "command/outcome_text.h"
#include "command/run_note.h"
#include "command/run_options.h"
#include "command/run_session.h"
#include "command/start.h"
#include "command/store_words.h"
#include "command/target.h"
#include "command/workbench.h"
#include "propose/joint.h"
#include "propose/proposer.h"
#include "search/ahead.h"
#include "search/loop.h"
#include "search/past_winners.h"
#include "search/record.h"
#include "search/remember.h"
#include "search/run_ledger.h"
#include "search/search.h"
#include "store/store.h"

namespace hone::verb_optimize {
namespace {

constexpr Positional kPositionals[] = {{.name = "problem",
                                        .help = "a KernelBench-style .py file, or problem.json",
                                        .presence = Presence::kOptional,
                                        .reads = true}};
constexpr Option kOptions[] = {
    kTargetOption,
    {.name = "budget",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "attempts at most",
     .otherwise = "40",
     .at_least = 1},
    {.name = "time",
     .type = ValueType::kReal,
     .value = "S",
     .help =
         "seconds at most, for all of it, over all sessions of the run: importing and confirming, too, but not while "
         "another hone has the device, nor while this machine is measured, once; 0 = no limit; of a suite: what its "
         "sessions spend, devices and problems at a time together, and so many a problem if it is not given",
     .otherwise = "120",
     .at_least = 0},
    {.name = "joules",
     .type = ValueType::kReal,
     .value = "J",
     .help = "stop when judging and timing attempts has used so much of the device's energy, over all sessions; of a "
             "suite: of each problem (docs/energy.md; default: any amount)",
     .at_least = 0},
    {.name = "max-tokens",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "tokens, in and out, that language models may take over all sessions; of a suite: for all of its problems "
             "(default: any number)",
     .at_least = 1},
    {.name = "max-dollars",
     .type = ValueType::kReal,
     .value = "D",
     .help = "dollars that they may cost, by the prices of the models file (default: any amount)",
     .at_least = 0},
    {.name = "headroom",
     .type = ValueType::kReal,
     .value = "F",
     .help = "stop when the best time is within this fraction of the bound, less what data may spare of it; 0 = go on "
             "until it is there",
     .otherwise = "0.02",
     .at_least = 0},
    {.name = "idle",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "stop when so many attempts in a row were not 1 % faster than the best; 0 = go on",
     .otherwise = "0",
     .at_least = 0},
    kSeedOption,
    {.name = "search",
     .value = "NAME",
     .help = "strategy that says what is tried next; where others than the expert propose and it is not said, greedy",
     .otherwise = "steer",
     .choices = ChoicesOf<AllStrategies>},
    {.name = "proposer",
     .value = "NAME",
     .help =
         "who says what can be tried; several share a run, 'expert,team': who costs nothing is asked first, and the "
         "other one where the bound is far",
     .otherwise = "expert",
     .choices = ChoicesOf<AllProposers>},
    kModelsOption,
    {.name = "start",
     .value = "FILE",
     .help = "a kernel of yours that is tried first and is the one to beat: a program (.hk), C++ (.cc), CUDA C++ (.cu) "
             "or a plan (.json)",
     .reads = true},
    {.name = "prepare",
     .type = ValueType::kFlag,
     .help =
         "make the run, try --start if there is one, and ask nobody: `hone propose RUN -n N` does that, where there "
         "may be a network, and `hone evaluate RUN --pending` tries what it said (docs/machines.md)"},
    {.name = "tools",
     .value = "WHO",
     .help = "who says what the facts of an attempt mean: none, raw (the facts themselves), on (hone's rules), or a "
             "folder whose executables are asked, too (docs/tools.md). The expert acts on it, others are handed it; "
             "offered: a language model has to ask for it (default: hone's rules, and not for the expert)"},
    {.name = "profile",
     .value = "SET",
     .help = "what a CUDA device counts of each attempt that leads: none, triage or standard (docs/diagnosis.md); with "
             "--tools raw, on or a folder standard, else none"},
    kIndexOption,
    {.name = "memory",
     .value = "on|off",
     .help = "on: begin with what earlier runs of this store found out on this device (docs/memory.md)",
     .otherwise = "off"},
    {.name = "objective",
     .value = "MEASURE",
     .help = "what to make small: time; energy or edp (energy times time) of those that are hardly slower than the "
             "fastest, measured of the last few (docs/energy.md)",
     .otherwise = "time"},
    {.name = "slower",
     .type = ValueType::kReal,
     .value = "PERCENT",
     .help = "with --objective energy or edp: so much slower than the fastest the winner may be (default: 2)",
     .at_least = 0},
    {.name = "devices",
     .value = "UUIDS",
     .help = "cuda: all, or UUIDs with commas between them; each evaluates attempts of its own, and in a suite a "
             "problem of "
             "its own (default: one, the first that is free)"},
    {.name = "jobs",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "cuda: threads that compile ahead of the search; of a suite: for each device (default: all cores but two)",
     .at_least = 1},
    kThreadsOption,
    kPythonOption,
    {.name = "baseline",
     .value = "NAME",
     .help =
         "what to compare with, the first during the search, all at its end; may be repeated (default: those that "
         "are here of eager, compile, on cuda eager_tf32 and eager_graph, on cpu naive; also: compile_max_autotune, "
         "and FILE.py[:CLASS], a PyTorch module of yours)",
     .repeats = true},
    {.name = "no-torch",
     .type = ValueType::kFlag,
     .help = "do not time PyTorch: the baseline is the naive loop nest alone"},
    {.name = "confirm",
     .value = "all|fastest",
     .help = "what is measured again when all attempts of --budget are made: the fastest few, side by side; or, where "
             "a larger budget follows, the fastest alone, and that only where it is not confirmed yet",
     .otherwise = "all"},
    {.name = "certify",
     .type = ValueType::kFlag,
     .help = "the winner on a CUDA device goes through compute-sanitizer, too"},
    kStoreOption,
    {.name = "suite",
     .value = "PATH",
     .help = "many problems under one --time instead of one: a folder, or a file with a path a line (docs/search.md)",
     .reads = true},
    {.name = "only",
     .value = "NAMES",
     .help = "suite: problems whose names match, with commas between: 'level1/*,level2/1_*' (default: all)"},
    {.name = "helping",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "suite: attempts before another problem's turn; --budget is of each problem",
     .otherwise = "8",
     .at_least = 1},
    {.name = "csv", .value = "FILE", .help = "suite: write its rows here, too", .writes = true},
    {.name = "retry", .type = ValueType::kFlag, .help = "suite: try again what failed in an earlier session"},
    {.name = "executor",
     .value = "NAME",
     .help = "suite: local, or slurm: helpings are jobs of the Slurm that is here (docs/machines.md)",
     .otherwise = "local"},
    {.name = "at-once",
     .type = ValueType::kInteger,
     .value = "N",
     .help =
         "suite: so many problems at a time: jobs of Slurm (default: 16), or on this processor, each on cores of its "
         "own (default: 1), or on each CUDA device, which one at a time is measured on while others get ready "
         "(default: "
         "a quarter of the cores for it, 4 at most)",
     .at_least = 1},
    {.name = "partition", .value = "NAME", .help = "slurm: of the jobs (default: the cluster's)"},
    {.name = "gres", .value = "LIST", .help = "slurm: what each job needs: gpu:1, say"},
    {.name = "job-time", .value = "TIME", .help = "slurm: limit of a job, as sbatch --time takes it"},
    {.name = "sbatch", .value = "WORD", .help = "slurm: one more word for sbatch; may be repeated", .repeats = true},
    {.name = "shrink",
     .type = ValueType::kReal,
     .value = "MFLOP",
     .help = "suite: cut sizes of .py files, as hone import does (0: as they are)",
     .otherwise = "0",
     .at_least = 0},
};

constexpr std::string_view kPrepared = "the run is prepared, and its proposer is asked elsewhere";

// What a run with --memory on begins with.
std::string RecalledNote(const Recalled& recalled) {
  if (recalled.empty()) return "memory: nothing is known of this problem's kernels on this device";
  const std::size_t pieces = recalled.proven.size(), kinds = recalled.experience.kinds().size();
  return fmt::format("memory: {} piece{} that won, lessons of {} kind{} of change", pieces, pieces == 1 ? "" : "s",
                     kinds, kinds == 1 ? "" : "s");
}

// A run that is there, with nothing asked.
Answer Prepared(const RunSession& session, const SearchOutcome& outcome) {
  const int pending = Pending(outcome.tree);
  const std::string hone = ProgramAsTyped(), run = outcome.run.id;
  std::string text = fmt::format("run {} is prepared; {} proposals wait\n{}", run, pending, StartText(outcome));
  text += fmt::format(
      "  next     {0} propose {1} -n 8{2} asks its proposer, {0} evaluate {1} --pending{2} tries what it said\n", hone,
      run, StoreWords(session.store.path()));
  nlohmann::json document = {{"run", run},
                             {"problem", outcome.run.problem_name},
                             {"store", session.store.path()},
                             {"attempts", outcome.tree.attempts()},
                             {"pending", pending}};
  if (outcome.started) document["start"] = StartDocument(outcome);
  return Answer(document, text);
}

// The time was up before anything was judged.
Answer OutOfTime(VerbCall& call) {
  const std::string path = call.Text("problem"), stage = call.listener().stage();
  const std::string hone = ProgramAsTyped();
  std::string text = fmt::format("{}: nothing was judged within {:.0f} s; they ended at: {}\n", path, call.Real("time"),
                                 stage.empty() ? "getting ready" : stage);
  if (path.ends_with(".py")) {
    text += fmt::format(
        "  next     a smaller problem of the same operators: {0} import {1} --shrink 500 -o small.json; {0} optimize "
        "small.json\n",
        hone, path);
  }
  text += fmt::format("  next     more time: {} optimize {} --time {:.0f}{}\n", hone, path, 4 * call.Real("time"),
                      StoreWords(StorePath(call)));
  return Answer({{"run", nullptr},
                 {"problem", path},
                 {"attempts", 0},
                 {"best_attempt", 0},
                 {"stop", fmt::format("the {:.0f} s are spent", call.Real("time"))},
                 {"stage", stage}},
                text, ExitCode::kNo);
}

Result<Answer> Optimize(VerbCall& call, std::chrono::steady_clock::time_point begun, TimeLimit* limit) {
  const RunOptions options = HONE_TRY(ReadRunOptions(call));
  const bool cuda = options.cuda, memory = options.memory;
  const Objective& objective = options.objective;
  const Advisers& advisers = options.advisers;
  const bool energy = objective.NeedsEnergy() || call.Real("joules") > 0;
  std::optional<Proposal> start;
  if (call.Has("start")) start = HONE_TRY(LoadStart(call.Text("start"), cuda));
  Workbench bench = HONE_TRY(OpenWorkbench(call, call.Text("problem"),
                                           {.python = call.Text("python"),
                                            .torch = !call.Flag("no-torch"),
                                            .baselines = call.Texts("baseline"),
                                            .threads = static_cast<int>(call.Int("threads")),
                                            .cuda = cuda,
                                            .devices = call.Text("devices"),
                                            .jobs = call.Int("jobs") > 0 ? static_cast<int>(call.Int("jobs")) : -1,
                                            .flags = true,
                                            .at_once = energy,  // whether it can be measured is asked
                                            .limit = limit}));

  if (energy) {
    for (const auto& evaluator : bench.evaluators) {
      const std::string why = evaluator->WhyNoEnergy();
      if (why.empty()) continue;
      if (objective.NeedsEnergy()) {
        return Fail(ErrorKind::kUsage,
                    fmt::format("--objective {}: energy is not measured here, {}; use --objective time",
                                call.Text("objective"), why));
      }
      return Fail(ErrorKind::kUsage,
                  fmt::format("--joules {}: energy is not measured here, {}; use --time", call.Text("joules"), why));
    }
  }
  SearchSettings settings;
  settings.run.seed = static_cast<std::uint64_t>(call.Int("seed"));
  settings.run.search = options.strategy.Identity();
  settings.run.proposer = options.proposers.Identity();
  settings.run.objective = objective;
  settings.run.tools = advisers;
  settings.run.profile = options.profile;
  if (start) settings.run.start = start->candidate.Identity();
  settings.start = std::move(start);
  settings.run.memory = memory;
  if (!cuda) settings.run.threads = ThreadsOfRun(call);
  settings.budget = {.attempts = static_cast<int>(call.Int("budget")),
                     .seconds = call.Real("time"),
                     .headroom = call.Real("headroom"),
                     .idle = static_cast<int>(call.Int("idle")),
                     .joules = call.Real("joules"),
                     .tokens = call.Int("max-tokens"),
                     .dollars = call.Real("max-dollars")};
  settings.more_follows = options.more_follows;
  MeasureBy(bench, call.Flag("certify"), settings);

  const std::string store_path = StorePath(call);
  Store store = HONE_TRY(Store::Open(store_path));
  RunRecord wanted = WantedRun(bench, call.Text("target"), settings);
  wanted.flags = ToDocument(bench.flags).dump();
  const bool advised = advisers.expert_acts();
  if (advised) wanted.learned = ToJson(HONE_TRY(ReadLearned(store, wanted)));
  if (memory)
    wanted.recalled = ToJson(HONE_TRY(Recall(store, wanted, BeginningsOf(bench.graph, bench.machine), HONE_VERSION)));
  OpenedRun opened = HONE_TRY(OpenRun(store, wanted, ToJson(bench.problem)));
  // As it was when the run began: what others found out since changes none of its decisions.
  const Learned learned = HONE_TRY(ParseLearned(opened.record.learned));
  const Recalled recalled = HONE_TRY(ParseRecalled(opened.record.recalled));
  if (memory) call.Note(RecalledNote(recalled));
  const auto ledger = HONE_TRY(OpenLedger(store, opened.record.id, {settings.budget.tokens, settings.budget.dollars}));
  std::vector<PastWinner> winners;
  if (memory) winners = HONE_TRY(PastWinners(store, opened.record));
  std::unique_ptr<Proposer> proposer;
  if (call.Flag("prepare")) {
    proposer = std::make_unique<AskedElsewhere>(options.proposers.pace(), std::string(kPrepared));
  } else {
    auto made = options.proposers.Make({.graph = bench.graph,
                                        .machine = bench.machine,
                                        .learned = advised ? &learned : nullptr,
                                        .recalled = memory ? &recalled : nullptr,
                                        .saving = objective.NeedsEnergy() ? Saving::kEnergy : Saving::kTime,
                                        .models = call.Text("models"),
                                        .ledger = ledger.get(),
                                        .advisers = advisers,
                                        .index = options.index,
                                        .winners = std::move(winners)});
    // Of a run that is refused before anything was asked or tried nothing is left.
    if (!made && !opened.resumed) HONE_TRY(store.DeleteRun(opened.record.id));
    proposer = HONE_TRY(std::move(made));
  }
  call.Note(RunNote(opened.record.id, opened.resumed));

  const double others_s = bench.measuring_s + (bench.devices ? bench.devices->waited_s() : 0);
  const RunSession session{
      .bench = bench,
      .store = store,
      .opened = opened,
      .proposer = *proposer,
      .ledger = *ledger,
      .settings = settings,
      .spent_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() - others_s};
  const SearchOutcome outcome = HONE_TRY(SearchIn(call, session));
  return call.Flag("prepare") ? Prepared(session, outcome) : AnswerOf(session, outcome);
}

Result<Answer> RunIt(VerbCall& call) {
  const auto begun = std::chrono::steady_clock::now();
  for (const char* name : {"partition", "gres", "job-time", "sbatch"}) {
    if (call.Has(name) && call.Text("executor") != "slurm")
      return Fail(ErrorKind::kUsage, fmt::format("--{} is of --executor slurm", name));
  }
  for (const char* name : {"only", "helping", "csv", "retry", "shrink", "executor", "at-once"}) {
    if (call.Has(name) && !call.Has("suite")) return Fail(ErrorKind::kUsage, fmt::format("--{} is of --suite", name));
  }
  for (const char* name : {"start", "prepare", "confirm"}) {
    if (call.Has(name) && call.Has("suite"))
      return Fail(ErrorKind::kUsage, fmt::format("--{} is of one problem, not of --suite", name));
  }
  if (call.Has("suite") == call.Has("problem"))
    return Fail(ErrorKind::kUsage, "hone optimize takes one problem, or --suite with many");
  call.CatchInterrupts();
  if (call.Has("suite")) return OptimizeSuite(call, kOptions);
  std::optional<TimeLimit> limit;
  if (call.Real("time") > 0) limit.emplace(std::chrono::duration<double>(call.Real("time")));
  auto answer = Optimize(call, begun, limit ? &*limit : nullptr);
  if (!answer && InterruptCause() == Interrupt::kTimeIsUp) return OutOfTime(call);
  return answer;
}

}  // namespace

HONE_ROW(Verb){
    .name = "optimize",
    .doc = "Make a problem faster: propose, compile, judge, time, search",
    .group = VerbGroup::kRuns,
    .place = 1,
    .help =
        "Imports the problem, lets a proposer say what to try, judges each kernel in a sandbox against\n"
        "an oracle in double precision, times what is right beside the baseline, and searches on until\n"
        "the budget is spent or the time is at the bound. The winner is confirmed on fresh inputs.\n"
        "Every proposal and attempt is kept: the same command goes on where it was stopped, and asks nothing again.\n"
        "\n"
        "  hone optimize model.py\n"
        "  hone optimize p.json --budget 100 --time 300 --search epsilon:0.2 --seed 7\n"
        "  hone optimize p.json --tools on\n"
        "  hone optimize p.json --start mine.hk\n"
        "  hone optimize p.json --memory on\n"
        "  hone optimize model.py --target cuda --objective energy --slower 2 --time 300\n"
        "  hone optimize p.json --proposer replay:rounds.jsonl\n"
        "  hone optimize p.json --proposer mailbox:box   (docs/agents.md)\n"
        "  hone optimize p.json --proposer model:coder   (docs/models.md)\n"
        "  hone optimize p.json --proposer team --max-dollars 5\n"
        "  hone optimize --suite KernelBench/level1 --time 3600 --csv level1.csv\n"
        "  hone optimize --suite KernelBench --target cuda --devices all --time 36000\n"
        "  hone optimize --suite KernelBench/level1 --target cuda --executor slurm --gres gpu:1\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "run, problem, target, machine, store, attempts, replayed (taken from the store), pending (proposals that wait "
        "to be tried), search_s (of\n"
        "this session), own_s (of it, what neither evaluations nor proposers took: choosing, recording), look_s (of "
        "that, finding out why attempts take as long as they do), joules (that judging and "
        "timing attempts used, over all sessions; where the device counts), lanes (attempts in flight at "
        "a time), stop (why), stop_cause "
        "(budget, limit, nothing-left, interrupt, withheld), bound_us,\n"
        "bound_limited_by, best_attempt (0 = none), confirmed, unmeasured[] (baselines that there was no time for), "
        "faster (than the first baseline, confirmed), loop_nest\n"
        "(the best is the naive one), flags[] (as of `hone graph`), caught[] (name, sentence: docs/evaluation.md), "
        "best (an evaluation as in docs/evaluation.md, "
        "with\n"
        "kind and source of the candidate), spent (where language models were asked: as of `hone show`), start (of "
        "--start: origin, outcome, reason where it is "
        "refused, start_us, best_us, speedup of the best over it, confirmed: both were measured again, faster), device "
        "(of cuda, seconds of this session: waited_s for others, held_s, evaluating_s of these), compilers (of cuda: "
        "threads that compile ahead, busy_s and of_s of all of them "
        "together), headline "
        "(baseline and speedup over the first one), honest (the same over\n"
        "the fastest of all that were measured); neither is there where the measurement was disturbed. With --suite: "
        "suite, store, ledger, problems, solved, faster "
        "(so many of them), seconds, search_s and own_s (of this session, of all its helpings together), device (of "
        "cuda, this session: devices, wall_s of all of them together, held_s, "
        "evaluating_s), compilers (likewise: busy_s, of_s), stop, complete (each has a row), signature, helpings[] (in "
        "turn): problem, "
        "attempts, "
        "before_us, best_us, seconds; groups[]: group, problems, solved, "
        "over "
        "(of each baseline, and of the fastest: geomean, problems, slower); rows[]: name, group, run, attempts, "
        "helpings, "
        "seconds, solved, faster, best_us, bound_us, speedups, honest, allclose, kernels (statements by family), "
        "flags[], failure, no_ratio (why one is not known), kind; unwritten (why there is no --csv); made: command, "
        "suite, seed, budget, "
        "helping, target, machine, device (of cuda), made by",
    .no =
        "nothing was accepted, nothing was shown to be faster than the baseline and than --start, or there was no time "
        "to confirm it; "
        "of a suite: that holds for one of its problems, or one could not be had",
    .run = RunIt};

}  // namespace hone::verb_optimize
