#include "judge/judge.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>
#include <utility>

#include "graph/loop_nest.h"
#include "judge/samples.h"
#include "oracle/compare.h"
#include "target/cpu/compiler.h"
#include "target/device_model.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::int64_t kGiB = std::int64_t{1} << 30, kMiB = std::int64_t{1} << 20;
constexpr int kCheckViews = 5;    // addresses at which the second run of a draw is made, in turn
constexpr double kSoakUs = 2000;  // calls in a row before the last check, for what is right only at first
constexpr std::uint32_t kMostSoak = 64;
constexpr auto kIdleWatch = milliseconds(2);
constexpr std::uint64_t kIdleNs =
    500'000;  // processor time that all threads together may use while nothing is asked of them
constexpr double kAfterUs = 15, kAfterThreadUs = 10;
// A worker has an hour of processor time and a plan takes a second of it at most: long before, it is replaced. An odd
// number, so that of two workers that take turns it meets both.
constexpr int kMostServed = 201;
constexpr double kAfterDeviceUs = 20;
constexpr auto kClockPatience = milliseconds(2000);  // for a quiet moment
constexpr auto kLateWatch = milliseconds(1), kQuietWall = milliseconds(500);

double Ms(Clock::time_point begin) { return std::chrono::duration<double, std::milli>(Clock::now() - begin).count(); }

// At least `least`, then until no thread of it wants a processor; false if that does not come to pass. On a busy
// machine a thread that only wants to lie down may have to wait for its turn.
bool WaitUntilQuiet(const WorkerProcess& worker, milliseconds least) {
  const auto begin = Clock::now();
  std::this_thread::sleep_for(least);
  while (worker.Busy()) {
    if (Clock::now() - begin > kQuietWall) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<Judge>> Judge::Open(Problem problem, JudgeOptions options, const std::atomic<bool>* interrupt) {
  Graph graph = HONE_TRY(Graph::Create(std::move(problem)));
  auto judge = std::unique_ptr<Judge>(new Judge(std::move(graph), std::move(options), interrupt));
  HONE_TRY(judge->Enter(judge->options_.form));
  return judge;
}

Judge::Judge(Graph graph, JudgeOptions options, const std::atomic<bool>* interrupt)
    : graph_(std::move(graph)),
      options_(std::move(options)),
      dice_(options_.dice),
      interrupt_(interrupt),
      call_wall_(options_.call_wall) {
  const DeviceModel machine = DescribeMachine();
#ifdef __x86_64__
  flush_bytes_ =
      2 * machine.l2_bytes;  // tensors are flushed line by line; this is for code and the module's own memory
#else
  flush_bytes_ = std::min<std::int64_t>(2 * std::max(machine.l2_bytes, machine.l3_bytes), 256 * kMiB);
#endif
}

Result<void> Judge::Enter(Form form) {
  form_ = form;
  const std::uint64_t seed = dice_.ForDraws()();
  if (!OnDevice(form)) {
    if (!host_) {
      options_.stage("compiling the oracle");
      host_ = HONE_TRY(HostTrial::Create(graph_, seed, options_.threads));
      host_->OnStage(options_.stage);
    }
    trial_ = host_.get();
  } else {
    if (!device_) {
      options_.stage("compiling the oracle");
      device_ = HONE_TRY(DeviceTrial::Create(graph_, seed));
      device_->OnStage(options_.stage);
      // Baselines of tensors of gigabytes fill what the judge leaves. What they have measured is here; they start
      // again.
      device_->WhenFull([this] {
        for (const auto& [key, process] : outside_) process->End();
      });
      if (auto nvml = cuda::Nvml::Open(device_->device().uuid)) nvml_ = *nvml;
    }
    trial_ = device_.get();
    if (form == Form::kPlan) StartSpare();
  }
  return {};
}

Result<WorkerProcess> Judge::StartWorker(Form form, const std::string& library, IdleThreads idle,
                                         int outputs_descriptor) {
  while (form == Form::kPlan && !idle_.empty()) {
    WorkerProcess idle_one = std::move(idle_.front());
    idle_.pop_front();
    const WorkerAnswer alive = idle_one.Ask({}, call_wall_);
    if (alive.interrupted) return Fail(ErrorKind::kTimeout, "interrupted");
    if (alive.reply) return idle_one;
  }
  WorkerSetup setup = trial_->setup();
  setup.form = form;
  if (IsForeign(form)) setup.library = library;
  setup.threads = options_.threads;
  setup.views = kCheckViews;  // who is timed sees as many addresses as who is checked
  // Scratch memory of a few times the problem, and what the C library reserves for each thread: a stack and an arena.
  setup.allowance_bytes = 4 * trial_->problem_bytes() + kGiB + options_.threads * 160 * kMiB;
  setup.cpu_seconds = 3600;
  setup.flush_bytes = flush_bytes_;
  const WorkerOptions options{
      .program = options_.program, .sandbox = options_.sandbox, .idle = idle, .interrupt = interrupt_};
  if (form == Form::kCudaModule) return StartOnDevice(options, setup, outputs_descriptor);
  return WorkerProcess::Start(options, std::move(setup), trial_->input_descriptor(), outputs_descriptor);
}

Result<WorkerProcess> Judge::StartOnDevice(WorkerOptions options, const WorkerSetup& setup, int outputs_descriptor) {
  const bool required = options.sandbox == SandboxPolicy::kRequired;
  if (!device_wraps_ && !required) options.sandbox = SandboxPolicy::kProcess;
  auto worker = WorkerProcess::Start(options, setup, trial_->input_descriptor(), outputs_descriptor);
  std::string why;
  if (worker) {
    WorkerAnswer alive = worker->Ask({}, call_wall_);
    if (alive.interrupted) return Fail(ErrorKind::kTimeout, "interrupted");
    if (alive.reply) return worker;
    why = alive.verdict.reason;
  } else {
    why = worker.error().message;
  }
  const bool wrapped = options.sandbox == SandboxPolicy::kAuto && device_wraps_;
  if (!wrapped) return Fail(ErrorKind::kDevice, "a worker cannot open the device: " + why);
  device_wraps_ = false;
  return StartOnDevice(options, setup, outputs_descriptor);
}

void Judge::StartSpare() {
  if (form_ != Form::kPlan || !idle_.empty()) return;
  auto spare = StartWorker(Form::kPlan, "", IdleThreads::kSpin, trial_->output_descriptor());
  if (spare) idle_.push_back(std::move(*spare));  // if not, who needs one says why
}

void Judge::TakeBack(WorkerProcess worker, const JudgeRequest& request) {
  if (request.form != Form::kPlan || request.fresh_draws || ++served_ % kMostServed == 0) return;
  Request unload;
  unload.ask = Ask::kUnload;
  if (worker.Ask(unload, call_wall_).reply) idle_.push_back(std::move(worker));
}

Result<Request> Judge::Loading(Form form, const std::string& library, bool guard_inputs) {
  Request load;
  load.ask = Ask::kLoad;
  load.guard_inputs = guard_inputs;
  if (IsForeign(form)) return load;  // its worker knows it from its start
  if (library.size() >= sizeof load.library)
    return Fail(ErrorKind::kUsage, "the path of the build cache is too long: set HONE_CACHE to a shorter one");
  std::strncpy(load.library, library.c_str(), sizeof load.library - 1);
  return load;
}

Result<Evaluation> Judge::Evaluate(const JudgeRequest& request) {
  const auto begin = Clock::now();
  HONE_TRY(Enter(request.form));
  full_range_ = request.range_full;
  if (request.fresh_draws) {
    ++dice_.draws;
    const std::uint64_t seed = dice_.ForDraws()();
    if (host_) host_->Renew(seed);
    if (device_) device_->Renew(seed);
    baselines_.erase("naive");  // it works with the old inputs
    idle_.clear();              // they have seen other plans
    StartSpare();
  }
  Evaluation evaluation{.dice = ToString(dice_)};
  double call_us = 0;
  HONE_TRY(Check(request, evaluation, call_us));
  evaluation.stages.check_ms = Ms(begin);
  if (request.time && evaluation.verdict.accepted()) {
    const auto timing = Clock::now();
    const Evaluation checked = evaluation;
    HONE_TRY(Time(request, evaluation, call_us));
    if (std::exchange(clock_doubted_, false)) {
      // A burst of somebody else's work makes long batches slow and short ones not, as a lying clock does. So all of
      // it again, with a fresh worker, in a quiet moment: its word counts.
      WatchMachine([] { return 0.0; }).AwaitQuiet(Clock::now() + kClockPatience, interrupt_);
      evaluation = checked;
      HONE_TRY(Time(request, evaluation, call_us));
      clock_doubted_ = false;
    }
    evaluation.stages.timing_ms = Ms(timing);
    if (!evaluation.verdict.accepted()) evaluation.timing.reset();
  }
  StartSpare();
  evaluation.stages.total_ms = Ms(begin);
  return evaluation;
}

struct Judge::Checking {
  const JudgeRequest& request;
  WorkerProcess worker;
  Verdict& verdict;
  bool reproducible = true, official = true;
  bool componentwise = true;  // not by the norm of the error only
  double over_budget = 0, over_honest = 0;
  double call_us = 0;
  std::vector<double> after_us{};  // of each run

  // The reply, or the verdict filled in with where it happened.
  Result<std::optional<Reply>> Ask(const Request& question, milliseconds wall, const std::string& draw) {
    WorkerAnswer answer = worker.Ask(question, wall);
    if (answer.interrupted) return Fail(ErrorKind::kTimeout, "interrupted");
    if (answer.reply) return answer.reply;
    verdict = std::move(answer.verdict);
    verdict.evidence.draw = draw;
    return std::nullopt;
  }
};

Result<bool> Judge::CompareSlot(const DrawnInputs& drawn, std::size_t slot, std::uint16_t poison, Verdict& verdict) {
  for (std::size_t i = 0; i < trial_->outputs(); ++i) {
    const Tensor& tensor = trial_->output(i);
    if (const auto trespass = HONE_TRY(trial_->FindTrespass(slot, i))) {
      verdict = Verdict{};
      verdict.outcome = Outcome::kOutOfBounds;
      verdict.evidence.draw = drawn.name;
      verdict.evidence.output = tensor.name;
      verdict.reason = trespass->offset < 0
                           ? fmt::format("wrote {} bytes before the start of output '{}' ({} bytes in all)",
                                         -trespass->offset, tensor.name, trespass->count)
                           : fmt::format("wrote {} bytes past the end of output '{}' ({} bytes in all)",
                                         trespass->offset - tensor.bytes() + 1, tensor.name, trespass->count);
      return false;
    }
  }
  for (std::size_t i = 0; i < trial_->outputs(); ++i) {
    auto check = HONE_TRY(trial_->Compare(drawn, slot, i, poison));
    if (!check.right() && drawn.outliers && !full_range_) {
      const auto norm = HONE_TRY(trial_->CompareNorm(drawn, slot, i, poison));
      if (norm.right() && !check.unlike) {
        verdict.range = "normwise";
        check = {.error_over_budget = std::sqrt(norm.errors / norm.budgets)};
      }
    }
    verdict.error_over_budget = std::max(verdict.error_over_budget, check.error_over_budget);
    const double honest = drawn.honest_ratio[i];
    verdict.error_over_honest =
        std::max(verdict.error_over_honest,
                 check.error_over_budget * kBudgetFactor * std::max(1.0, honest) / (honest > 0 ? honest : 1.0));
    if (drawn.own) verdict.official_allclose = verdict.official_allclose.value_or(true) && check.official;
    if (!check.right()) {
      verdict = WrongVerdict(trial_->output(i), check, drawn.name);
      return false;
    }
  }
  return true;
}

Result<bool> Judge::InputsAreWhole(const DrawnInputs& drawn, std::size_t slot, Verdict& verdict) {
  const auto changed = HONE_TRY(trial_->FindChangedInput(drawn, slot));
  if (!changed) return true;
  verdict = {};
  verdict.outcome = Outcome::kInputModified;
  verdict.reason = fmt::format("wrote to {} '{}' or around it, at byte {}; it is read-only",
                               changed->parameter ? "parameter" : "input", changed->name, changed->offset);
  verdict.evidence.draw = drawn.name;
  return false;
}

Result<bool> Judge::StillWrites(Checking& checking, const DrawnInputs& drawn, std::size_t slot, std::uint16_t poison,
                                const Verdict& seen) {
  WaitUntilQuiet(checking.worker, kLateWatch);
  Verdict later;
  if (!HONE_TRY(CompareSlot(drawn, slot, poison, later)) &&
      later.evidence.wrong_elements == seen.evidence.wrong_elements)
    return false;
  checking.verdict = {};
  checking.verdict.outcome = Outcome::kSuspicious;
  checking.verdict.reason = fmt::format("hone_run returned before output '{}' was written: it still changed afterwards",
                                        seen.evidence.output);
  checking.verdict.evidence.draw = drawn.name;
  return true;
}

Result<bool> Judge::CheckDraw(Checking& checking, std::size_t which) {
  const auto at_hand = HONE_TRY(trial_->Draw(which));
  const DrawnInputs& drawn = *at_hand;
  HONE_TRY(trial_->Load(drawn, 0));
  HONE_TRY(trial_->Poison(0, kPoison));
  HONE_TRY(trial_->Poison(1, kOtherPoison));
  Request prepare, run, again, release;
  prepare.ask = Ask::kPrepare;
  run.ask = again.ask = Ask::kRun;
  release.ask = Ask::kRelease;
  // The same inputs at another address: for the first draws one where none were before.
  again.slots[1] = 1;
  again.view = static_cast<std::uint32_t>(1 + which % (kCheckViews - 1));
  if (!HONE_TRY(checking.Ask(prepare, call_wall_, drawn.name))) return false;

  // The same address for every draw: what remembers by address gives the first draw's outputs.
  const auto first_reply = HONE_TRY(checking.Ask(run, call_wall_, drawn.name));
  if (!first_reply) return false;
  checking.call_us = static_cast<double>(first_reply->nanoseconds) / 1000;
  checking.after_us.push_back(static_cast<double>(first_reply->after_ns) / 1000);
  if (first_reply->persisting_bytes > 0) {
    checking.verdict = {};
    checking.verdict.outcome = Outcome::kSuspicious;
    checking.verdict.reason = fmt::format(
        "set {} bytes of the second-level cache aside: what lies there is not as cold as a cold call has to find it",
        first_reply->persisting_bytes);
    return false;
  }
  if (!HONE_TRY(InputsAreWhole(drawn, 0, checking.verdict))) return false;
  Verdict first;
  const bool first_right = HONE_TRY(CompareSlot(drawn, 0, kPoison, first));
  if (!first_right) {
    if (HONE_TRY(StillWrites(checking, drawn, 0, kPoison, first))) return false;
    if (first.outcome == Outcome::kOutOfBounds) {
      checking.verdict = first;
      return false;
    }
  }
  const auto second_reply = HONE_TRY(checking.Ask(again, call_wall_, drawn.name));
  if (!second_reply) return false;
  checking.after_us.push_back(static_cast<double>(second_reply->after_ns) / 1000);
  if (!HONE_TRY(InputsAreWhole(drawn, 0, checking.verdict))) return false;
  bool same = first_right;
  for (std::size_t i = 0; i < trial_->outputs() && same; ++i)
    same = HONE_TRY(trial_->SameOutput(0, 1, i)) && !HONE_TRY(trial_->FindTrespass(1, i));
  Verdict second = first;
  const bool second_right = same || HONE_TRY(CompareSlot(drawn, 1, kOtherPoison, second));
  if (!second_right && HONE_TRY(StillWrites(checking, drawn, 1, kOtherPoison, second))) return false;
  if (which == 0 && first_right && second_right && checking.request.form == Form::kCudaModule &&
      !HONE_TRY(CheckOrder(checking, drawn)))
    return false;
  if (!HONE_TRY(checking.Ask(release, call_wall_, drawn.name))) return false;

  if (first_right && second_right) {
    checking.reproducible &= same;
    checking.componentwise &= first.range.empty() && second.range.empty();
    checking.over_budget = std::max({checking.over_budget, first.error_over_budget, second.error_over_budget});
    checking.over_honest = std::max({checking.over_honest, first.error_over_honest, second.error_over_honest});
    checking.official &= second.official_allclose.value_or(true);
    return true;
  }
  checking.verdict = first_right ? second : first;
  if (!first_right && first.outcome == Outcome::kWrongResult) {
    // At this address were the earlier draws' inputs: what remembers by address is right at the new one.
    for (std::size_t earlier = 0; earlier < which; ++earlier) {
      Verdict unused;
      const auto other = trial_->AtHand(earlier);
      if (!other || !HONE_TRY(CompareSlot(*other, 0, kPoison, unused))) continue;
      checking.verdict.reason +=
          fmt::format("; these would be right as the outputs of an earlier call (inputs: {})", other->name);
      return false;
    }
  }
  if (first_right != second_right && checking.verdict.outcome != Outcome::kOutOfBounds) {
    checking.verdict.reason = fmt::format("right once and wrong once on the same inputs: {}", checking.verdict.reason);
    checking.verdict.outcome = Outcome::kNondeterministic;
    return false;
  }
  const bool wrong =
      checking.verdict.outcome == Outcome::kWrongResult || checking.verdict.outcome == Outcome::kNonfinite;
  if (wrong && OnDevice(checking.request.form)) HONE_TRY(TrySharedMemory(checking, drawn));
  if (checking.verdict.outcome != Outcome::kWrongResult) return false;
  // What kind of wrong it is helps whoever has to mend it.
  for (std::size_t o = 0; o < trial_->outputs(); ++o) {
    for (std::size_t i = 0; i < trial_->inputs(); ++i) {
      if (!HONE_TRY(trial_->IsCopy(0, o, i))) continue;
      checking.verdict.reason += fmt::format("; the output is a copy of input '{}'", trial_->input(i).name);
      return false;
    }
  }
  return false;
}

Result<bool> Judge::CheckOrder(Checking& checking, const DrawnInputs& drawn) {
  HONE_TRY(trial_->Load(drawn, 0));
  HONE_TRY(trial_->Poison(0, kPoison));
  HONE_TRY(trial_->Poison(1, kPoison));
  Request run;
  run.ask = Ask::kRun;
  run.held = 1;
  const auto reply = HONE_TRY(checking.Ask(run, call_wall_, drawn.name));
  if (!reply) return false;
  bool untouched = true;  // slot 1 is
  for (std::size_t i = 0; i < trial_->outputs() && untouched; ++i) untouched = HONE_TRY(trial_->SameOutput(0, 1, i));
  Request ping;
  if (!HONE_TRY(checking.Ask(ping, call_wall_, drawn.name))) return false;
  // A module that waits in hone_run has been let go by then: it pays for the wait in its time.
  if (untouched || reply->held == 0) return true;
  checking.verdict = {};
  checking.verdict.outcome = Outcome::kSuspicious;
  checking.verdict.reason =
      "wrote outputs before its stream came to it: work on other streams has to wait for call->stream, too";
  checking.verdict.evidence.draw = drawn.name;
  return false;
}

Result<void> Judge::TrySharedMemory(Checking& checking, const DrawnInputs& drawn) {
  HONE_TRY(trial_->Load(drawn, 0));
  HONE_TRY(trial_->Poison(0, kPoison));
  Request prepare, run;
  prepare.ask = Ask::kPrepare;
  run.ask = Ask::kRun;
  run.keep_shared = 1;
  const WorkerAnswer prepared = checking.worker.Ask(prepare, call_wall_);
  if (!prepared.reply || !checking.worker.Ask(run, call_wall_).reply) return {};  // the verdict stands
  Verdict unused;
  if (HONE_TRY(CompareSlot(drawn, 0, kPoison, unused))) {
    checking.verdict.reason +=
        "; right when shared memory is not filled with NaNs before the call: it reads some that it has not written";
  }
  return {};
}

// Many calls in a row, then one that is looked at; then a look at what the worker does when nothing is asked of it.
Result<bool> Judge::CheckSoak(Checking& checking) {
  // Which draw does not matter: where memory is scarce, the one that was checked last rather than one made anew.
  const auto at_hand = HONE_TRY(trial_->Draw(trial_->AtHand(0) ? 0 : kWideDraw - 1));
  const DrawnInputs& drawn = *at_hand;
  HONE_TRY(trial_->Load(drawn, 0));
  Request ask;
  ask.ask = Ask::kPrepare;
  if (!HONE_TRY(checking.Ask(ask, call_wall_, drawn.name))) return false;
  ask.ask = Ask::kRun;
  ask.count = static_cast<std::uint32_t>(
      std::clamp(kSoakUs / std::max(checking.call_us, 1.0), 2.0, static_cast<double>(kMostSoak)));
  if (!HONE_TRY(checking.Ask(ask, call_wall_ * ask.count, drawn.name))) return false;
  HONE_TRY(trial_->Poison(0, kPoison));
  ask.count = 1;
  if (!HONE_TRY(checking.Ask(ask, call_wall_, drawn.name))) return false;
  const auto used = checking.worker.ProcessorNanoseconds();
  const auto since = Clock::now();
  Verdict seen;
  const bool right = HONE_TRY(CompareSlot(drawn, 0, kPoison, seen));
  const bool quiet = WaitUntilQuiet(checking.worker, kIdleWatch);
  const auto idle = checking.worker.ProcessorNanoseconds() - used;
  const double watched_ms = Ms(since);
  if (!quiet || idle > kIdleNs) {
    checking.verdict = {};
    checking.verdict.outcome = Outcome::kSuspicious;
    checking.verdict.reason =
        fmt::format("went on computing after hone_run had returned: {:.1f} ms of processor time within {:.1f} ms",
                    static_cast<double>(idle) / 1e6, watched_ms);
    return false;
  }
  // An OpenMP thread that lies down takes a few microseconds. A module that hands its work to a thread and returns
  // takes as long as the work, and the clocks see nothing of it.
  const double after_us = Median(checking.after_us);
  if (OnDevice(checking.request.form) && after_us > kAfterDeviceUs && after_us > 0.1 * checking.call_us) {
    checking.verdict = {};
    checking.verdict.outcome = Outcome::kSuspicious;
    checking.verdict.reason = fmt::format(
        "the device worked for {:.0f} us after the stream was done: all work belongs on call->stream, or on streams "
        "that it waits for",
        after_us);
    return false;
  }
  if (!OnDevice(checking.request.form) && after_us > kAfterUs + kAfterThreadUs * options_.threads &&
      after_us > 0.1 * checking.call_us) {
    checking.verdict = {};
    checking.verdict.outcome = Outcome::kSuspicious;
    checking.verdict.reason = fmt::format(
        "went on computing after hone_run had returned: {:.0f} us of processor time in other threads", after_us);
    return false;
  }
  if (!right) {
    checking.verdict = seen;
    checking.verdict.reason = "right in its first calls only: " + checking.verdict.reason;
    return false;
  }
  ask.ask = Ask::kRelease;
  return HONE_TRY(checking.Ask(ask, call_wall_, drawn.name)).has_value();
}

Result<void> Judge::Check(const JudgeRequest& request, Evaluation& evaluation, double& call_us) {
  const auto drawing = Clock::now();
  HONE_TRY(trial_->Draw(0));
  // What takes the oracle long may take a candidate long: it computes everything three times, but on all threads.
  call_wall_ = std::max(call_wall_, milliseconds(static_cast<std::int64_t>(4 * Ms(drawing))));
  // Nobody shall find another candidate's outputs.
  for (std::size_t slot = 0; slot < trial_->slots(); ++slot) HONE_TRY(trial_->Poison(slot, kPoison));

  Checking checking{
      .request = request,
      .worker = HONE_TRY(StartWorker(request.form, request.library, IdleThreads::kSleep, trial_->output_descriptor())),
      .verdict = evaluation.verdict};
  evaluation.sandbox = checking.worker.sandbox();
  if (request.time) StartSpare();
  const Request load = HONE_TRY(Loading(request.form, request.library, false));
  if (!HONE_TRY(checking.Ask(load, call_wall_, ""))) return {};
  options_.stage("judging");
  for (std::size_t which = 0; which < kWideDraw; ++which) {
    if (!HONE_TRY(CheckDraw(checking, which))) return {};
  }
  if (!HONE_TRY(CheckSoak(checking))) return {};
  call_us = checking.call_us;

  Verdict accepted;
  accepted.outcome = Outcome::kAccepted;
  accepted.error_over_budget = checking.over_budget;
  accepted.error_over_honest = checking.over_honest;
  accepted.official_allclose = checking.official;
  accepted.bit_reproducible = checking.reproducible;
  const bool wide = HONE_TRY(CheckDraw(checking, kWideDraw));
  const Outcome outcome = evaluation.verdict.outcome;
  const bool imprecise =
      outcome == Outcome::kWrongResult || outcome == Outcome::kNonfinite || outcome == Outcome::kNondeterministic;
  if (!wide && (request.range_full || !imprecise)) return {};  // a crash is a crash on any inputs
  accepted.range = wide && checking.componentwise ? "componentwise" : "normwise";
  evaluation.verdict = std::move(accepted);
  TakeBack(std::move(checking.worker), request);
  return {};
}

}  // namespace hone
