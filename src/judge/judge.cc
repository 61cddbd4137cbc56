#include "judge/judge.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <thread>
#include <utility>

#include "analysis/cost.h"
#include "base/date.h"
#include "judge/gate.h"
#include "oracle/device_oracle.h"
#include "target/cuda/device_calibration.h"
#include "target/device_model.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr double kFirstLookS = 0.7;  // of draws that decide, for one of many attempts
constexpr std::int64_t kGiB = std::int64_t{1} << 30, kMiB = std::int64_t{1} << 20;
constexpr double kSoakUs = 2000;  // calls in a row before the last check, for what is right only at first
constexpr std::uint32_t kMostSoak = 64;
// A worker has an hour of processor time and a plan takes a second of it at most: long before, it is replaced. An odd
// number, so that of two workers that take turns it meets both.
constexpr int kMostServed = 201;
constexpr auto kClockPatience = milliseconds(2000);  // for a quiet moment

// The baselines that have to be timed.
std::vector<std::string> Unknown(const JudgeRequest& request) {
  std::vector<std::string> names;
  for (const std::string& name : request.asked.baselines) {
    if (!request.known.contains(name)) names.push_back(name);
  }
  return names;
}

double Ms(Clock::time_point begin) { return std::chrono::duration<double, std::milli>(Clock::now() - begin).count(); }

std::string FirstLookNote(std::size_t draws, const Trial& trial) {
  std::size_t all = 0;
  for (std::size_t which = 0; which < kWideDraw; ++which) all += trial.Has(which) ? 1 : 0;
  return fmt::format(
      "a first look, as the oracle takes long: {} of {} draws have decided, and all do of who is confirmed", draws,
      all);
}

Result<Dice> DiceOf(const std::string& text) {
  if (!text.empty()) return ParseDice(text);
  Dice fresh;
  fresh.key = SecretRandom::NewKey();
  return fresh;
}

}  // namespace

Result<std::unique_ptr<Judge>> Judge::Begin(Problem problem, JudgeOptions options, const std::atomic<bool>* interrupt,
                                            JudgeWorld world) {
  Graph graph = HONE_TRY(Graph::Create(std::move(problem)));
  const Dice dice = HONE_TRY(DiceOf(options.dice));
  auto judge =
      std::unique_ptr<Judge>(new Judge(std::move(graph), std::move(options), dice, std::move(world), interrupt));
  // PyTorch is imported meanwhile.
  judge->BeginOutside(judge->options_.expected);
  if (OnDevice(judge->options_.form)) judge->CompileAhead();
  return judge;
}

Result<void> Judge::GetReady() {
  HONE_TRY(Enter(options_.form));
  // They have their share of the device's memory after the judge, to whom they give way, and nobody is checked before
  // they are done.
  ExpectOutside(options_.expected);
  return {};
}

Result<std::unique_ptr<Judge>> Judge::Open(Problem problem, JudgeOptions options, const std::atomic<bool>* interrupt,
                                           JudgeWorld world) {
  auto judge = HONE_TRY(Begin(std::move(problem), std::move(options), interrupt, std::move(world)));
  HONE_TRY(judge->GetReady());
  return judge;
}

void Judge::CompileAhead() {
  options_.stage("compiling the oracle");
  // Somebody else may be measured at this moment. Linux has a priority for each thread, which those that it starts have
  // from it.
  std::thread([this] {
    constexpr int kNice = 10;
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
    // What is wrong with it is found again, and said, by Enter.
    static_cast<void>(DeviceOracle::CompileAhead(graph_, cuda::ModelToBuildFor("").arch));
  }).join();
}

Judge::Judge(Graph graph, JudgeOptions options, const Dice& dice, JudgeWorld world, const std::atomic<bool>* interrupt)
    : graph_(std::move(graph)),
      options_(std::move(options)),
      dice_(dice),
      world_(std::move(world)),
      interrupt_(interrupt),
      call_wall_(options_.call_wall) {
  const DeviceModel& machine = DescribeMachine();
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
      host_ = HONE_TRY(HostTrial::Create(graph_, world_.make_oracle, seed, options_.threads));
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
        for (const auto& [key, process] : outside_) {
          if (process) process->End();
        }
      });
      if (auto nvml = cuda::Nvml::Open(device_->device().uuid)) nvml_ = *nvml;
    }
    trial_ = device_.get();
    if (form == Form::kPlan) StartSpare();
  }
  return {};
}

Result<std::unique_ptr<Worker>> Judge::StartWorker(Form form, const std::string& library, IdleThreads idle,
                                                   int outputs_descriptor) {
  while (form == Form::kPlan && !idle_.empty()) {
    auto idle_one = std::move(idle_.front());
    idle_.pop_front();
    if (HONE_TRY(idle_one->Ask({}, call_wall_))) return idle_one;
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
  return world_.start_worker(options, std::move(setup), trial_->input_descriptor(), outputs_descriptor);
}

Result<std::unique_ptr<Worker>> Judge::StartOnDevice(WorkerOptions options, const WorkerSetup& setup,
                                                     int outputs_descriptor) {
  const bool required = options.sandbox == SandboxPolicy::kRequired;
  if (!device_wraps_ && !required) options.sandbox = SandboxPolicy::kProcess;
  auto worker = world_.start_worker(options, setup, trial_->input_descriptor(), outputs_descriptor);
  std::string why;
  if (worker) {
    const auto alive = HONE_TRY((*worker)->Ask({}, call_wall_));
    if (alive) return worker;
    why = alive.error().reason;
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

void Judge::TakeBack(std::unique_ptr<Worker> worker, const JudgeRequest& request) {
  const bool confirmed = request.asked.fresh_draws && !request.ours;
  if (request.form != Form::kPlan || confirmed || ++served_ % kMostServed == 0) return;
  Request unload;
  unload.ask = Ask::kUnload;
  const auto answer = worker->Ask(unload, call_wall_);
  if (!answer || !*answer) return;
  idle_.push_back(std::move(worker));
  idle_saw_others_ |= !request.ours;
}

Result<Request> Judge::LoadingQuestion(Form form, const std::string& library, bool guard_inputs) {
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
  const std::int64_t begun_ms = UnixMilliseconds();
  HONE_TRY(Enter(request.form));
  const std::optional<double> counted = JoulesNow();
  if (request.asked.time && request.asked.fresh_draws && OnDevice(request.form)) BeginOutside(Unknown(request));
  if (request.asked.fresh_draws && !fresh_) {
    ++dice_.draws;
    const std::uint64_t seed = dice_.ForDraws()();
    if (host_) host_->Renew(seed);
    if (device_) device_->Renew(seed);
    baselines_.erase("naive");  // it works with the old inputs
  }
  fresh_ = request.asked.fresh_draws;
  if (fresh_ && (!request.ours || idle_saw_others_)) {
    idle_.clear();
    idle_saw_others_ = false;
    StartSpare();
  }
  Evaluation evaluation;
  evaluation.how->stages.check_begun_ms = begun_ms;
  evaluation.how->dice = ToString(dice_);
  Checked checked = HONE_TRY(Check(request, evaluation));
  evaluation.verdict = std::move(checked.verdict);
  evaluation.how->stages.check_ms = Ms(begin);
  if (request.asked.time && evaluation.verdict.accepted()) {
    const auto timing = Clock::now();
    evaluation.how->stages.timing_begun_ms = UnixMilliseconds();
    Timed timed = HONE_TRY(Time(request, checked.call_us));
    if (timed.doubtful) {
      WatchMachine([] { return 0.0; }).AwaitQuiet(Clock::now() + kClockPatience, interrupt_);
      timed = HONE_TRY(Time(request, checked.call_us));
    }
    evaluation.how->stages.timing_ms = Ms(timing);
    std::ranges::move(timed.notes, std::back_inserter(evaluation.how->notes));
    if (timed.refusal) {
      evaluation.verdict = std::move(*timed.refusal);
    } else {
      evaluation.timing = std::move(timed.timing);
    }
  }
  const std::optional<double> now = JoulesNow();
  if (counted && now && *now >= *counted) evaluation.how->joules = *now - *counted;
  StartSpare();
  evaluation.how->stages.total_ms = Ms(begin);
  return evaluation;
}

Examination Judge::Examine(Worker& worker, const JudgeRequest& request) const {
  return {*trial_,
          worker,
          {.form = request.form,
           .threads = options_.threads,
           .full_range = request.asked.range_full,
           .call_wall = call_wall_}};
}

double Judge::DrawSeconds() {
  // docs/measured/cuda_oracle.md: values, their errors and honest runs, which a small layer does not keep a device busy
  // with.
  constexpr double kProductsPerSecond = 1.3e12, kLayerS = 2e-3, kStepS = 1e-4;
  if (!OnDevice(form_)) return 0;
  if (draw_s_) return *draw_s_;
  draw_s_ = 0;
  for (std::size_t i = 0; i < graph_.stages().size(); ++i) {
    const Stage& stage = graph_.stages()[i];
    const double products = StageCost(graph_, i).multiply_adds;
    if (products > 0) *draw_s_ += products / kProductsPerSecond + kLayerS;
    if (stage.sequence >= 0)  // step by step
      *draw_s_ += static_cast<double>(stage.vars[static_cast<std::size_t>(stage.along)].extent) * kStepS;
  }
  return *draw_s_;
}

bool Judge::FewDraws(const JudgeRequest& request) {
  return request.asked.first_look && DrawSeconds() * static_cast<double>(kDraws) > 2 * kFirstLookS;
}

Result<Judge::Checked> Judge::Check(const JudgeRequest& request, Evaluation& evaluation) {
  const auto drawing = Clock::now();
  HONE_TRY(trial_->Draw(0));
  // What takes the oracle long may take a candidate long: it computes everything three times, but on all threads.
  call_wall_ = std::max(call_wall_, milliseconds(static_cast<std::int64_t>(4 * Ms(drawing))));
  // Nobody shall find another candidate's outputs.
  for (std::size_t slot = 0; slot < trial_->slots(); ++slot) HONE_TRY(trial_->Poison(slot, kPoison));

  auto worker = HONE_TRY(StartWorker(request.form, request.library, IdleThreads::kSleep, trial_->output_descriptor()));
  evaluation.how->sandbox = worker->sandbox();
  if (request.asked.time) StartSpare();
  // A call's end and its idleness are measured: nobody else of ours is at work.
  HONE_TRY(SettleOutside());
  Examination examination = Examine(*worker, request);
  const Loading loading{HONE_TRY(LoadingQuestion(request.form, request.library, false))};
  if (auto refusal = HONE_TRY(PassGates(&Gate::loaded, examination, loading))) return Checked{std::move(*refusal)};
  options_.stage("judging");
  const bool few = FewDraws(request);
  const auto deciding = TellingDraws(*trial_, few ? DrawSeconds() : 0, kFirstLookS);
  if (few) evaluation.how->notes.push_back(FirstLookNote(deciding.size(), *trial_));
  if (auto refusal = HONE_TRY(CheckLoaded(examination, deciding))) return Checked{std::move(*refusal)};

  Checked accepted{.call_us = examination.found.call_us};
  accepted.verdict.outcome = Outcome::kAccepted;
  accepted.verdict.error_over_budget = examination.found.error_over_budget;
  accepted.verdict.error_over_honest = examination.found.error_over_honest;
  accepted.verdict.official_allclose = examination.found.official;
  accepted.verdict.bit_reproducible = examination.found.reproducible;
  if (auto refusal = HONE_TRY(CheckDraw(examination, kWideDraw))) {
    const Outcome outcome = refusal->outcome;
    const bool imprecise =
        outcome == Outcome::kWrongResult || outcome == Outcome::kNonfinite || outcome == Outcome::kNondeterministic;
    if (request.asked.range_full || !imprecise)
      return Checked{std::move(*refusal)};  // a crash is a crash on any inputs
    examination.found.componentwise = false;
  }
  accepted.verdict.range = examination.found.componentwise ? "componentwise" : "normwise";
  TakeBack(std::move(worker), request);
  return accepted;
}

Result<Refusal> Judge::CheckLoaded(Examination& examination, const std::vector<std::size_t>& draws) {
  for (const std::size_t which : draws) HONE_PASS(CheckDraw(examination, which));
  return Soak(examination, draws.back());
}

Result<Refusal> Judge::CheckDraw(Examination& examination, std::size_t which) {
  const auto inputs = HONE_TRY(trial_->Draw(which));
  HONE_PASS(examination.Prepare(*inputs));
  const PreparedDraw draw{.inputs = *inputs, .which = which};
  HONE_PASS(PassGates(&Gate::drawn, examination, draw));
  return examination.Release(*inputs);
}

Result<Refusal> Judge::Soak(Examination& examination, std::size_t last) {
  // Which draw does not matter: where memory is scarce, the one that was checked last rather than one made anew.
  const auto inputs = HONE_TRY(trial_->Draw(trial_->AtHand(0) ? 0 : last));
  HONE_PASS(examination.Prepare(*inputs));
  Request run;
  run.ask = Ask::kRun;
  run.count = static_cast<std::uint32_t>(
      std::clamp(kSoakUs / std::max(examination.found.call_us, 1.0), 2.0, static_cast<double>(kMostSoak)));
  const auto many = HONE_TRY(examination.Ask(run, inputs->name, run.count));
  if (!many) return many.error();
  HONE_TRY(trial_->Poison(0, kPoison));
  run.count = 1;
  const auto looked_at = HONE_TRY(examination.Call(run, *inputs));
  if (!looked_at) return looked_at.error();
  const Soaked soaked{.inputs = *inputs, .seen = HONE_TRY(examination.Look(*inputs, 0, kPoison))};
  HONE_PASS(PassGates(&Gate::soaked, examination, soaked));
  return examination.Release(*inputs);
}

}  // namespace hone
