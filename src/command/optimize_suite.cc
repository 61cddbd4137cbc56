#include "command/optimize_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/mutex.h"
#include "base/process.h"
#include "base/sha256.h"
#include "command/import_ahead.h"
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
    if (!call.Has(option.name) || std::ranges::find(kNotHandedOn, option.name) != std::end(kNotHandedOn)) continue;
    if (!jobs && std::string_view(option.name) == "devices") continue;
    const std::string name = fmt::format("--{}", option.name);
    if (option.type == ValueType::kFlag) {
      words.push_back(name);
      continue;
    }
    for (const std::string& value : call.Texts(option.name)) words.insert(words.end(), {name, value});
  }
  return words;
}

// The names of the lanes, of which each makes one helping at a time: the devices that were asked for, or none.
Result<std::vector<std::string>> LanesOf(const VerbCall& call, bool jobs) {
  constexpr std::int64_t kJobs = 16;
  if (jobs)
    return std::vector<std::string>(static_cast<std::size_t>(call.Has("at-once") ? call.Int("at-once") : kJobs));
  const std::string devices = call.Text("devices");
  if (call.Text("target") != "cuda") {
    if (!devices.empty()) return Fail(ErrorKind::kUsage, "--devices is of --target cuda");
    const std::int64_t lanes = call.Has("at-once") ? call.Int("at-once") : 1;
    if (const int cores = DescribeMachine().threads; lanes > cores) {
      return Fail(ErrorKind::kUsage,
                  fmt::format("--at-once {}: this machine has {} cores, and each problem is measured "
                              "on cores of its own",
                              lanes, cores));
    }
    return std::vector<std::string>(static_cast<std::size_t>(lanes));
  }
  if (call.Has("at-once"))
    return Fail(ErrorKind::kUsage,
                "--at-once is of --target cpu and of --executor slurm; on CUDA, --devices all makes one problem on "
                "each device");
  if (devices.empty()) return std::vector<std::string>(1);
  std::vector<std::string> lanes;
  for (const cuda::Device& device : HONE_TRY(cuda::ChooseDevices(HONE_TRY(cuda::FindDevices()), devices)))
    lanes.push_back(device.uuid);
  return lanes;
}

// Each lane's own processors, as many for each, so that lanes do not measure each other; nothing where one lane has
// all, or there are too few.
std::vector<std::vector<int>> ProcessorsOf(std::size_t lanes) {
  const std::vector<int> all = UsableProcessors();
  const std::size_t each = static_cast<std::size_t>(DescribeMachine().threads) / lanes;
  std::vector<std::vector<int>> processors(lanes);
  for (std::size_t lane = 0; lane < lanes && lanes > 1; ++lane) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(lane * each);
    processors[lane].assign(first, first + static_cast<std::ptrdiff_t>(each));
  }
  return processors;
}

// What the time brought, in the order in which it was spent. The ledger has helpings of other suites, too.
nlohmann::json HelpingsOf(const std::vector<SuiteProblem>& problems, const SuiteLedger& ledger) {
  std::map<std::string_view, std::string_view> names;
  for (const SuiteProblem& problem : problems) names[problem.key] = problem.name;
  const auto known = [](double us) { return us > 0 ? nlohmann::json(us) : nlohmann::json(); };
  nlohmann::json lines = nlohmann::json::array();
  for (const Helping& helping : ledger.helpings()) {
    const auto name = names.find(helping.problem);
    if (name == names.end()) continue;
    lines.push_back({{"problem", name->second},
                     {"attempts", helping.attempts},
                     {"before_us", known(helping.before_us)},
                     {"best_us", known(helping.best_us)},
                     {"seconds", helping.seconds}});
  }
  return lines;
}

std::string Summary(const std::vector<SuiteRow>& rows, const SuiteOutcome& outcome, double limit_s) {
  const auto count = [&](auto&& is) { return std::count_if(rows.begin(), rows.end(), is); };
  std::string text = fmt::format("\n{} problems: {} solved, {} confirmed to be faster than their baseline\n",
                                 rows.size(), count([](const SuiteRow& row) { return row.solved(); }),
                                 count([](const SuiteRow& row) { return row.faster; }));
  const auto compared = count([](const SuiteRow& row) { return row.solved() && row.allclose.has_value(); });
  if (compared > 0) {
    text +=
        fmt::format("official {} of {} pass the allclose of KernelBench\n",
                    count([](const SuiteRow& row) { return row.solved() && row.allclose.value_or(false); }), compared);
  }
  text += fmt::format("time     {:.0f} s{}; stopped: {}\n", outcome.seconds,
                      limit_s > 0 ? fmt::format(" of {:.0f}", limit_s) : "", outcome.stop);
  if (!outcome.complete) text += "next     the same command goes on; --time S is for all of its sessions\n";
  const auto best = std::ranges::find_if(rows, [](const SuiteRow& row) { return !row.run.empty(); });
  if (best != rows.end()) text += fmt::format("next     {} show {}, say\n", ProgramAsTyped(), best->run);
  return text;
}

}  // namespace

Result<Answer> OptimizeSuite(VerbCall& call, std::span<const Option> options) {
  const std::string path = call.Text("suite");
  const std::vector<SuiteProblem> problems = HONE_TRY(ListSuite(path, call.Text("only")));
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

  const std::vector<std::string> lanes = HONE_TRY(LanesOf(call, serve.slurm != nullptr));
  const auto processors = slurm ? std::vector<std::vector<int>>(lanes.size()) : ProcessorsOf(lanes.size());

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

  // Where a device is measured, and not the processors that import.
  constexpr std::size_t kAhead = 2;
  constexpr int kFewestProcessors = 4;
  std::optional<ImportAhead> ahead;
  if (!slurm && call.Text("target") == "cuda" && DescribeMachine().threads >= kFewestProcessors)
    ahead.emplace(problems, kAhead, [&](const SuiteProblem& problem) { ImportForSuite(serve, problem); });

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
      if (lanes.size() > 1 || !call.listener().live()) return note(text);
      call.Progress(text);
    };
    Result<Helping> helping = ServeByChild(mine, problem, portion);
    if (helping && !helping->failure.empty()) note(fmt::format("{}: {}", prefix, helping->failure));
    return helping;
  };
  const SuiteOutcome outcome =
      HONE_TRY(RunSuite(problems, ledger, budget, one,
                        {.interrupt = &InterruptFlag(), .retry_failures = call.Flag("retry"), .lanes = lanes}));

  std::vector<SuiteRow> rows;
  for (const Standing& standing : outcome.standings) rows.push_back(RowOf(standing));
  if (const std::string csv = call.Text("csv"); !csv.empty()) HONE_TRY(WriteFileAtomically(csv, SuiteCsv(rows)));
  nlohmann::json document = SuiteDocument(rows);
  document["helpings"] = HelpingsOf(problems, ledger);
  document["suite"] = path;
  document["store"] = serve.store;
  document["ledger"] = ledger_path;
  document["problems"] = rows.size();
  document["solved"] = std::ranges::count_if(rows, [](const SuiteRow& row) { return row.solved(); });
  document["faster"] = std::ranges::count_if(rows, [](const SuiteRow& row) { return row.faster; });
  document["seconds"] = outcome.seconds;
  document["stop"] = outcome.stop;
  document["complete"] = outcome.complete;
  document["signature"] = outcome.signature;
  const bool all = std::ranges::all_of(rows, [](const SuiteRow& row) { return row.faster; });
  const ExitCode code = outcome.interrupted ? ExitCode::kInterrupted : all ? ExitCode::kDone : ExitCode::kNo;
  return Answer(document, SuiteMarkdown(rows) + Summary(rows, outcome, budget.seconds), code);
}

}  // namespace hone
