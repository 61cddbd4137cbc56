#include "command/slurm_job.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/process.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(250);  // at a file
constexpr auto kAsk = std::chrono::seconds(3);          // Slurm's controller: it has others to serve
// A result may be seen later than that the job has gone: file systems over the network keep what they know for a while.
constexpr auto kLate = std::chrono::seconds(8);
constexpr int kSubmits = 5;        // of one job
constexpr int kEndedByHand = 130;  // what hone says when somebody has ended it

std::string ShellWord(std::string_view word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string FirstLineOf(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string LastLineOf(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// Slurm's own programs, with all that its users may have set.
Result<Exit> AskSlurm(std::vector<std::string> argv) {
  Command command;
  command.argv = std::move(argv);
  for (char** line = environ; *line != nullptr; ++line) command.environment.emplace_back(*line);
  return Run(command);
}

class SlurmJob {
 public:
  SlurmJob(const SlurmOptions& options, const std::string& folder, const std::string& name,
           const std::vector<std::string>& argv)
      : options_(options), base_(folder + "/" + name), name_(name), argv_(argv) {}

  Result<SlurmEnded> Run(const std::function<void(std::string_view)>& say) {
    for (int submits = 0;;) {
      if (const auto code = ReadFile(base_ + ".rc"); code) {
        if (std::atoi(code->c_str()) != kEndedByHand) return Ended(std::atoi(code->c_str()));
        std::error_code ignored;
        fs::remove(base_ + ".rc", ignored);  // by a node that has to be left: the job goes on elsewhere
      }
      std::string id = IdOnDisk();
      if (id.empty() || HONE_TRY(State(id)).empty()) {
        const std::string how = id.empty() ? std::string() : HowItEnded(id);
        if (submits++ == kSubmits) {
          return SlurmEnded{
              .failure = fmt::format("Slurm ended it {} times without a result (job {}: {})", kSubmits, id, how)};
        }
        if (!id.empty()) say(fmt::format("job {} left no result: {}; once more", id, how));
        id = HONE_TRY(Submit());
        say(fmt::format("job {}", id));
      }
      HONE_TRY(Await(id, say));
    }
  }

 private:
  std::string IdOnDisk() const {
    const auto id = ReadFile(base_ + ".id");
    return id ? FirstLineOf(*id) : std::string();
  }

  // "PENDING"; empty: it is not in the queue any more.
  static Result<std::string> State(const std::string& id) {
    const Exit asked = HONE_TRY(AskSlurm({"squeue", "-h", "-j", id, "-t", "all", "-o", "%T"}));
    const std::string state = asked.ok() ? FirstLineOf(asked.output) : std::string();
    // A job that has ended stays in the list for some minutes.
    for (const std::string_view in_work : {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "REQUEUED",
                                           "REQUEUE_HOLD", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"}) {
      if (state == in_work) return state;
    }
    if (asked.ok() || asked.error.find("Invalid job id") != std::string::npos) return std::string();
    return std::string("UNKNOWN");  // its controller is away: it comes back
  }

  // "PREEMPTED": by the cluster's accounting, where it has one, else by its controller, which forgets after minutes.
  static std::string HowItEnded(const std::string& id) {
    if (FindProgram("sacct")) {
      const auto told = AskSlurm({"sacct", "-X", "-n", "-P", "-o", "State", "-j", id});
      if (told && told->ok() && !FirstLineOf(told->output).empty()) return FirstLineOf(told->output);
    }
    constexpr std::string_view kState = "JobState=";
    const auto told = AskSlurm({"scontrol", "-o", "show", "job", id});
    const std::size_t at = told && told->ok() ? told->output.find(kState) : std::string::npos;
    if (at == std::string::npos) return "Slurm does not know why";
    const std::size_t begin = at + kState.size();
    return told->output.substr(begin, told->output.find(' ', begin) - begin);
  }

  Result<std::string> Submit() {
    std::error_code ignored;
    for (const char* suffix : {".rc", ".id"}) fs::remove(base_ + suffix, ignored);
    std::string line;
    for (const std::string& word : argv_) line += ShellWord(word) + ' ';
    const std::string script =
        fmt::format("#!/bin/sh\ncd {} || exit\n{}> {} 2> {}\necho $? > {} && mv {} {}\n",
                    ShellWord(fs::current_path().string()), line, ShellWord(base_ + ".out"), ShellWord(base_ + ".err"),
                    ShellWord(base_ + ".rc.draft"), ShellWord(base_ + ".rc.draft"), ShellWord(base_ + ".rc"));
    HONE_TRY(WriteFileAtomically(base_ + ".sh", script));
    std::vector<std::string> argv = {"sbatch",
                                     "--parsable",
                                     "--requeue",
                                     "--ntasks=1",
                                     "--job-name=hone-" + name_,
                                     fmt::format("--output={}.slurm", base_),
                                     "--open-mode=append"};
    if (!options_.partition.empty()) argv.push_back("--partition=" + options_.partition);
    if (!options_.gres.empty()) argv.push_back("--gres=" + options_.gres);
    if (!options_.time.empty()) argv.push_back("--time=" + options_.time);
    argv.insert(argv.end(), options_.words.begin(), options_.words.end());
    argv.push_back(base_ + ".sh");
    const Exit submitted = HONE_TRY(AskSlurm(std::move(argv)));
    if (!submitted.ok()) {
      return Fail(ErrorKind::kTool, fmt::format("sbatch {}: {}", submitted.Describe(), LastLineOf(submitted.error)));
    }
    const std::string id = FirstLineOf(submitted.output).substr(0, submitted.output.find_first_of(";\n"));
    HONE_TRY(WriteFileAtomically(base_ + ".id", id + "\n"));
    return id;
  }

  // Until there is a result, or the job has left the queue without one.
  Result<void> Await(const std::string& id, const std::function<void(std::string_view)>& say) {
    Clock::time_point asked;
    std::string before;
    for (;;) {
      std::error_code ignored;
      if (fs::exists(base_ + ".rc", ignored)) return {};
      if (InterruptFlag()) {
        static_cast<void>(AskSlurm({"scancel", id}));
        return Fail(ErrorKind::kInterrupted, "interrupted");
      }
      if (Clock::now() - asked >= kAsk) {
        asked = Clock::now();
        const std::string state = HONE_TRY(State(id));
        if (state.empty()) return AwaitLate();
        if (state != before) say(fmt::format("job {} {}", id, state));
        before = state;
      }
      std::this_thread::sleep_for(kLook);
    }
  }

  Result<void> AwaitLate() const {
    const Clock::time_point until = Clock::now() + kLate;
    std::error_code ignored;
    while (!fs::exists(base_ + ".rc", ignored) && Clock::now() < until && !InterruptFlag())
      std::this_thread::sleep_for(kLook);
    return {};
  }

  Result<SlurmEnded> Ended(int code) const {
    SlurmEnded ended{.code = code};
    ended.output = HONE_TRY(ReadFile(base_ + ".out"));
    ended.last_words = LastLineOf(ReadFile(base_ + ".err").value_or(""));
    return ended;
  }

  const SlurmOptions& options_;
  const std::string base_;
  const std::string name_;
  const std::vector<std::string>& argv_;
};

}  // namespace

Result<void> FindSlurm() {
  for (const char* program : {"sbatch", "squeue", "scancel"}) {
    if (!FindProgram(program)) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("--executor slurm: {} is not in PATH: run it on a node of the cluster "
                              "that submits jobs, or leave the option out",
                              program));
    }
  }
  const Exit asked = HONE_TRY(AskSlurm({"squeue", "-h", "-j", "1"}));
  if (asked.ok() || asked.error.find("Invalid job id") != std::string::npos) return {};
  return Fail(ErrorKind::kNotFound,
              fmt::format("--executor slurm: no controller of Slurm answers: {}", LastLineOf(asked.error)));
}

Result<SlurmEnded> RunAsJob(const SlurmOptions& options, const std::string& folder, const std::string& name,
                            const std::vector<std::string>& argv, const std::function<void(std::string_view)>& say) {
  HONE_TRY(MakeDirectories(folder));
  return SlurmJob(options, folder, name, argv).Run(say);
}

}  // namespace hone
