#include "command/optimize_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/mutex.h"
#include "base/process.h"
#include "base/sha256.h"
#include "command/how_made.h"
#include "command/import_ahead.h"
#include "command/kept_suite.h"
#include "command/run_options.h"
#include "command/store_words.h"
#include "command/suite_list.h"
#include "command/suite_serve.h"
#include "command/suite_table.h"
#include "search/suite.h"
#include "target/cuda/device_lock.h"
#include "target/device_model.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// Said by the suite to each problem, or its own.
constexpr std::string_view kNotHandedOn[] = {"suite",  "only",     "helping", "csv",        "retry",      "shrink",
                                             "budget", "time",     "store",   "executor",   "at-once",    "partition",
                                             "gres",   "job-time", "sbatch",  "max-tokens", "max-dollars"};

// Devices are lanes of the suite here; a job of a cluster has its own.
std::vector<std::string> HandedOn(const VerbCall& call, std::span<const Option> options, bool jobs) {
  std::vector<std::string> words;
  for (const Option& option : options) {
    if (std::ranges::find(kNotHandedOn, option.name) != std::end(kNotHandedOn)) continue;
    if (!jobs && std::string_view(option.name) == "devices") continue;
    std::ranges::move(GivenWords(call, option), std::back_inserter(words));
  }
  return words;
}

// Each makes one helping at a time.
struct Lanes {
  std::vector<std::string> names;  // the devices that were asked for, or none
  int at_once = 1;                 // that share a device; they follow one another
};

// So many problems at a time on a device: while one is measured the others import, propose and compile, and more than
// three do not get ready any sooner. Each takes some cores, and what is measured needs quiet ones.
int UsualAtOnce(int cores) {
  constexpr int kCoresEach = 4, kMost = 4;
  return std::clamp(cores / kCoresEach, 1, kMost);
}

// `names` has the devices. A single one need not be named where it has one lane.
Result<Lanes> LanesOfDevices(const VerbCall& call, const std::string& wanted) {
  const auto here = cuda::FindDevices();
  if (!here && !call.Has("at-once") && wanted.empty()) return Lanes{{""}, 1};  // each problem says why
  std::vector<cuda::Device> devices = HONE_TRY(cuda::ChooseDevices(HONE_TRY(here), wanted));
  if (wanted.empty()) {
    // Of any: the first that is free, for all problems.
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (!HONE_TRY(cuda::TryLock(devices[i]))) continue;
      std::swap(devices[0], devices[i]);
      break;
    }
    devices.resize(1);
  }
  Lanes lanes;
  lanes.at_once = call.Has("at-once") ? static_cast<int>(call.Int("at-once"))
                                      : UsualAtOnce(DescribeMachine().threads / static_cast<int>(devices.size()));
  for (const cuda::Device& device : devices) {
    for (int i = 0; i < lanes.at_once; ++i) lanes.names.push_back(device.uuid);
  }
  if (lanes.names.size() == 1 && wanted.empty()) lanes.names = {""};
  return lanes;
}

Result<Lanes> LanesOf(const VerbCall& call, bool jobs) {
  constexpr std::int64_t kJobs = 16;
  const auto nameless = [](std::int64_t count) {
    return Lanes{std::vector<std::string>(static_cast<std::size_t>(count)), 1};
  };
  if (jobs) return nameless(call.Has("at-once") ? call.Int("at-once") : kJobs);
  const std::string devices = call.Text("devices");
  if (call.Text("target") == "cuda") return LanesOfDevices(call, devices);
  if (!devices.empty()) return Fail(ErrorKind::kUsage, "--devices is of --target cuda");
  const std::int64_t lanes = call.Has("at-once") ? call.Int("at-once") : 1;
  if (const int cores = DescribeMachine().threads; lanes > cores) {
    return Fail(ErrorKind::kUsage, fmt::format("--at-once {}: this machine has {} cores, and each problem is measured "
                                               "on cores of its own",
                                               lanes, cores));
  }
  return nameless(lanes);
}

// Each lane's own processors, as many for each, so that lanes do not measure each other; nothing where one has all, or
// there are too few. Lanes of one device share theirs: one of them measures at a time.
std::vector<std::vector<int>> ProcessorsOf(const Lanes& lanes) {
  const std::vector<int> all = UsableProcessors();
  const auto at_once = static_cast<std::size_t>(lanes.at_once), shares = lanes.names.size() / at_once;
  const std::size_t each = static_cast<std::size_t>(DescribeMachine().threads) / shares;
  std::vector<std::vector<int>> processors(lanes.names.size());
  for (std::size_t lane = 0; lane < lanes.names.size() && shares > 1; ++lane) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(lane / at_once * each);
    processors[lane].assign(first, first + static_cast<std::ptrdiff_t>(each));
  }
  return processors;
}

// How busy devices were in this session, and we.
struct SuiteUse {
  std::size_t devices = 0;
  double session_s = 0;
  ChildUse children;  // of all of them together, as device_s and compilers_s are

  double device_s() const { return session_s * static_cast<double>(devices); }
  double compilers_s() const { return device_s() * children.compilers; }
};

std::string UseText(const SuiteUse& use) {
  std::string text;
  if (use.device_s() > 0)
    text = fmt::format("device   held for {:.0f} of {:.0f} s ({:.0f} %){}, of these {:.0f} s in evaluations\n",
                       use.children.held_s, use.device_s(), 100 * use.children.held_s / use.device_s(),
                       use.devices > 1 ? fmt::format(" of {} devices", use.devices) : "", use.children.evaluating_s);
  if (use.compilers_s() > 0)
    text +=
        fmt::format("compile  threads that compile ahead were busy for {:.1f} of {:.0f} s ({:.1f} %)\n",
                    use.children.compiling_s, use.compilers_s(), 100 * use.children.compiling_s / use.compilers_s());
  if (use.children.search_s > 0)
    text += fmt::format("hone     {:.1f} of {:.0f} s of searching were its own ({:.2f} %)\n", use.children.own_s,
                        use.children.search_s, 100 * use.children.own_s / use.children.search_s);
  return text;
}

std::string Summary(const std::vector<SuiteRow>& rows, const SuiteOutcome& outcome, double limit_s, const SuiteUse& use,
                    const std::string& store) {
  const auto count = [&](auto&& is) { return std::count_if(rows.begin(), rows.end(), is); };
  std::string text = fmt::format("\n{} problems: {} solved, {} confirmed to be faster than their baseline\n",
                                 rows.size(), count([](const SuiteRow& row) { return row.solved(); }),
                                 count([](const SuiteRow& row) { return row.faster; }));
  const auto compared = count([](const SuiteRow& row) { return row.solved() && row.allclose.has_value(); });
  if (compared > 0) {
    text +=
        fmt::format("allclose {} of {} within KernelBench's tolerance of the exact values\n",
                    count([](const SuiteRow& row) { return row.solved() && row.allclose.value_or(false); }), compared);
  }
  text += fmt::format("time     {:.0f} s{}; stopped: {}\n", outcome.seconds,
                      limit_s > 0 ? fmt::format(" of {:.0f}", limit_s) : "", outcome.stop);
  text += UseText(use);
  if (!outcome.complete) text += "next     the same command goes on; --time S is for all of its sessions\n";
  const auto best = std::ranges::find_if(rows, [](const SuiteRow& row) { return !row.run.empty(); });
  if (best != rows.end())
    text += fmt::format("next     {} show {}{}, say\n", ProgramAsTyped(), best->run, StoreWords(store));
  return text;
}

}  // namespace

Result<Answer> OptimizeSuite(VerbCall& call, std::span<const Option> options) {
  const std::string path = call.Text("suite");
  HONE_TRY(CheckBeforeRuns(call, HONE_TRY(ReadRunOptions(call))));
  const SuiteList list = HONE_TRY(ListSuite(path, call.Text("only")));
  const std::vector<SuiteProblem>& problems = list.problems;
  for (const std::string& line : list.left_out) call.Note(line);
  SuiteServe serve;
  serve.program = OwnPath();
  serve.store = StorePath(call);
  const std::string executor = call.Text("executor");
  serve.arguments = HandedOn(call, options, executor == "slurm");
  serve.python = call.Text("python");
  serve.shrink_mflop = call.Real("shrink");
  const std::string folder = serve.store + "-suites";
  serve.imported = folder + "/problems";

  std::optional<SlurmOptions> slurm;
  if (executor == "slurm") {
    HONE_TRY(FindSlurm());
    slurm = SlurmOptions{.partition = call.Text("partition"),
                         .gres = call.Text("gres"),
                         .time = call.Text("job-time"),
                         .words = call.Texts("sbatch")};
    serve.slurm = &*slurm;
  } else if (executor != "local") {
    return Fail(ErrorKind::kUsage, fmt::format("--executor {}: it is local or slurm", executor));
  }

  const Lanes lanes = HONE_TRY(LanesOf(call, serve.slurm != nullptr));
  const bool cuda = !slurm && call.Text("target") == "cuda";
  const auto processors = slurm ? std::vector<std::vector<int>>(lanes.names.size()) : ProcessorsOf(lanes);

  SuiteBudget budget;
  budget.attempts = static_cast<int>(call.Int("budget"));
  budget.helping = static_cast<int>(call.Int("helping"));
  budget.seconds = call.Real("time") * (call.Has("time") ? 1 : static_cast<double>(problems.size()));
  budget.tokens = call.Int("max-tokens");
  budget.dollars = call.Real("max-dollars");

  // Who is asked otherwise has another ledger, as it has other runs.
  std::string settings = fmt::format("shrink {}", serve.shrink_mflop);
  for (const std::string& word : serve.arguments) settings += "\n" + word;
  const std::string ledger_path = fmt::format("{}/{}.jsonl", folder, Sha256(settings).substr(0, 12));
  // A job that an earlier session submitted is found again only under the same settings.
  serve.jobs = fmt::format("{}/jobs-{}", fs::absolute(folder).string(), Sha256(settings).substr(0, 12));
  SuiteLedger ledger = HONE_TRY(SuiteLedger::Open(ledger_path));
  if (!ledger.helpings().empty()) call.Note(fmt::format("going on with {}", ledger_path));

  // Where a device is measured, and not the processors that import. Of several problems at a time each imports its own.
  constexpr std::size_t kAhead = 2;
  constexpr int kFewestProcessors = 4;
  std::optional<ImportAhead> ahead;
  if (cuda && lanes.at_once == 1 && DescribeMachine().threads >= kFewestProcessors)
    ahead.emplace(problems, kAhead, [&](const SuiteProblem& problem) { ImportForSuite(serve, problem); });

  KeptSuite kept{
      .suite = path, .problems = problems, .ledger = ledger_path, .made = HowMade(call, "optimize", options)};
  // Looking on is not worth a suite's end.
  const auto at_work = KeepSuite(serve.store, kept);
  if (!at_work) call.Note(fmt::format("hone serve will not show this suite: {}", at_work.error().message));

  SuiteUse use;
  if (cuda) use.devices = lanes.names.size() / static_cast<std::size_t>(lanes.at_once);
  const auto begun = std::chrono::steady_clock::now();
  Mutex saying;  // helpings at once
  const auto one = [&](const SuiteProblem& problem, const Portion& portion) -> Result<Helping> {
    const auto place = std::ranges::find(problems, problem.key, &SuiteProblem::key) - problems.begin() + 1;
    const std::string prefix = fmt::format("{}/{} {}", place, problems.size(), problem.name);
    const auto note = [&](const std::string& line) {
      const MutexLock lock(saying);
      call.Note(line);
    };
    note(fmt::format("{}: {} attempts at most{}", prefix, portion.attempts,
                     portion.seconds > 0 ? fmt::format(", {:.0f} s", portion.seconds) : ""));
    if (ahead) ahead->Begin(problem);
    SuiteServe mine = serve;
    mine.processors = processors[static_cast<std::size_t>(portion.lane)];
    mine.progress = [&](std::string_view line) {
      const std::string text = fmt::format("{} {}", prefix, line);
      if (lanes.names.size() > 1 || !call.listener().live()) return note(text);
      call.Progress(text);
    };
    mine.measured = [&](const ChildUse& child) {
      const MutexLock lock(saying);
      use.children.held_s += child.held_s;
      use.children.evaluating_s += child.evaluating_s;
      use.children.search_s += child.search_s;
      use.children.own_s += child.own_s;
      use.children.compilers = std::max(use.children.compilers, child.compilers);
      use.children.compiling_s += child.compiling_s;
    };
    Result<Helping> helping = ServeByChild(mine, problem, portion);
    if (helping && !helping->failure.empty()) note(fmt::format("{}: {}", prefix, helping->failure));
    return helping;
  };
  const SuiteOutcome outcome =
      HONE_TRY(RunSuite(problems, ledger, budget, one,
                        {.interrupt = &InterruptFlag(), .retry_failures = call.Flag("retry"), .lanes = lanes.names}));
  const std::chrono::duration<double> session = std::chrono::steady_clock::now() - begun;
  use.session_s = session.count();

  std::vector<SuiteRow> rows;
  for (const Standing& standing : outcome.standings) rows.push_back(RowOf(standing, outcome.stop));
  nlohmann::json document = SuiteSoFar(kept, outcome.standings, ledger.helpings(), outcome.stop);
  if (at_work && !KeepEnd(*at_work, kept, outcome.stop)) call.Note("hone serve will show this suite as killed");
  document["store"] = serve.store;
  document["ledger"] = ledger_path;
  document["seconds"] = outcome.seconds;
  document["search_s"] = use.children.search_s;
  document["own_s"] = use.children.own_s;
  if (cuda) {
    document["device"] = {{"devices", use.devices},
                          {"wall_s", use.device_s()},
                          {"held_s", use.children.held_s},
                          {"evaluating_s", use.children.evaluating_s}};
    document["compilers"] = {{"busy_s", use.children.compiling_s}, {"of_s", use.compilers_s()}};
  }
  document["signature"] = outcome.signature;
  const bool all = std::ranges::all_of(rows, [](const SuiteRow& row) { return row.faster; });
  const ExitCode code = outcome.interrupted ? ExitCode::kInterrupted : all ? ExitCode::kDone : ExitCode::kNo;
  const std::string text = SuiteMarkdown(rows) + Summary(rows, outcome, budget.seconds, use, serve.store);
  if (!call.Has("csv")) return Answer(document, text, code);
  return AnswerWithFile(std::move(document), text, code, call.Text("csv"), SuiteCsv(rows));
}

}  // namespace hone
