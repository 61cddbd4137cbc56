// hone optimize: the loop, from a problem to the fastest candidate that was proved right.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/interrupt.h"
#include "base/process.h"
#include "command/command.h"
#include "command/evaluation_text.h"
#include "command/flags.h"
#include "command/run_note.h"
#include "command/target.h"
#include "command/workbench.h"
#include "diagnose/insight.h"
#include "propose/expert/expert.h"
#include "propose/proposer.h"
#include "search/loop.h"
#include "search/record.h"
#include "search/search.h"
#include "store/store.h"

namespace hone {
namespace {

using Json = nlohmann::json;

constexpr Positional kPositionals[] = {
    {.name = "problem", .help = "a KernelBench-style .py file, or problem.json", .reads = true}};
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
     .help = "seconds at most, for all of it: importing and confirming, too; 0 = no limit",
     .otherwise = "120",
     .at_least = 0},
    {.name = "headroom",
     .type = ValueType::kReal,
     .value = "F",
     .help = "stop when the best time is within this fraction of the bound",
     .otherwise = "0.02"},
    {.name = "idle",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "stop when so many attempts in a row were not 1 % faster than the best; 0 = go on",
     .otherwise = "0",
     .at_least = 0},
    kSeedOption,
    {.name = "search",
     .value = "NAME",
     .help = "strategy that says what is tried next",
     .otherwise = "greedy",
     .choices = ChoicesOf<AllStrategies>},
    {.name = "proposer",
     .value = "NAME",
     .help = "who says what can be tried",
     .otherwise = "expert",
     .choices = ChoicesOf<AllProposers>},
    {.name = "tools", .value = "WHO", .help = kAdvisersHelp, .otherwise = "none"},
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
     .help =
         "cuda: all, or UUIDs with commas between them; each evaluates attempts of its own (default: one, the first "
         "that is free)"},
    {.name = "jobs",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "cuda: threads that compile ahead of the search (default: all cores but two)",
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
    {.name = "certify",
     .type = ValueType::kFlag,
     .help = "the winner on a CUDA device goes through compute-sanitizer, too"},
    kStoreOption,
};

constexpr double kSlower = 0.02;  // more than two timings of one kernel differ, less than anybody waits for

std::string Microseconds(double us) {
  if (us >= 1e6) return fmt::format("{:.3g} s", us / 1e6);
  if (us >= 1e3) return fmt::format("{:.3g} ms", us / 1e3);
  return fmt::format("{:.3g} us", us);
}

// One line after each attempt on a plain stream; a line that is redrawn on a terminal.
void Report(VerbCall& call, const SearchProgress& progress) {
  if (progress.phase == SearchProgress::Phase::kConfirming) {
    return call.Progress(fmt::format("confirming attempt {} on fresh inputs, beside all baselines", progress.attempt));
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
  if (progress.eta_s >= 0) line += fmt::format(", at most {:.0f} s more", progress.eta_s);
  if (const Attempt* last = progress.last) {
    line += fmt::format(" | {}", last->proposal.origin);
    if (progress.phase == SearchProgress::Phase::kTried) {
      line += last->accepted()
                  ? fmt::format(": {}", last->time_us() > 0 ? Microseconds(last->time_us()) : "accepted")
                  : fmt::format(": {}: {}", Name(last->evaluation.verdict.outcome), last->evaluation.verdict.reason);
    }
  }
  if (progress.phase == SearchProgress::Phase::kTried) call.Stage("");
  if (progress.phase == SearchProgress::Phase::kTried && !call.listener().live()) return call.Note(line);
  if (call.listener().live()) call.Progress(line);
}

// The evaluation that speaks for the run: the winner's confirmation if there is one, else its own.
const Evaluation* Winning(const SearchOutcome& outcome) {
  for (auto it = outcome.confirmed.rbegin(); it != outcome.confirmed.rend(); ++it) {
    if (it->attempt == outcome.run.best_attempt) return &it->evaluation;
  }
  return outcome.run.best_attempt > 0 ? &outcome.tree.node(outcome.run.best_attempt).attempt.evaluation : nullptr;
}

// The nest that the definitions are, which stands in where no kernel of hone's computes the problem.
bool IsLoopNest(const SearchOutcome& outcome) {
  return outcome.run.best_attempt > 0 &&
         outcome.tree.node(outcome.run.best_attempt).attempt.proposal.key == kLoopNestKey;
}

// Whether the winner is one: measured again, and faster than the baseline that speed-ups are over. Where there is none
// (--no-torch on a device) there is nothing to be faster than.
bool IsWin(const SearchOutcome& outcome) {
  const Evaluation* best = Winning(outcome);
  if (!best || !outcome.winner_confirmed || !best->verdict.accepted() || !best->timing) return false;
  const auto& against = best->timing->against;
  return against.empty() ? outcome.run.baselines == "{}" : against[0].Faster();
}

Json Document(const SearchOutcome& outcome, const Bound& bound, const DeviceModel& machine, const std::string& store,
              std::size_t lanes) {
  const bool cuda = machine.kind == DeviceKind::kCuda;
  Json document = {{"run", outcome.run.id},
                   {"problem", outcome.run.problem_name},
                   {"target", outcome.run.target},
                   {"machine",
                    {{"id", machine.id},
                     {"processor", machine.processor},
                     {cuda ? "multiprocessors" : "threads", cuda ? machine.multiprocessors : machine.threads}}},
                   {"store", store},
                   {"attempts", outcome.tree.attempts()},
                   {"replayed", outcome.replayed},
                   {"search_s", outcome.search_s},
                   {"look_s", outcome.look_s},
                   {"lanes", lanes},
                   {"stop", outcome.stop.reason},
                   {"bound_us", bound.us},
                   {"bound_limited_by", bound.limited_by},
                   {"best_attempt", outcome.run.best_attempt},
                   {"confirmed", outcome.winner_confirmed},
                   {"faster", IsWin(outcome)},
                   {"loop_nest", IsLoopNest(outcome)},
                   {"flags", FlagsOfRun(outcome.run.flags)}};
  if (const Evaluation* best = Winning(outcome)) {
    document["best"] = ToJson(*best);
    if (best->timing && !best->timing->against.empty()) {
      const Comparison& headline = best->timing->against.front();
      if (headline.speedup) document["headline"] = {{"baseline", headline.baseline}, {"speedup", *headline.speedup}};
      if (const Comparison* honest = best->timing->OverBest())
        document["honest"] = {{"baseline", honest->baseline}, {"speedup", *honest->speedup}};
    }
    const Candidate& candidate = outcome.tree.node(outcome.run.best_attempt).attempt.proposal.candidate;
    document["best"]["kind"] = Name(candidate.kind);
    document["best"]["source"] = candidate.text;
  }
  return document;
}

// What the winner takes, beside the fastest of the finalists.
std::string EnergyText(const SearchOutcome& outcome, const Objective& objective) {
  if (!objective.NeedsEnergy()) return "";
  const Evaluation* best = Winning(outcome);
  const Energy* energy = best && best->timing && best->timing->energy ? &*best->timing->energy : nullptr;
  if (energy == nullptr) return "  energy   not measured, so the fastest stands for the best\n";
  std::string text = fmt::format("  energy   {}\n", EnergyWords(*energy));
  const Confirmed* fastest = nullptr;
  for (const Confirmed& one : outcome.confirmed) {
    if (!one.evaluation.timing || !one.evaluation.timing->energy) continue;
    if (fastest == nullptr || one.evaluation.timing->LikelyUs() < fastest->evaluation.timing->LikelyUs())
      fastest = &one;
  }
  if (fastest != nullptr && fastest->attempt != outcome.run.best_attempt) {
    const Timing& other = *fastest->evaluation.timing;
    text += fmt::format("  saved    {:.1f} % of attempt {}, the fastest, at {} a call; for {:.1f} % more time\n",
                        100 * (1 - energy->joules / other.energy->joules), fastest->attempt,
                        JoulesText(other.energy->joules), 100 * (best->timing->LikelyUs() / other.LikelyUs() - 1));
  } else {
    text += fmt::format("  saved    nothing: none of {} finalists takes less\n", outcome.confirmed.size());
  }
  return text + fmt::format("  sensor   {}\n", energy->sensor);
}

std::string TimingText(const SearchOutcome& outcome, const Timing& timing, const Bound& bound) {
  std::string text = fmt::format(
      "  best     attempt {}: {} warm, {} cold{}{}\n", outcome.run.best_attempt, Microseconds(timing.warm.median_us),
      Microseconds(timing.cold.median_us),
      bound.us > 0 ? fmt::format("; {:.0f} % of the bound's speed{}", 100 * bound.us / timing.warm.median_us,
                                 bound.sure_us < bound.us ? ", which is lower where data spare reads" : "")
                   : "",
      timing.launched == "graph" ? "; as one CUDA graph" : "");
  for (const Comparison& one : timing.against) {
    const std::string there = Microseconds(one.baseline_warm.median_us);
    text += fmt::format("  speed    {} at {}{}\n",
                        one.speedup ? SpeedWords(*one.speedup, one.baseline) : "no ratio to " + one.baseline, there,
                        ComparisonText(timing, one));
  }
  if (const Comparison* fastest = timing.OverBest(); fastest && timing.against.size() > 1) {
    text += fmt::format("  overall  the fastest baseline is {}{}: {}\n", fastest->baseline,
                        fastest->baseline == "eager_tf32" ? ", in TF32 where it multiplies" : "",
                        SpeedWords(*fastest->speedup, "it"));
  }
  return text;
}

// What there is instead of a win, and why.
std::string NoWinText(const SearchOutcome& outcome) {
  std::string text;
  const Evaluation* best = Winning(outcome);
  if (!outcome.winner_confirmed) {
    text +=
        fmt::format("  result   not confirmed on fresh inputs ({}); the same command does that\n", outcome.stop.reason);
  } else if (best && best->timing && !best->timing->against.empty()) {
    const Comparison& first = best->timing->against[0];
    if (!first.speedup) {
      text += fmt::format("  result   nothing was shown to be faster than {}: {}\n", first.baseline,
                          first.wrong.empty() ? first.disturbed : first.WhyNoRatio());
    } else if (*first.speedup > 1 && first.interval) {
      text += fmt::format("  result   perhaps nothing faster than {}: the best has {:.2f}x to {:.2f}x its speed\n",
                          first.baseline, first.interval->low, first.interval->high);
    } else {
      text += fmt::format("  result   nothing faster than {} was found: the best is {}\n", first.baseline,
                          SpeedWords(*first.speedup, "it"));
    }
  }
  if (!IsLoopNest(outcome)) return text;
  return text + fmt::format(
                    "  why      the best is the naive loop nest: hone has no kernel for this problem's operators on "
                    "--target {}\n",
                    outcome.run.target);
}

std::string Text(const SearchOutcome& outcome, const Bound& bound, const DeviceModel& machine,
                 const Objective& objective) {
  std::string text = fmt::format("{} on {} ({})\n", outcome.run.problem_name, machine.processor, WidthOf(machine));
  text += bound.us > 0 ? fmt::format("  bound    {}: {}\n", Microseconds(bound.us), bound.limited_by)
                       : fmt::format("  bound    {}\n", bound.why);
  for (const auto& flag : FlagsOfRun(outcome.run.flags)) {
    text += fmt::format("  flagged  {}; times and speed-ups say little\n", flag.value("sentence", ""));
  }
  const int tried = outcome.tree.attempts() - outcome.replayed;
  const std::string rate = tried > 1 && outcome.search_s > 0
                               ? fmt::format(" ({:.0f} a minute)", 60 * tried / outcome.search_s)
                               : std::string();
  text +=
      fmt::format("  search   {} attempts{}, then stopped: {}\n", outcome.tree.attempts(), rate, outcome.stop.reason);
  const std::string hone = ProgramAsTyped();
  const Evaluation* best = Winning(outcome);
  if (!best) {
    return text + fmt::format("  best     none: no attempt was accepted\n  next     {} show {}, which says why\n", hone,
                              outcome.run.id);
  }
  if (best->timing) text += TimingText(outcome, *best->timing, bound);
  text += EnergyText(outcome, objective);
  const Verdict& verdict = best->verdict;
  text += fmt::format("  proof    {}{}; held by {}\n", Name(verdict.outcome),
                      outcome.winner_confirmed ? " twice, the second time on fresh inputs" : " once", best->sandbox);
  text += fmt::format("  error    at most {:.2f} of its budget, {}\n", verdict.error_over_budget,
                      verdict.bit_reproducible ? "same bits each time" : "not the same bits each time");
  for (const auto& note : best->notes) text += fmt::format("  note     {}\n", note);
  for (const auto& line : best->certificate) text += fmt::format("  certified {}\n", line);
  if (IsWin(outcome))
    return text + fmt::format("  next     {0} show {1} best; {0} export {1} -o DIR\n", hone, outcome.run.id);
  return text + NoWinText(outcome) + fmt::format("  next     {} show {} best\n", hone, outcome.run.id);
}

// The time was up before anything was judged.
Answer OutOfTime(VerbCall& call) {
  const std::string path = call.Text("problem"), stage = call.listener().stage();
  const std::string hone = ProgramAsTyped();
  std::string text = fmt::format("{}: nothing was judged within {:.0f} s; they ended at: {}\n", path, call.Real("time"),
                                 stage.empty() ? "getting ready" : stage);
  if (stage == kMeasuring) {
    text += fmt::format("  next     measure this machine without a limit, once: {} calibrate\n", hone);
  } else if (path.ends_with(".py")) {
    text += fmt::format(
        "  next     a smaller problem of the same operators: {0} import {1} --shrink 500 -o small.json; {0} optimize "
        "small.json\n",
        hone, path);
  }
  text += fmt::format("  next     more time: {} optimize {} --time {:.0f}\n", hone, path, 4 * call.Real("time"));
  return Answer({{"run", nullptr},
                 {"problem", path},
                 {"attempts", 0},
                 {"best_attempt", 0},
                 {"stop", fmt::format("the {:.0f} s are spent", call.Real("time"))},
                 {"stage", stage}},
                text, ExitCode::kNo);
}

Result<Objective> ObjectiveOf(VerbCall& call) {
  const std::string measure = call.Text("objective");
  if (!call.Has("slower")) return Objective::Choose(measure, kSlower);
  if (measure == Name(Measure::kTime))
    return Fail(ErrorKind::kUsage, "--slower is of --objective energy and edp: of time the fastest wins");
  const double percent = call.Real("slower");
  if (percent > 100) return Fail(ErrorKind::kUsage, fmt::format("--slower {}: it is a percentage up to 100", percent));
  return Objective::Choose(measure, percent / 100);
}

Result<Answer> Optimize(VerbCall& call, std::chrono::steady_clock::time_point begun) {
  const bool cuda = HONE_TRY(WantsCuda(call));
  for (const char* name : {"devices", "jobs"}) {
    const bool given = name == std::string_view("jobs") ? call.Int(name) > 0 : !call.Text(name).empty();
    if (given && !cuda) return Fail(ErrorKind::kUsage, fmt::format("--{} is of --target cuda", name));
  }
  const auto strategy = HONE_TRY(ChooseStrategy(call.Text("search")));
  const auto chosen = HONE_TRY(ChooseProposer(call.Text("proposer")));
  const Objective objective = HONE_TRY(ObjectiveOf(call));
  const Advisers advisers = HONE_TRY(Advisers::Parse(call.Text("tools")));
  const std::atomic<bool>& interrupt = InterruptFlag();
  Workbench bench = HONE_TRY(OpenWorkbench(call, call.Text("problem"),
                                           {.python = call.Text("python"),
                                            .torch = !call.Flag("no-torch"),
                                            .baselines = call.Texts("baseline"),
                                            .threads = static_cast<int>(call.Int("threads")),
                                            .cuda = cuda,
                                            .devices = call.Text("devices"),
                                            .jobs = call.Int("jobs") > 0 ? static_cast<int>(call.Int("jobs")) : -1,
                                            .interrupt = &interrupt}));

  if (objective.NeedsEnergy()) {
    for (const auto& evaluator : bench.evaluators) {
      if (const std::string why = evaluator->WhyNoEnergy(); !why.empty()) {
        return Fail(ErrorKind::kUsage,
                    fmt::format("--objective {}: energy is not measured here, {}; use --objective time",
                                call.Text("objective"), why));
      }
    }
  }
  SearchSettings settings;
  settings.run.seed = static_cast<std::uint64_t>(call.Int("seed"));
  settings.run.search = strategy.Identity();
  settings.run.proposer = chosen.Identity();
  settings.run.objective = objective;
  settings.run.tools = advisers;
  settings.budget = {.attempts = static_cast<int>(call.Int("budget")),
                     .seconds = call.Real("time"),
                     .headroom = call.Real("headroom"),
                     .idle = static_cast<int>(call.Int("idle"))};
  settings.run.lanes = static_cast<int>(bench.evaluators.size());
  // On a device samples scatter little, and an attempt's check takes less than the default would.
  if (cuda) settings.evaluate.timing_budget = std::chrono::milliseconds(300);
  settings.evaluate.baselines.clear();
  if (!bench.baselines.empty()) settings.evaluate.baselines = {bench.baselines.front()};
  settings.evaluate.bound_us = bench.bound.least_us;
  settings.confirm.baselines = bench.baselines;
  settings.confirm.in_turn = settings.evaluate.baselines;
  settings.confirm.bound_us = bench.bound.least_us;
  settings.confirm.certify = call.Flag("certify");

  const std::string store_path = StorePath(call);
  Store store = HONE_TRY(Store::Open(store_path));
  RunRecord wanted;
  wanted.problem_name = bench.problem.name;
  wanted.problem_identity = Identity(bench.problem);
  wanted.target = call.Text("target");
  wanted.machine = bench.machine.id;
  wanted.settings = ToJson(settings.run);
  wanted.budget = ToJson(settings.budget);
  wanted.bound_us = bench.bound.sure_us;
  wanted.baselines = "{}";
  wanted.flags = ToDocument(Analyze(bench.graph)).dump();
  const bool advised = advisers.kind != Advisers::Kind::kNone;
  if (advised) wanted.learned = ToJson(HONE_TRY(ReadLearned(store, wanted)));
  const OpenedRun opened = HONE_TRY(OpenRun(store, wanted, ToJson(bench.problem)));
  // As it was when the run began: what others found out since changes none of its decisions.
  const Learned learned = HONE_TRY(ParseLearned(opened.record.learned));
  const auto proposer = HONE_TRY(chosen.row->make({.graph = bench.graph,
                                                   .machine = bench.machine,
                                                   .parameters = chosen.parameters,
                                                   .learned = advised ? &learned : nullptr}));
  call.Note(RunNote(opened.record.id, opened.resumed));

  SearchHooks hooks;
  hooks.interrupt = &interrupt;
  hooks.spent_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  const InsightSetting looked{bench.problem, &bench.graph, bench.machine, OwnPath(), advisers};
  hooks.look = [&looked](const Attempt& attempt) {
    return LookAt(attempt.proposal.candidate, attempt.time_us(), looked);
  };
  hooks.progress = [&](const SearchProgress& progress) { Report(call, progress); };
  std::vector<Evaluator*> evaluators;
  for (const auto& evaluator : bench.evaluators) evaluators.push_back(evaluator.get());
  const SearchOutcome outcome = HONE_TRY(RunSearch(store, opened.record, *proposer, evaluators, settings, hooks));
  call.Stage("");
  if (interrupt && outcome.tree.attempts() == 0) {
    if (!opened.resumed) HONE_TRY(store.DeleteRun(outcome.run.id));
    return Fail(ErrorKind::kInterrupted, "interrupted");
  }

  const ExitCode code = outcome.stop.cause == Stop::Cause::kInterrupt ? ExitCode::kInterrupted
                        : IsWin(outcome)                              ? ExitCode::kDone
                                                                      : ExitCode::kNo;
  return Answer(Document(outcome, bench.bound, bench.machine, store_path, bench.evaluators.size()),
                Text(outcome, bench.bound, bench.machine, objective), code);
}

Result<Answer> RunIt(VerbCall& call) {
  const auto begun = std::chrono::steady_clock::now();
  call.CatchInterrupts();
  std::optional<TimeLimit> limit;
  if (call.Real("time") > 0) limit.emplace(std::chrono::duration<double>(call.Real("time")));
  auto answer = Optimize(call, begun);
  if (!answer && InterruptCause() == Interrupt::kTimeIsUp) return OutOfTime(call);
  return answer;
}

}  // namespace

HONE_VERB(optimize){
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
        "  hone optimize model.py --target cuda --objective energy --slower 2 --time 300\n"
        "  hone optimize p.json --proposer replay:rounds.jsonl\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "run, problem, target, machine, store, attempts, replayed (taken from the store), search_s (of\n"
        "this session), look_s (of it, finding out why attempts take as long as they do), lanes (attempts in flight at "
        "a time), stop (why), bound_us,\n"
        "bound_limited_by, best_attempt (0 = none), confirmed, faster (than the first baseline, confirmed), loop_nest\n"
        "(the best is the naive one), flags[] (as of `hone graph`), best (an evaluation as in docs/evaluation.md, "
        "with\n"
        "kind and source of the candidate), headline (baseline and speedup over the first one), honest (the same over\n"
        "the fastest of all that were measured); neither is there where the measurement was disturbed",
    .no = "nothing was accepted, nothing was shown to be faster than the baseline, or there was no time to confirm it",
    .run = RunIt};

}  // namespace hone
