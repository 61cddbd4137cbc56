// Judge::Time: a candidate beside its baselines, and what is looked at afterwards.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "judge/gate.h"
#include "judge/judge.h"
#include "judge/samples.h"
#include "oracle/loop_nest.h"
#include "problem/import/confine.h"
#include "target/cpu/compiler.h"
#include "target/device_model.h"

namespace hone {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr auto kLastSlice = milliseconds(1);
constexpr std::uint16_t kSpoiled = 0xffff;  // what TimedSlots puts into some elements of outputs
constexpr int kBeforeRounds = -1;
constexpr std::size_t kKeptSamples = 2000;
constexpr auto kNaiveWall = milliseconds(600'000);

double Microseconds(milliseconds time) { return static_cast<double>(microseconds(time).count()); }

// What a timed call on a draw has left, and what all gates say of it.
Result<Refusal> LookAtTimedCall(Examination& examination, const DrawnInputs& inputs, std::size_t slot,
                                const Reply& reply) {
  const LookedAtCall call{.inputs = inputs, .slot = slot, .reply = reply};
  HONE_PASS(PassGates(&Gate::called, examination, call));
  auto seen = HONE_TRY(examination.Look(inputs, slot, kSpoiled));
  if (seen.refusal) seen.refusal->reason = "a timed call was wrong: " + seen.refusal->reason;
  return std::move(seen.refusal);
}

// The naive module with the memory that it owns.
class NaiveParticipant : public WorkerParticipant {
 public:
  NaiveParticipant(std::unique_ptr<Worker> worker, std::unique_ptr<TimedSlots> slots,
                   std::unique_ptr<SharedMemory> outputs, milliseconds wall, SecretRandom random)
      : WorkerParticipant(std::move(worker), std::move(slots), wall, std::move(random)), outputs_(std::move(outputs)) {}

 private:
  std::unique_ptr<SharedMemory> outputs_;
};

}  // namespace

Result<Participant*> Judge::Baseline(const std::string& name) {
  if (const auto found = baselines_.find(name); found != baselines_.end() && !found->second->gone())
    return found->second.get();
  std::unique_ptr<Participant> made;
  if (name == "naive") {
    made = HONE_TRY(NaiveBaseline());
  } else {
    const auto outside = std::find_if(options_.outside.begin(), options_.outside.end(),
                                      [&](const auto& one) { return one.name == name; });
    if (outside == options_.outside.end())
      return Fail(ErrorKind::kUsage, fmt::format("there is no baseline '{}' here", name));
    auto process = HONE_TRY(outside->own ? OwnProcess(*outside) : Process(*outside));
    made = std::make_unique<OutsideParticipant>(outside->mode, std::move(process));
  }
  return (baselines_[name] = std::move(made)).get();
}

Result<std::unique_ptr<Participant>> Judge::NaiveBaseline() {
  if (trial_ != host_.get()) return Fail(ErrorKind::kUsage, "the naive baseline runs on the host: plans have none");
  CompileRequest request;
  request.source = NaiveModule(graph_);
  request.trusted = true;
  const Compiled compiled = HONE_TRY(CompileModule(request));
  if (!compiled.ok())
    return Fail(ErrorKind::kTool, "the host compiler refuses the naive baseline: " + compiled.log.substr(0, 400));
  auto outputs = std::make_unique<SharedMemory>(HONE_TRY(host_->MoreOutputs()));
  auto worker = HONE_TRY(StartWorker(Form::kModule, compiled.library, IdleThreads::kSpin, outputs->descriptor()));
  Request load;
  load.ask = Ask::kLoad;
  const auto loaded = HONE_TRY(worker->Ask(load, call_wall_));
  if (!loaded) return Fail(ErrorKind::kTool, "the naive baseline does not load: " + loaded.error().reason);
  auto slots = HONE_TRY(host_->MoreSlots(*outputs));
  return std::make_unique<NaiveParticipant>(std::move(worker), std::move(slots), std::move(outputs),
                                            std::max(call_wall_, kNaiveWall), dice_.ForBaselines());
}

std::shared_ptr<OutsideProcess>& Judge::ProcessOf(const OutsideBaseline& baseline) {
  std::vector<std::string> key = baseline.argv;
  key.push_back(baseline.directory);
  key.insert(key.end(), baseline.environment.begin(), baseline.environment.end());
  return outside_[key];
}

Result<std::shared_ptr<OutsideProcess>> Judge::Process(const OutsideBaseline& baseline) {
  auto& process = ProcessOf(baseline);
  if (!process || process->lost()) {
    process = HONE_TRY(OutsideProcess::Start(baseline, options_.sandbox == SandboxPolicy::kRequired, interrupt_));
  }
  return process;
}

void Judge::BeginOutside(const std::vector<std::string>& names) {
  for (const OutsideBaseline& one : options_.outside) {
    if (one.own || std::find(names.begin(), names.end(), one.name) == names.end()) continue;
    auto& process = ProcessOf(one);
    if (process && !process->lost()) continue;
    process.reset();
    // What is wrong is found again, and said, when it is needed.
    auto begun = OutsideProcess::Begin(one, options_.sandbox == SandboxPolicy::kRequired, interrupt_);
    if (begun) process = std::move(*begun);
  }
}

void Judge::ExpectOutside(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (const OutsideBaseline& one : options_.outside) {
      if (one.own || one.name != name) continue;
      auto& process = ProcessOf(one);
      if (process && !process->lost() && !process->opened() && !process->expected()) process->Expect(one.mode);
    }
  }
}

Result<void> Judge::SettleOutside() {
  for (auto& [key, process] : outside_) {
    if (!process || !process->expected()) continue;
    options_.stage("getting the baselines ready");
    HONE_TRY(process->Settle());
  }
  return {};
}

Result<std::shared_ptr<OutsideProcess>> Judge::OwnProcess(const OutsideBaseline& baseline) {
  // What does not load the first time does not the next time: a search does not wait for it with each candidate.
  if (const auto held = held_.find(baseline.name); held != held_.end() && !held->second)
    return tl::unexpected<Error>(held->second.error());
  const auto drawn = HONE_TRY(trial_->Draw(0));
  const CallSheet sheet = HONE_TRY(CallSheet::Create(*trial_, graph_.problem(), *drawn));
  auto process = HONE_TRY(
      OutsideProcess::Start(baseline, options_.sandbox == SandboxPolicy::kRequired, interrupt_, sheet.descriptor()));
  auto held = sheet.Hold(*process, *trial_, *drawn);
  if (!held && held.error().kind == ErrorKind::kInterrupted) return tl::unexpected<Error>(held.error());
  held_.insert_or_assign(baseline.name, held);
  if (!held) return tl::unexpected<Error>(held.error());
  outside_[{baseline.name}] = process;  // who is ended when the device is full
  return process;
}

MachineLoad Judge::WatchMachine(std::function<double()> ours_s) const {
  // A device's candidates and baselines keep one processor at work.
  const int needed = OnDevice(form_) ? 1 : options_.threads;
  return MachineLoad(std::max(0, static_cast<int>(UsableProcessors().size()) - needed), std::move(ours_s));
}

MachineLoad Judge::WatchRace(const std::vector<Series>& series) const {
  return WatchMachine([&series] { return UsedSeconds(series); });
}

Result<Judge::Timed> Judge::Time(const JudgeRequest& request, double call_us) {
  Timed result;
  Timing& timing = result.timing;
  const auto refused = [&](Verdict verdict) {
    result.refusal = std::move(verdict);
    return std::move(result);
  };

  // What was begun beside a check gets its device now, and is done before anything is timed.
  std::vector<std::string> names = request.asked.baselines;
  for (const OutsideBaseline& one : options_.outside) names.push_back(one.name);
  ExpectOutside(names);
  HONE_TRY(SettleOutside());

  // 1. A fresh worker, which has not seen the draws of the check.
  auto judged = HONE_TRY(JudgedDraws(FewDraws(request)));
  auto slots = HONE_TRY(trial_->StartTiming(*judged.back().inputs));
  auto worker = HONE_TRY(StartWorker(request.form, request.library, IdleThreads::kSpin, trial_->output_descriptor()));
  Examination examination = Examine(*worker, request);
  const Loading loading{HONE_TRY(LoadingQuestion(request.form, request.library, true))};
  if (auto refusal = HONE_TRY(PassGates(&Gate::loaded, examination, loading))) return refused(std::move(*refusal));
  Request prepare;
  prepare.ask = Ask::kPrepare;
  const auto prepared = HONE_TRY(examination.Ask(prepare, ""));
  if (!prepared) return refused(prepared.error());
  timing.threads = options_.threads;
  timing.prepare_us = static_cast<double>(prepared->said.nanoseconds) / 1000;
  WorkerParticipant candidate(std::move(worker), std::move(slots), call_wall_, dice_.ForTiming(), std::move(judged),
                              [&](const auto&... call) { return LookAtTimedCall(examination, call...); });
  ++dice_.timings;

  // 2. Rounds, in which all take turns.
  auto series = HONE_TRY(ReadyBaselines(request, result.notes));
  series.insert(series.begin(), Series{.participant = &candidate});
  options_.stage(series.size() > 1 ? fmt::format("timing beside {}", fmt::join(request.asked.baselines, ", "))
                                   : "timing");
  MachineLoad load = WatchRace(series);
  const RaceSettings settings{.budget_us = Microseconds(request.asked.timing_budget) *
                                           static_cast<double>(std::max<std::size_t>(1, series.size() - 1)),
                              .patience_us = patience_us_,
                              .confidence = request.asked.confidence,
                              .cold = call_us < 1e3 ? 3 : 1,
                              .best_us = request.asked.best_us,
                              .nvml = OnDevice(request.form) && nvml_ ? &*nvml_ : nullptr};
  RaceEnd end = HONE_TRY(Race(series, settings, load, result.notes, interrupt_));
  if (end.refusal) return refused(std::move(*end.refusal));
  if (auto refusal = HONE_TRY(candidate.Finish(kLastSlice))) return refused(std::move(*refusal));
  const Turns& ours = series[0].turns;
  timing.ended_early = end.clearly_slower;
  if (end.clocks.sm_mhz_high > 0) timing.clocks = std::move(end.clocks);
  if (request.form == Form::kPlan) timing.launched = candidate.as_graph() ? "graph" : "stream";
  timing.warm = ours.Warm();
  timing.cold = ours.Cold();
  timing.disturbed = ours.Disturbance();

  // 3. What that has shown, and whether it is still right.
  TimedCandidate timed{.candidate = candidate, .cold = timing.cold, .bound_us = request.asked.bound_us};
  auto refusal = HONE_TRY(PassGates(&Gate::timed, examination, timed));
  result.doubtful = timed.doubtful;
  if (refusal) return refused(std::move(*refusal));
  const bool hidden = OnDevice(request.form) && (timing.launched == "graph" || candidate.batched());
  TakeBack(candidate.TakeWorker(), request);

  // 4. Beside each baseline.
  CompareAll(request, series, hidden ? Dispatch::kHidden : Dispatch::kCounted, timing);
  return result;
}

Result<std::vector<Series>> Judge::ReadyBaselines(const JudgeRequest& request, std::vector<std::string>& notes) {
  std::vector<Series> ready;
  bool unconfined = false;
  for (const std::string& name : request.asked.baselines) {
    if (request.known.contains(name)) continue;
    options_.stage(fmt::format("getting the baseline {} ready", name));
    Series one{.name = name, .known = !kept_[name].empty()};
    const auto made = MakeReady(one, Microseconds(request.asked.timing_budget));
    if (made) {
      unconfined |= one.participant->unconfined();
      ready.push_back(std::move(one));
      continue;
    }
    const ErrorKind kind = made.error().kind;
    if (kind == ErrorKind::kInterrupted || kind == ErrorKind::kUsage) return tl::unexpected<Error>(made.error());
    notes.push_back(fmt::format("baseline '{}': {}", name, made.error().message));
  }
  if (unconfined) notes.push_back(fmt::format("baselines: {}", kNotConfined));
  return ready;
}

// A baseline that is new here takes a turn beforehand: PyTorch takes seconds to start, and compiles for up to minutes.
Result<void> Judge::MakeReady(Series& one, double budget_us) {
  one.participant = HONE_TRY(Baseline(one.name));
  if (one.participant->call_us() != 0) return {};
  auto taken = HONE_TRY(TakeTurn(one, microseconds(1), 0));
  if (!taken) return Fail(ErrorKind::kTool, taken.error().reason);
  // What is too slow to be called again counts, though it was not in turn with the candidate.
  if (one.participant->call_us() > budget_us) one.turns.Add(kBeforeRounds, std::move(*taken));
  one.spent_us = 0;
  return {};
}

void Judge::CompareAll(const JudgeRequest& request, const std::vector<Series>& series, Dispatch dispatch,
                       Timing& timing) {
  const Turns& ours = series[0].turns;
  for (std::size_t i = 1; i < series.size(); ++i) {
    const Series& one = series[i];
    // Of a baseline that was too slow for its share, what was measured beside earlier candidates counts.
    std::vector<double>& kept = kept_[one.name];
    if (one.turns.empty()) {
      timing.against.push_back(CompareKnown(one.name, {.warm = Summarize(kept)}, ours, dispatch));
      continue;
    }
    std::vector<double>& medians = medians_[one.name];
    const auto earlier = request.earlier_us.find(one.name);
    const double earlier_us = !medians.empty()                      ? Median(medians)
                              : earlier != request.earlier_us.end() ? earlier->second
                                                                    : 0;
    timing.against.push_back(Compare(one.name, one.turns, ours, dispatch, earlier_us));
    if (!one.turns.CalmEnough()) continue;
    const auto samples = one.turns.WarmSamples();
    kept.insert(kept.end(), samples.begin(), samples.end());
    if (kept.size() > kKeptSamples) kept.erase(kept.begin(), kept.end() - kKeptSamples);
    medians.push_back(Median(samples));
  }
  for (Comparison& one : timing.against) {
    const auto held = held_.find(one.baseline);
    if (held == held_.end() || !held->second) continue;
    one.wrong = held->second->wrong;
    if (one.wrong.empty()) {
      one.error_over_budget = held->second->error_over_budget;
    } else {
      one.speedup = {};
      one.interval = {};
    }
  }
  const bool disturbed = std::any_of(timing.against.begin(), timing.against.end(),
                                     [](const Comparison& one) { return !one.disturbed.empty(); });
  patience_us_ = disturbed || !timing.disturbed.empty() ? patience_us_ / 2 : kPatienceUs;
  for (const auto& [name, known] : request.known) timing.against.push_back(CompareKnown(name, known, ours, dispatch));
  // As they were asked for: the first is the one that a speed-up is over where nothing else is said.
  const auto place = [&](const Comparison& one) {
    const auto& asked = request.asked.baselines;
    return std::find(asked.begin(), asked.end(), one.baseline);
  };
  std::stable_sort(timing.against.begin(), timing.against.end(),
                   [&](const Comparison& a, const Comparison& b) { return place(a) < place(b); });
}

// A draw and the same but for a run; and another one, where there is room and not `few` are wanted. The last is the
// first to be given.
Result<std::vector<JudgedDraw>> Judge::JudgedDraws(bool few) {
  std::vector<JudgedDraw> judged(1);
  judged[0].inputs = HONE_TRY(trial_->Draw(kTimedDraw));
  if (few || trial_->timed_draws() < kTimedDraws) return judged;
  judged[0].then = HONE_TRY(trial_->Draw(kTimedDraw + 1));
  judged.push_back({HONE_TRY(trial_->Draw(kTimedDraw + 2)), nullptr});
  if (dice_.ForTiming()() % 2 != 0) std::swap(judged[0], judged[1]);
  return judged;
}

}  // namespace hone
