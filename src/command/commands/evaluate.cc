// hone evaluate: is this candidate right, and how fast is it?
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "candidate/candidate.h"
#include "command/command.h"
#include "command/evaluation_text.h"
#include "command/pending.h"
#include "command/target.h"
#include "command/workbench.h"
#include "target/cuda/driver.h"

namespace hone::verb_evaluate {
namespace {

constexpr Positional kPositionals[] = {
    {.name = "problem",
     .help = "problem.json, or a KernelBench-style .py file; with --pending a run",
     .reads = true,
     .run_with = "pending"},
    {.name = "candidate",
     .help = "a program (.hk), a module of C++ (.cc) or CUDA C++ (.cu; both include/hone/module.h), a plan for CUDA "
             "(.json) or kernels with launch lines (.cu; both docs/plan.md); several are evaluated one after another "
             "by one judge",
     .presence = Presence::kRepeated,
     .reads = true},
};
constexpr Option kOptions[] = {
    kTargetOption,
    {.name = "no-time", .type = ValueType::kFlag, .help = "judge only, do not time"},
    {.name = "baseline",
     .value = "NAME",
     .help = "eager or compile; naive on the processor; eager_tf32, eager_graph or compile_max_autotune on a device; "
             "FILE.py[:CLASS] is a PyTorch module of yours; may be repeated (default: all that are here, but "
             "compile_max_autotune)",
     .repeats = true},
    {.name = "no-torch", .type = ValueType::kFlag, .help = "do not time PyTorch"},
    {.name = "budget",
     .type = ValueType::kReal,
     .value = "S",
     .help = "seconds of timing beside each baseline",
     .otherwise = "1",
     .at_least = 0},
    kThreadsOption,
    {.name = "dice",
     .value = "DICE",
     .help = "repeat the inputs and choices of an earlier evaluation: `dice` of its result (default: new ones)"},
    {.name = "range",
     .value = "WHICH",
     .help = "own, or full: being wrong on very wide inputs refuses, too",
     .otherwise = "own"},
    {.name = "certify",
     .type = ValueType::kFlag,
     .help = "what is accepted on a CUDA device goes through compute-sanitizer, too"},
    kPythonOption,
    {.name = "pending",
     .type = ValueType::kFlag,
     .help = "of a run: try what was proposed and not tried, on its machine, and confirm the best; asks nobody"},
    kStoreOption,
};

// Ends an evaluation when the flag rises. A signal's handler may do nothing but raise it, so somebody has to look.
class InterruptWatch {
 public:
  InterruptWatch(const std::atomic<bool>& flag, Evaluator& evaluator)
      : thread_([&flag, &evaluator](std::stop_token stop) {
          while (!stop.stop_requested()) {
            if (flag) evaluator.Interrupt();
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
          }
        }) {}

 private:
  std::jthread thread_;
};

std::string Time(double us) {
  if (us >= 1e6) return fmt::format("{:.3g} s", us / 1e6);
  if (us >= 1e3) return fmt::format("{:.4g} ms", us / 1e3);
  return fmt::format("{:.4g} us", us);
}

std::string AsLaunched(const Timing& timing) {
  if (timing.launched.empty()) return "";
  return timing.launched == "graph" ? ", as one CUDA graph" : ", one launch after the other";
}

std::string Describe(const Evaluation& evaluation) {
  const Verdict& verdict = evaluation.verdict;
  std::string text = verdict.accepted() ? "accepted\n" : fmt::format("{}: {}\n", Name(verdict.outcome), verdict.reason);
  if (verdict.accepted()) {
    text += fmt::format(
        "  accuracy  largest error {:.2f} of its budget, {:.2f} of an honest implementation's; right {}{}\n",
        verdict.error_over_budget, verdict.error_over_honest, verdict.range,
        verdict.bit_reproducible ? "; the same bits each time" : "; not the same bits each time");
    if (verdict.official_allclose) {
      text += fmt::format("  allclose  {}, KernelBench's check\n", *verdict.official_allclose ? "passes" : "fails");
    }
  } else if (!verdict.evidence->log.empty()) {
    text += verdict.evidence->log;
    if (text.back() != '\n') text += '\n';
  }
  if (const auto& timing = evaluation.timing) {
    const auto& interval = timing->warm.interval;
    text += fmt::format("  warm      {} ({}{} samples{})\n", Time(timing->warm.median_us),
                        interval ? fmt::format("{} to {}, ", Time(interval->low), Time(interval->high)) : "",
                        timing->warm.count, AsLaunched(*timing));
    if (!timing->disturbed.empty()) text += fmt::format("  disturbed {}\n", timing->disturbed);
    text += fmt::format("  cold      {}\n", Time(timing->cold.median_us));
    if (timing->prepare_us > 1) text += fmt::format("  prepare   {}, once\n", Time(timing->prepare_us));
    for (const Comparison& one : timing->against) {
      text += fmt::format("  {:<9} {}{}{}\n", one.baseline, Time(one.baseline_warm.median_us),
                          one.speedup ? ": " + SpeedWords(*one.speedup, "it") : "", ComparisonText(*timing, one));
    }
  }
  for (const std::string& line : evaluation.how->certificate) text += fmt::format("  certified {}\n", line);
  for (const std::string& note : evaluation.how->notes) text += fmt::format("  note      {}\n", note);
  if (!evaluation.how->sandbox.empty()) text += fmt::format("  sandbox   {}\n", evaluation.how->sandbox);
  text += fmt::format("  took      {}\n", StagesText(evaluation.how->stages));
  return text;
}

struct Subject {
  std::string path;
  Candidate candidate;
};

// One candidate's answer is its evaluation; that of several is a list of them, and yes if all are accepted.
class Report {
 public:
  Report(std::string problem, bool several) : problem_(std::move(problem)), several_(several) {}

  void Add(const Subject& subject, const Evaluation& evaluation) {
    nlohmann::json document = ToJson(evaluation);
    document["candidate"] = subject.candidate.Identity();
    if (!problem_.empty()) document["problem"] = problem_;
    if (several_) document["path"] = subject.path;
    documents_.push_back(std::move(document));
    text_ += (several_ ? subject.path + ": " : "") + Describe(evaluation);
    if (!evaluation.verdict.accepted()) code_ = ExitCode::kNo;
  }

  Answer Take(bool interrupted) {
    if (interrupted) {
      nlohmann::json document{{"interrupted", true}};
      if (!documents_.empty()) document["evaluations"] = documents_;
      return Answer(document, text_ + "interrupted", ExitCode::kInterrupted);
    }
    return Answer(several_ ? nlohmann::json{{"evaluations", documents_}} : documents_.front(), text_, code_);
  }

 private:
  std::string problem_, text_;
  bool several_;
  std::vector<nlohmann::json> documents_;
  ExitCode code_ = ExitCode::kDone;
};

Result<std::vector<Subject>> LoadSubjects(VerbCall& call) {
  std::vector<Subject> subjects;
  for (const std::string& path : call.Texts("candidate"))
    subjects.push_back({.path = path, .candidate = HONE_TRY(LoadCandidate(path))});
  if (subjects.empty()) {
    return Fail(ErrorKind::kUsage,
                "CANDIDATE is missing: hone evaluate PROBLEM CANDIDATE; `hone propose PROBLEM` writes one");
  }
  return subjects;
}

// A module runs on the processor and a plan on a device, whatever the target.
Result<bool> RunOnCuda(VerbCall& call, const std::vector<Subject>& subjects) {
  const bool named = HONE_TRY(WantsCuda(call));
  const auto on_cuda = [named](const Subject& subject) {
    const CandidateKind kind = subject.candidate.kind;
    return kind == CandidateKind::kPlan || kind == CandidateKind::kCudaModule ||
           (kind == CandidateKind::kProgram && named);
  };
  const bool first = on_cuda(subjects.front());
  for (const Subject& one : subjects) {
    if (on_cuda(one) == first) continue;
    return Fail(ErrorKind::kUsage, fmt::format("{} runs on {}, {} does not: evaluate them apart", subjects.front().path,
                                               first ? "a CUDA device" : "the processor", one.path));
  }
  return first;
}

Result<Answer> RunIt(VerbCall& call) {
  if (call.Flag("pending")) {
    for (const char* name : {"candidate", "target", "no-time", "budget", "dice", "range"}) {
      if (call.Has(name))
        return Fail(ErrorKind::kUsage, fmt::format("{} is of a candidate: hone evaluate RUN --pending", name));
    }
    return EvaluatePending(call);
  }
  const std::string range = call.Text("range");
  if (range != "own" && range != "full")
    return Fail(ErrorKind::kUsage, fmt::format("--range {}: it is own or full", range));
  const auto subjects = HONE_TRY(LoadSubjects(call));
  const bool several = subjects.size() > 1;
  const bool on_cuda = HONE_TRY(RunOnCuda(call, subjects));
  const auto wanted = call.Texts("baseline");
  const bool time = !call.Flag("no-time");
  const bool torch = time && !call.Flag("no-torch") && wanted != std::vector<std::string>{"naive"};
  if (on_cuda && !cuda::FindDevices()) {
    Report report("", several);
    for (const Subject& one : subjects) {
      report.Add(one, HONE_TRY(EvaluateWithoutDevice(call.Text("problem"), call.Text("python"), one.candidate)));
    }
    return report.Take(false);
  }
  Workbench bench = HONE_TRY(OpenWorkbench(call, call.Text("problem"),
                                           {.python = call.Text("python"),
                                            .torch = torch,
                                            .baselines = time ? wanted : std::vector<std::string>(),
                                            .threads = static_cast<int>(call.Int("threads")),
                                            .dice = call.Text("dice"),
                                            .cuda = on_cuda,
                                            .calibrate = false}));
  const EvaluateRequest request{
      .time = time,
      .timing_budget = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * call.Real("budget"))),
      .baselines = bench.baselines,
      .range_full = range == "full",
      .certify = call.Flag("certify"),
      .bound_us = bench.bound.least_us};
  const std::atomic<bool>& interrupted = call.CatchInterrupts();
  const InterruptWatch watch(interrupted, bench.evaluator());
  Report report(Identity(bench.problem), several);
  for (const Subject& one : subjects) {
    if (several) call.Progress(one.path);
    const auto evaluation = bench.evaluator().Evaluate(one.candidate, request);
    if (interrupted) return report.Take(true);
    if (!evaluation) return tl::unexpected<Error>(evaluation.error());
    report.Add(one, *evaluation);
  }
  return report.Take(false);
}

}  // namespace

HONE_ROW(Verb){
    .name = "evaluate",
    .doc = "Say whether a candidate is right, and how fast it is",
    .group = VerbGroup::kKernels,
    .place = 2,
    .help =
        "Runs the candidate in a sandbox on several draws of the problem's inputs, compares every element with an\n"
        "oracle in double precision, and times what is right beside the baselines (docs/evaluation.md).\n"
        "\n"
        "  hone evaluate problem.json kernel.hk\n"
        "  hone evaluate model.py kernel.cc --baseline eager --threads 4 --json\n"
        "  hone evaluate model.py kernel.hk --baseline eager --baseline my_triton.py:ModelNew\n"
        "  hone evaluate problem.json kernel.cu\n"
        "  hone evaluate problem.json plans/*.json --no-time\n"
        "  hone evaluate 3fa21c --pending   (docs/machines.md)\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "outcome, reason, evidence, accuracy, timing (microseconds), stages (milliseconds), sandbox, dice, notes, "
        "certificate (lines, with --certify), "
        "candidate and problem (identities); of several candidates: evaluations[], each with its path; with --pending: "
        "as of `hone optimize`, and pending (proposals that still wait)",
    .no = "a candidate is refused; with --pending: as of `hone optimize`",
    .run = RunIt};

}  // namespace hone::verb_evaluate
