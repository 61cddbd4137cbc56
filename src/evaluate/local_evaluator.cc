#include "evaluate/local_evaluator.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/date.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/json_text.h"
#include "base/process.h"
#include "evaluate/certify.h"
#include "evaluate/compile_ahead.h"
#include "evaluate/kept_baselines.h"
#include "judge/judge_lines.h"
#include "target/cuda/visible_devices.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;
using std::chrono::milliseconds;

// A judge that hangs is our bug or the machine's; its own walls end candidates long before.
constexpr auto kJudgeWall = std::chrono::hours(6);
// A judge that was asked to stop and does not, since it is in the midst of the oracle or waits for a compiler, is
// ended: nothing that it holds is worth a user's waiting.
constexpr auto kInterruptGrace = milliseconds(500);
constexpr auto kLook = milliseconds(50);
constexpr auto kGone = milliseconds(5000);  // a driver takes tens of milliseconds to give gigabytes back

double Ms(Clock::time_point begin) { return std::chrono::duration<double, std::milli>(Clock::now() - begin).count(); }

int AllowedCores() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? std::max(1, CPU_COUNT(&allowed)) : 1;
}

EvaluatorOptions WithProgram(EvaluatorOptions options) {
  if (options.program.empty()) options.program = OwnPath();
  return options;
}

class LocalEvaluator : public Evaluator {
 public:
  LocalEvaluator(const Problem& problem, EvaluatorOptions options)
      : problem_(problem),
        options_(WithProgram(std::move(options))),
        kept_(options_.kept_baselines, options_.kept_about) {}

  ~LocalEvaluator() override {
    ahead_.reset();  // it compiles with all of this
    EndJudge();
  }
  LocalEvaluator(const LocalEvaluator&) = delete;
  LocalEvaluator& operator=(const LocalEvaluator&) = delete;

  // It gets ready for what it can without a device.
  Result<void> StartJudge() {
    EndJudge();
    if (Interrupted()) return Fail(ErrorKind::kInterrupted, "interrupted");
    Command command{.argv = {options_.program, "judge"}, .environment = InheritedEnvironment()};
    std::vector<const char*> names{"HONE_CACHE", "HONE_CACHE_MAX", "HONE_DATA", "HONE_CXX"};
    names.insert(names.end(), {"HONE_CUDA", "CUDA_HOME", "CUDA_PATH"});  // target/cuda/toolkit.h
#ifdef __SANITIZE_THREAD__
    names.insert(names.end(), {"TSAN_OPTIONS", "OMP_THREAD_LIMIT"});
#endif
    for (const char* name : names) {
      if (const char* value = std::getenv(name)) command.environment.push_back(fmt::format("{}={}", name, value));
    }
    cuda::ShowDevices(command.environment, options_.device);
    cuda::UseOneQueue(command.environment);
    judge_ = HONE_TRY(Child::Start(command));
    return judge_->WriteLine(OpeningLine());
  }

  // Once for each judge. One that does not open is not asked again.
  Result<void> OpenJudge() {
    if (opened_) return {};
    auto opened = TryToOpen();
    if (!opened) EndJudge();
    return opened;
  }

  Result<void> TryToOpen() {
    const auto begin = Clock::now();
    const double waited_before_ms = waited_ms_;
    auto begun = Hear();
    if (!begun) return Rethrow(begun.error(), "cannot start the judge: ");
    // Only now: the oracle, which is compiled by then, and what is tried first had all of the processors for a while.
    if (ahead_) ahead_->Go();
    HONE_TRY(TakeDevice());
    auto opened = Ask(Line("open", true));
    if (!opened) return Rethrow(opened.error(), "cannot start the judge: ");
    const auto said = opened->find("open");
    if (said == opened->end()) return Fail(ErrorKind::kCorrupt, "the judge did not say that it is open");
    no_energy_ = HONE_TRY(FromRecord<JudgeOpened>(*said, "what a judge says when it opens")).no_energy;
    opened_ = true;
    opening_ms_ = Ms(begin) - (waited_ms_ - waited_before_ms);
    return {};
  }

  Result<void> TakeDevice() {
    if (!options_.take_device) return {};
    const auto begin = Clock::now();
    auto taken = options_.take_device();
    waited_ms_ += Ms(begin);
    return taken;
  }

  Result<void> GetReady(const Candidate& first) override {
    interrupt_asked_ = false;
    Evaluation unused;
    HONE_TRY(compiler_.Compile(first, unused));  // what is wrong with it is found again, and said, in its turn
    if (judge_ && judge_->Running()) return OpenJudge();
    HONE_TRY(StartJudge());
    return OpenJudge();
  }

  Result<Evaluation> Evaluate(const Candidate& candidate, const EvaluateRequest& request) override {
    const auto begin = Clock::now();
    const std::int64_t begun_ms = UnixMilliseconds();
    interrupt_asked_ = false;
    Evaluation evaluation;
    Tell("compiling");
    const double waited_before_ms = waited_ms_;
    const CompiledCandidate compiled = HONE_TRY(CompileOrRest(candidate, evaluation));
    const double compile_ms = Ms(begin);
    if (!compiled.file.empty()) {
      if (Interrupted()) return Fail(ErrorKind::kInterrupted, "interrupted");
      const bool cached = evaluation.how->stages.compile_cached;
      evaluation = HONE_TRY(AskJudge(JudgeRequestOf(compiled, candidate, request)));
      evaluation.how->stages.compile_cached = cached;
      if (evaluation.timing && !options_.missing.empty()) evaluation.how->notes.push_back(options_.missing);
      if (request.certify && evaluation.verdict.accepted()) HONE_TRY(CertifyIt(compiled, evaluation));
    }
    evaluation.how->stages.compile_begun_ms = begun_ms;
    evaluation.how->stages.compile_ms = compile_ms;
    evaluation.how->stages.total_ms = Ms(begin) - (waited_ms_ - waited_before_ms);
    return evaluation;
  }

  // What was opened is opened again later: leaving is worth it only once as much time has gone by for nothing.
  void Rest() override {
    constexpr double kShort_ms = 1000, kOpeningsWorth = 2;
    if (!opened_ || !options_.device_wanted) return;
    if (!resting_since_) resting_since_ = Clock::now();
    if (Ms(*resting_since_) < std::max(kShort_ms, kOpeningsWorth * opening_ms_) || !options_.device_wanted()) return;
    EndJudge();
    options_.leave_device();
    auto started = StartJudge();  // gets ready for what needs no device; a failure is found again when it is asked
  }

  Result<Evaluation> CompileIt(const Candidate& candidate) const {
    const auto begin = Clock::now();
    Evaluation evaluation;
    HONE_TRY(compiler_.Compile(candidate, evaluation));
    evaluation.how->stages.compile_ms = evaluation.how->stages.total_ms = Ms(begin);
    return evaluation;
  }

  bool Knows(const std::string& baseline) const override {
    return !options_.kept_baselines.empty() && kept_.Find(baseline) != nullptr;
  }

  // Nobody has said anything before the judge is open: MeasureEnergy does then.
  std::string WhyNoEnergy() const override { return no_energy_; }

  Result<std::vector<EnergyOrWhy>> MeasureEnergy(const std::vector<Candidate>& candidates,
                                                 const std::vector<double>& call_us,
                                                 const EnergyRequest& request) override {
    interrupt_asked_ = false;
    EnergyQuestion question{.candidates = {}, .asked = request};
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      Evaluation unused;
      const CompiledCandidate compiled = HONE_TRY(compiler_.Compile(candidates[i], unused));
      if (compiled.file.empty())
        return Fail(ErrorKind::kTool, "what was accepted does not compile any more: " + unused.verdict.reason);
      question.candidates.push_back({.form = compiled.form, .library = compiled.file, .call_us = call_us[i]});
    }
    const auto content = HONE_TRY(AskJudgeTwice(Line("energy", ToRecord(question))));
    const auto said = content.find("energy");
    if (said == content.end()) return Fail(ErrorKind::kCorrupt, "the judge answered something else than energies");
    auto answer = HONE_TRY(FromRecord<EnergyAnswer>(*said, "the judge's answer about energy"));
    if (answer.of.size() != candidates.size()) return Fail(ErrorKind::kCorrupt, "the judge left an energy out");
    return std::move(answer.of);
  }

  void Foresee(std::vector<Candidate> likely) override {
    if (ahead_) ahead_->Want(std::move(likely));
  }

  CompilersUse Compilers() const override { return ahead_ ? ahead_->use() : CompilersUse(); }

  void StartCompilers() {
    if (options_.jobs <= 0) return;
    CompileAheadOptions ahead{.threads = options_.jobs,
                              .places = CompilerPlaces(CacheDirectory() + "/compilers", options_.jobs)};
    ahead_ = std::make_unique<CompileAhead>(std::move(ahead), [this](const Candidate& candidate) {
      Evaluation unused;
      auto compiled =
          compiler_.Compile(candidate, unused);  // what is wrong with it is found again, and said, in its turn
    });
    if (opened_) ahead_->Go();
  }

  void Interrupt() override {
    interrupt_asked_ = true;
    if (const pid_t pid = asking_; pid > 0) kill(pid, SIGUSR1);
  }

 private:
  // What takes long to compile keeps nobody from the device.
  Result<CompiledCandidate> CompileOrRest(const Candidate& candidate, Evaluation& evaluation) {
    if (!options_.device_wanted) return compiler_.Compile(candidate, evaluation);
    auto compiling = std::async(std::launch::async, [&] { return compiler_.Compile(candidate, evaluation); });
    while (compiling.wait_for(kLook) == std::future_status::timeout) Rest();
    return compiling.get();
  }

  std::string OpeningLine() const {
    JudgeOpening opening{.problem = ToJson(problem_), .folder = problem_.folder, .options = options_};
    std::erase_if(opening.options.expected, [this](const std::string& name) { return kept_.Find(name) != nullptr; });
    return Line("begin", ToRecord(opening));
  }

  static std::string Line(const char* what, json content) { return JsonText(json{{what, std::move(content)}}); }

  Result<void> CertifyIt(const CompiledCandidate& compiled, Evaluation& evaluation) const {
    return Certify({.problem = problem_,
                    .form = compiled.form,
                    .built = compiled.file,
                    .program = options_.program,
                    .device = options_.device},
                   evaluation);
  }

  bool Interrupted() const { return interrupt_asked_ || InterruptFlag(); }

  void Tell(std::string_view stage) const { options_.stage(stage); }

  // A line of the judge's, who is asked to stop when we are.
  Result<std::string> ReadAnswer() {
    asking_ = judge_->pid();
    const auto wall = Clock::now() + kJudgeWall;
    std::optional<Clock::time_point> interrupted;
    for (;;) {
      auto line = judge_->ReadLine(kLook);
      const auto now = Clock::now();
      const bool waiting = !line && line.error().kind == ErrorKind::kTimeout && now < wall;
      if (waiting && Interrupted() && !interrupted) {
        interrupted = now;
        kill(judge_->pid(), SIGUSR1);
      }
      const bool deaf = waiting && interrupted && now - *interrupted > kInterruptGrace;
      if (waiting && !deaf) continue;
      asking_ = -1;
      if (!deaf) return line;
      EndJudge();
      return Fail(ErrorKind::kInterrupted, "interrupted");
    }
  }

  // Nothing that it had on a device is left there.
  void EndJudge() {
    opened_ = false;
    if (!judge_) return;
    AllBelow below(judge_->pid());
    judge_.reset();
    if (options_.form != Form::kModule) below.End(kGone);
  }

  // One line to the judge, and its answer's content.
  Result<json> Ask(const std::string& line) {
    HONE_TRY(judge_->WriteLine(line));
    return Hear();
  }

  Result<json> Hear() {
    json content;
    do {
      const std::string answer = HONE_TRY(ReadAnswer());
      content = json::parse(answer, nullptr, false);
      if (!content.is_object()) return Fail(ErrorKind::kCorrupt, "the judge answered " + answer.substr(0, 200));
      if (content.contains("stage")) Tell(content.value("stage", ""));
    } while (content.contains("stage"));
    if (const auto error = content.find("error"); error != content.end()) {
      answered_ = true;
      return tl::unexpected<Error>(HONE_TRY(FromRecord<Error>(*error, "an error of the judge's")));
    }
    return content;
  }

  JudgeRequest JudgeRequestOf(const CompiledCandidate& compiled, const Candidate& candidate,
                              const EvaluateRequest& request) const {
    JudgeRequest made{.form = compiled.form,
                      .library = compiled.file,
                      .ours = candidate.kind == CandidateKind::kProgram,
                      .asked = request};
    if (options_.kept_baselines.empty()) return made;
    for (const std::string& name : request.baselines) {
      const bool in_turn = std::find(request.in_turn.begin(), request.in_turn.end(), name) != request.in_turn.end();
      if (const KnownBaseline* one = in_turn ? nullptr : kept_.Find(name)) made.known[name] = *one;
    }
    for (const std::string& name : request.in_turn) {
      if (const KnownBaseline* one = kept_.Find(name)) made.earlier_us[name] = one->warm.median_us;
    }
    return made;
  }

  Result<void> KeepBaselines(const Evaluation& evaluation) {
    if (options_.kept_baselines.empty() || !evaluation.timing) return {};
    for (const Comparison& one : evaluation.timing->against) {
      // A user's own module may read other files, which nobody knows: it is timed anew.
      const auto outside = [&](const OutsideBaseline& baseline) {
        return baseline.name == one.baseline && !baseline.own;
      };
      if (one.rounds > 0 && one.disturbed.empty() &&
          std::any_of(options_.outside.begin(), options_.outside.end(), outside)) {
        HONE_TRY(kept_.Keep(one.baseline, {.warm = one.baseline_hidden.value_or(one.baseline_warm),
                                           .cold = one.baseline_cold,
                                           .dispatched = one.baseline_dispatched}));
      }
    }
    return {};
  }

  Result<Evaluation> AskJudge(const JudgeRequest& request) {
    const json content = HONE_TRY(AskJudgeTwice(Line("evaluate", ToRecord(request))));
    if (!content.contains("evaluation"))
      return Fail(ErrorKind::kCorrupt, "the judge answered something else than an evaluation");
    auto evaluation = HONE_TRY(ParseEvaluation(content["evaluation"]));
    HONE_TRY(KeepBaselines(evaluation));
    return evaluation;
  }

  Result<json> AskJudgeTwice(const std::string& line) {
    resting_since_.reset();
    for (int attempt = 0;; ++attempt) {
      if (!judge_ || !judge_->Running()) HONE_TRY(StartJudge());
      HONE_TRY(OpenJudge());
      answered_ = false;
      auto content = Ask(line);
      if (content) return content;
      // An error that the judge reports is the answer; a judge that is gone gets one successor.
      if (answered_ || Interrupted()) return tl::unexpected<Error>(content.error());
      EndJudge();
      if (attempt == 1) return Rethrow(content.error(), "the judge was lost twice on this candidate: ");
    }
  }

  Problem problem_;
  EvaluatorOptions options_;
  const CandidateCompiler compiler_{problem_, options_.lower, options_.device, options_.program};
  KeptBaselines kept_;
  std::optional<Child> judge_;
  bool opened_ = false;    // it has answered that
  std::string no_energy_;  // as the judge says it
  bool answered_ = false;
  double waited_ms_ = 0;                            // for the device, by all evaluations
  double opening_ms_ = 0;                           // what it last took, without that
  std::optional<Clock::time_point> resting_since_;  // nothing was asked of the judge
  std::atomic<pid_t> asking_ = -1;                  // the judge, while it works
  std::atomic<bool> interrupt_asked_ = false;
  std::unique_ptr<CompileAhead> ahead_;  // gone first: it compiles with all of the above
};

}  // namespace

Result<Evaluation> CompileOnly(const Problem& problem, Lowering lower, const Candidate& candidate,
                               std::string program) {
  EvaluatorOptions options;
  options.program = std::move(program);
  options.lower = std::move(lower);
  return LocalEvaluator(problem, std::move(options)).CompileIt(candidate);
}

Result<std::unique_ptr<Evaluator>> StartEvaluator(const Problem& problem, EvaluatorOptions options) {
  if (options.threads <= 0) options.threads = AllowedCores();
  // Writing to a judge that is gone is an error to handle, not a reason to end.
  struct sigaction now{};
  if (sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
  const bool shared = options.take_device != nullptr;
  auto evaluator = std::make_unique<LocalEvaluator>(problem, std::move(options));
  HONE_TRY(evaluator->StartJudge());
  if (!shared) HONE_TRY(evaluator->OpenJudge());
  evaluator->StartCompilers();
  return evaluator;
}

}  // namespace hone
