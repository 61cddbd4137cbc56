#include "command/suite_serve.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/json_text.h"
#include "base/mutex.h"
#include "base/process.h"
#include "base/sha256.h"
#include "command/run_note.h"
#include "command/suite_table.h"
#include "search/record.h"
#include "search/run_ledger.h"
#include "store/contents.h"
#include "store/store.h"
#include "target/cuda/device_lock.h"
#include "target/cuda/visible_devices.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

// A child that was asked to stop has so long for it; one that is past its time limit, for the end of an evaluation.
constexpr auto kAsked = std::chrono::seconds(10);
constexpr double kGraceS = 60;

double SecondsSince(Clock::time_point begun) { return std::chrono::duration<double>(Clock::now() - begun).count(); }

// It is our own program: all of our environment.
std::vector<std::string> Environment() {
  std::vector<std::string> lines;
  for (char** line = environ; *line != nullptr; ++line) lines.emplace_back(*line);
  return lines;
}

// Children have the processors of the thread that starts them.
class BoundTo {
 public:
  explicit BoundTo(const std::vector<int>& processors) {
    if (processors.empty() || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t ours;
    CPU_ZERO(&ours);
    for (const int processor : processors) {
      if (processor < CPU_SETSIZE) CPU_SET(processor, &ours);
    }
    bound_ = sched_setaffinity(0, sizeof ours, &ours) == 0;
  }
  ~BoundTo() {
    if (bound_) sched_setaffinity(0, sizeof before_, &before_);
  }
  BoundTo(const BoundTo&) = delete;
  BoundTo& operator=(const BoundTo&) = delete;

 private:
  cpu_set_t before_;
  bool bound_ = false;
};

// How long a child has waited for a device, by what it says. Thread-safe.
class Waiting {
 public:
  void Hear(std::string_view line) {
    const MutexLock lock(mutex_);
    if (cuda::SaysWaiting(line) && !since_) since_ = Clock::now();
    if (cuda::SaysOurs(line)) End();
  }
  double Seconds() const {
    const MutexLock lock(mutex_);
    return before_s_ + (since_ ? SecondsSince(*since_) : 0);
  }

 private:
  void End() HONE_NEEDS(mutex_) {
    if (since_) before_s_ += SecondsSince(*since_);
    since_.reset();
  }
  mutable Mutex mutex_;
  double before_s_ HONE_GUARDED_BY(mutex_) = 0;
  std::optional<Clock::time_point> since_ HONE_GUARDED_BY(mutex_);
};

struct Heard {
  std::string output;
  std::string last_words;  // the last line on its standard error
  Exit exit;
  std::string run;  // that it said to work on
  bool too_long = false;
  double waited_s = 0;  // for a device
};

// The lines of a pipe, each given to `line`, until it closes.
class LineReader {
 public:
  LineReader(int descriptor, std::function<void(std::string_view)> line)
      : thread_([descriptor, line = std::move(line)] {
          std::string pending;
          char buffer[4096];
          for (ssize_t got = 0; (got = read(descriptor, buffer, sizeof buffer)) != 0;) {
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) break;
            pending.append(buffer, static_cast<std::size_t>(got));
            for (std::size_t end = 0; (end = pending.find('\n')) != std::string::npos;) {
              line(std::string_view(pending).substr(0, end));
              pending.erase(0, end + 1);
            }
          }
          if (!pending.empty()) line(pending);
          close(descriptor);
        }) {}

 private:
  std::jthread thread_;
};

// Runs our own program to its end. `wall_s`: then it is killed, waiting for a device left out; 0 = none. `device`: the
// one that it sees; empty: all that we do.
Result<Heard> Listen(std::vector<std::string> argv, double wall_s, const SuiteServe& how,
                     const std::string& device = {}) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Fail(ErrorKind::kIo, "no pipe is left for a child process");
  Command command;
  command.argv = std::move(argv);
  command.environment = Environment();
  cuda::ShowDevices(command.environment, device);
  auto child = Child::Start(command, ends[1]);
  close(ends[1]);
  if (!child) {
    close(ends[0]);
    return tl::unexpected<Error>(child.error());
  }
  child->CloseInput();
  Heard heard;
  Waiting waiting;
  {
    const LineReader reader(ends[0], [&](std::string_view line) {
      heard.last_words = line;
      waiting.Hear(line);
      if (auto run = RunOfNote(line)) heard.run = std::move(*run);
      if (how.progress && (line.starts_with('[') || line.starts_with("confirming"))) how.progress(line);
    });
    const Clock::time_point begun = Clock::now();
    std::optional<Clock::time_point> asked;
    for (bool open = true; open;) {
      auto line = child->ReadLine(std::chrono::milliseconds(50));
      if (line) {
        heard.output += *line + "\n";
        continue;
      }
      open = line.error().kind == ErrorKind::kTimeout;
      if (InterruptFlag() && !asked) {
        asked = Clock::now();
        child->Signal(SIGTERM);
      }
      heard.too_long = wall_s > 0 && SecondsSince(begun) - waiting.Seconds() > wall_s;
      if (heard.too_long || (asked && Clock::now() - *asked > kAsked)) open = false;
    }
    const std::optional<Exit> exit = heard.too_long ? std::nullopt : child->Wait(kAsked);
    heard.exit = exit ? *exit : child->Kill();
    heard.waited_s = waiting.Seconds();
  }
  return heard;
}

ChildUse UseOf(const Json& document) {
  ChildUse use{.search_s = document.value("search_s", 0.0), .own_s = document.value("own_s", 0.0)};
  if (document.contains("device") && document["device"].is_object()) {
    use.held_s = document["device"].value("held_s", 0.0);
    use.evaluating_s = document["device"].value("evaluating_s", 0.0);
  }
  if (document.contains("compilers") && document["compilers"].is_object()) {
    use.compilers = document["compilers"].value("threads", 0);
    use.compiling_s = document["compilers"].value("busy_s", 0.0);
  }
  return use;
}

// Why there is nothing to be read in what it heard.
std::string WhyNot(const Heard& heard, const Json& document) {
  if (document.is_object() && document.contains("error") && document["error"].is_object())
    return document["error"].value("message", "it failed");
  std::string why = heard.exit.Describe();
  if (!heard.last_words.empty()) why += ": " + heard.last_words;
  return "hone " + why;
}

// The problem as JSON, imported once: starting PyTorch takes longer than many a helping. Or why it cannot be had.
struct Imported {
  std::string path;
  std::string failure;
};

Result<Imported> ImportOnce(const SuiteServe& how, const SuiteProblem& problem) {
  if (problem.path.ends_with(".json")) return Imported{problem.path, ""};
  std::string name = problem.name;
  std::replace(name.begin(), name.end(), '/', '_');
  // The key is of the content: another content has another file.
  const std::string cut = how.shrink_mflop > 0 ? fmt::format("-{}", how.shrink_mflop) : "";
  const std::string path = fmt::format("{}/{}-{}{}.json", how.imported, name, Sha256(problem.key).substr(0, 12), cut);
  if (fs::exists(path)) return Imported{path, ""};
  HONE_TRY(MakeDirectories(how.imported));
  std::vector<std::string> argv = {how.program, "import", problem.path, "-o", path, "--json"};
  if (how.shrink_mflop > 0 && problem.path.ends_with(".py"))
    argv.insert(argv.end(), {"--shrink", fmt::format("{}", how.shrink_mflop)});
  if (!how.python.empty()) argv.insert(argv.end(), {"--python", how.python});
  const Heard heard = HONE_TRY(Listen(std::move(argv), 0, how));
  if (InterruptFlag()) return Fail(ErrorKind::kInterrupted, "interrupted");
  // One that hone cannot optimize yet is there, too; its run says why.
  const bool made = heard.exit.ok() || (heard.exit.signal == 0 && heard.exit.code == static_cast<int>(ExitCode::kNo));
  if (made && fs::exists(path)) return Imported{path, ""};
  return Imported{"", "import: " + WhyNot(heard, Json::parse(heard.output, nullptr, false))};
}

// What the table's row is made of. Sources are in the store.
std::string TableDocument(Json document) {
  if (document.contains("best") && document["best"].is_object()) {
    Json& best = document["best"];
    if (best.value("kind", "") == "program") best["kernels"] = KernelsOf(best.value("source", ""));
    best.erase("source");
  }
  return JsonText(document);
}

// What the store has of the run: its attempts, its seconds, and the times that steer.
Result<void> ReadRun(const std::string& store_path, const Portion& portion, Helping& helping) {
  Store store = HONE_TRY(Store::OpenExisting(store_path));
  helping.attempts = 0;
  int accepted = 0;
  for (const AttemptRecord& attempt : HONE_TRY(store.Attempts(helping.run))) {
    if (!attempt.ended()) continue;
    ++helping.attempts;
    helping.run_s += static_cast<double>(attempt.ended_ms - attempt.started_ms) / 1000;
    if (attempt.median_us <= 0) continue;
    if (++accepted == 1) helping.before_us = attempt.median_us;
    if (helping.best_us <= 0 || attempt.median_us < helping.best_us) helping.best_us = attempt.median_us;
  }
  if (portion.last != nullptr && portion.last->best_us > 0) helping.before_us = portion.last->best_us;
  const double spent_s = SpentSeconds(HONE_TRY(store.FindRun(helping.run)));
  if (spent_s > 0) helping.run_s = spent_s;  // else it is from before that was kept
  return {};
}

// What language models took of a run, whatever became of it; of all of the store's where no run is named.
Result<void> CountSpent(const std::string& store_path, const std::string& run, Helping& helping) {
  if (!fs::exists(store_path)) return {};
  Store store = HONE_TRY(Store::OpenExisting(store_path));
  Spending spent;
  for (const RunRecord& one : HONE_TRY(store.Runs())) {
    if (!run.empty() && one.id != run) continue;
    for (const LedgerLine& line : HONE_TRY(LedgerLines(store, one.id))) spent.Add(line);
  }
  helping.tokens = spent.tokens();
  helping.dollars = spent.dollars;
  return {};
}

// The run of an earlier helping, made by whomever, for the job that goes on with it.
Result<void> HandOver(const std::string& from_path, const std::string& into_path, const std::string& id) {
  Store from = HONE_TRY(Store::OpenExisting(from_path)), into = HONE_TRY(Store::Open(into_path));
  HONE_TRY(WriteContents(into, {HONE_TRY(ReadContents(from, HONE_TRY(from.FindRun(id))))}));
  return {};
}

// What a job found of its run, and how the run is called in our store.
Result<std::string> TakeOver(const std::string& from_path, const std::string& into_path, const std::string& id) {
  HONE_TRY(HandOver(from_path, into_path, id));
  Store from = HONE_TRY(Store::OpenExisting(from_path)), into = HONE_TRY(Store::OpenExisting(into_path));
  const RunRecord theirs = HONE_TRY(from.FindRun(id));
  for (const RunRecord& run : HONE_TRY(into.Runs())) {
    if (SameRun(run, theirs)) return run.id;
  }
  return Fail(ErrorKind::kCorrupt, fmt::format("run {} is not in {}, where it was just written", id, into_path));
}

// A helping of one problem has one name, so that a suite that goes on finds its job.
Result<Heard> ListenToJob(const SuiteServe& how, const std::string& folder, const Portion& portion,
                          const std::vector<std::string>& argv) {
  const SlurmEnded ended = HONE_TRY(RunAsJob(
      *how.slurm, folder, fmt::format("{}-{}", portion.number, portion.attempts), argv,
      how.progress ? how.progress : [](std::string_view) {}));
  Heard heard;
  heard.output = ended.output;
  heard.last_words = ended.failure.empty() ? ended.last_words : ended.failure;
  heard.exit.code = ended.failure.empty() ? ended.code : 1;
  return heard;
}

}  // namespace

void ImportForSuite(const SuiteServe& how, const SuiteProblem& problem) { static_cast<void>(ImportOnce(how, problem)); }

Result<Helping> ServeByChild(const SuiteServe& how, const SuiteProblem& problem, const Portion& portion) {
  const Clock::time_point begun = Clock::now();
  const BoundTo bound(how.processors);
  Helping helping;
  double waited_s = 0;  // is nobody's time
  const auto failed = [&](std::string why) {
    helping.failure = std::move(why);
    helping.seconds = SecondsSince(begun) - waited_s;
    return helping;
  };
  const auto maybe = ImportOnce(how, problem);
  if (!maybe && maybe.error().kind == ErrorKind::kInterrupted) {
    helping.interrupted = true;
    return failed("interrupted");
  }
  const Imported imported = HONE_TRY(maybe);
  if (!imported.failure.empty()) return failed(imported.failure);
  const double earlier_s = portion.last != nullptr ? portion.last->run_s : 0;
  // A run's time limit is one over all its sessions.
  const double limit_s = portion.seconds > 0 ? std::max(1.0, portion.seconds - SecondsSince(begun)) + earlier_s : 0;
  const std::string folder = fmt::format("{}/{}", how.jobs, Sha256(problem.key).substr(0, 12));
  // A store that is there has it, and a job that an earlier session submitted may be at work on it.
  if (how.slurm && portion.last != nullptr && !portion.last->run.empty() && !fs::exists(folder + "/runs.sqlite"))
    HONE_TRY(HandOver(how.store, folder + "/runs.sqlite", portion.last->run));
  std::vector<std::string> argv = {how.program,   "optimize",
                                   imported.path, "--json",
                                   "--budget",    std::to_string(portion.attempts),
                                   "--time",      fmt::format("{:.3f}", limit_s),
                                   "--store",     how.slurm ? folder + "/runs.sqlite" : how.store};
  if (portion.more_follow) argv.insert(argv.end(), {"--confirm", "fastest"});
  if (portion.tokens > 0) argv.insert(argv.end(), {"--max-tokens", std::to_string(portion.tokens)});
  if (portion.dollars > 0) argv.insert(argv.end(), {"--max-dollars", fmt::format("{}", portion.dollars)});
  if (!portion.device.empty()) argv.insert(argv.end(), {"--devices", portion.device});
  argv.insert(argv.end(), how.arguments.begin(), how.arguments.end());
  const Clock::time_point started = Clock::now();
  const Heard heard =
      HONE_TRY(how.slurm ? ListenToJob(how, folder, portion, argv)
                         : Listen(std::move(argv), limit_s > 0 ? limit_s + kGraceS : 0, how, portion.device));
  waited_s = heard.waited_s;
  const double session_s = SecondsSince(started) - waited_s;
  if (InterruptFlag() && how.slurm) return Fail(ErrorKind::kInterrupted, "interrupted");  // its job goes on
  // A job's store holds this problem's run alone; where it named none, it spent nothing.
  if (how.slurm) {
    HONE_TRY(CountSpent(folder + "/runs.sqlite", "", helping));
  } else if (!heard.run.empty()) {
    HONE_TRY(CountSpent(how.store, heard.run, helping));
  }
  Json document = Json::parse(heard.output, nullptr, false);
  if (InterruptFlag()) {
    helping.interrupted = true;
    helping.run = heard.run;
    if (!helping.run.empty() && !ReadRun(how.store, portion, helping)) helping.run.clear();  // nothing was tried
    if (document.is_object() && document.contains("best")) helping.document = TableDocument(document);
    return failed("interrupted");
  }
  if (heard.too_long) return failed(fmt::format("not done within {:.0f} s", limit_s + kGraceS));
  if (!document.is_object() || document.contains("error") || heard.exit.signal != 0)
    return failed(WhyNot(heard, document));
  // Ended by somebody else than us.
  if (heard.exit.code == 130) return failed("it was interrupted: run the suite again with --retry");

  if (how.measured) how.measured(UseOf(document));
  helping.won = document.value("faster", false);
  if (document.contains("run") && document["run"].is_string()) helping.run = document["run"];
  if (document.contains("bound_us") && document["bound_us"].is_number()) helping.bound_us = document["bound_us"];
  if (helping.run.empty()) return failed(document.value("stop", "nothing was judged"));
  if (how.slurm) helping.run = HONE_TRY(TakeOver(folder + "/runs.sqlite", how.store, helping.run));
  HONE_TRY(ReadRun(how.store, portion, helping));
  helping.attempts = document.value("attempts", 0);
  const std::string cause = document.value("stop_cause", "");
  helping.ended = cause == "limit" || cause == "nothing-left";
  helping.withheld = cause == "withheld";
  helping.document = TableDocument(document);
  // What an earlier session spent on this helping before it was killed counts as well; what a run spent before this
  // suite had a helping of its problem was for others.
  const double run_s = portion.last != nullptr || how.slurm ? std::max(0.0, helping.run_s - earlier_s) : 0;
  if (how.slurm) {
    helping.seconds = run_s;  // not what it waited for a node
    return helping;
  }
  helping.seconds = SecondsSince(begun) - waited_s - session_s + std::max(session_s, run_s);
  return helping;
}

}  // namespace hone
