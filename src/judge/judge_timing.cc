// Judge::Time: a candidate beside its baselines, and what is looked at afterwards.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/loop_nest.h"
#include "judge/judge.h"
#include "judge/machine_load.h"
#include "judge/rounds.h"
#include "judge/samples.h"
#include "oracle/compare.h"
#include "problem/import/confine.h"
#include "target/cpu/compiler.h"
#include "target/device_model.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int kRounds = 12;               // that the budget is divided into
constexpr int kLeastRounds = 6;           // below there is no interval
constexpr std::size_t kLeastSamples = 6;  // warm ones, unless a call takes seconds
constexpr int kLeastCold = 5;
constexpr double kSlowCallUs = 2e6;
constexpr auto kLastSlice = milliseconds(1);
constexpr std::uint16_t kSpoiled = 0xffff;  // what TimedSlots puts into some elements of outputs
// Who is slower than the fastest so far by this factor, with 95 % confidence after so many rounds, is not timed more
// exactly: no strategy improves on an attempt that is further away (greedy.cc: 1.4).
constexpr double kClearlySlower = 1.5;
constexpr int kSlowRounds = 2;
// So long the machine is watched before it is called quiet or not, for the counters' sake.
constexpr double kWatchMs = 100;
constexpr int kBeforeRounds = -1;
constexpr std::size_t kKeptSamples = 2000;
constexpr double kBoundSlack = 0.9;  // of the speed of light: it is measured too

struct Series {
  std::string name;  // "" for the candidate, who is the first
  Participant* participant = nullptr;
  bool gone = false;   // failed
  bool known = false;  // there are times of this baseline beside earlier candidates
  Turns turns{};
  double spent_us = 0;
};

double UsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

Result<Turn> TakeTurn(Series& one, microseconds slice, int cold) {
  const auto begin = Clock::now();
  Turn turn = HONE_TRY(one.participant->Sample(slice, cold));
  one.spent_us += UsSince(begin);
  return turn;
}

// Of turns that were slow for no fault of whoever had them so many are tried again; if it goes on, that is how the
// device is.
constexpr int kMostDiscarded = 20;

// Looks at the device after a turn; false if it was slowed down and the turn is not to count.
bool LookAtClocks(const cuda::Nvml& nvml, Clocks& clocks) {
  const auto state = nvml.State();
  if (!state) return true;
  const int mhz = static_cast<int>(state->sm_mhz);
  clocks.sm_mhz_low = clocks.sm_mhz_high == 0 ? mhz : std::min(clocks.sm_mhz_low, mhz);
  clocks.sm_mhz_high = std::max(clocks.sm_mhz_high, mhz);
  for (const auto words : cuda::LimitsInWords(state->limits)) {
    if (std::find(clocks.limits.begin(), clocks.limits.end(), words) == clocks.limits.end())
      clocks.limits.emplace_back(words);
  }
  if (!state->slowed() || clocks.discarded_rounds >= kMostDiscarded) return true;
  ++clocks.discarded_rounds;
  return false;
}

// One timing, in rounds.
class Rounds {
 public:
  struct Settings {
    double budget_us = 0, patience_us = 0, confidence = 0;
    int cold = 0;        // calls from cold caches a turn
    double best_us = 0;  // 0 = there is none
    const cuda::Nvml* nvml = nullptr;
  };
  Rounds(std::vector<Series>& series, const Settings& settings, MachineLoad& load, const std::atomic<bool>* interrupt)
      : series_(series), settings_(settings), load_(load), interrupt_(interrupt) {}

  // All take turns until the candidate's time is sure enough or the time is up, and for a while longer if the machine
  // was not quiet. A baseline that fails leaves, with a note; the candidate's failing ends it. True if it ended since
  // the candidate is clearly slower than `best_us`.
  Result<bool> Run(Clocks& clocks, std::vector<std::string>& notes) {
    load_.Look();
    for (;; ++round_) {
      HONE_TRY(TakeTurns(clocks, notes));
      if (series_[0].participant->refused()) return false;
      if (load_.SinceLookMs() >= kWatchMs) Watch();
      if (ClearlySlower()) return true;
      if (!Enough()) continue;
      Watch();
      if (Enough()) return false;
    }
  }

 private:
  Result<void> TakeTurns(Clocks& clocks, std::vector<std::string>& notes) {
    const double share_us = settings_.budget_us / static_cast<double>(series_.size());
    const auto slice = microseconds(static_cast<std::int64_t>(std::clamp(share_us / kRounds, 1e3, 40e3)));
    for (std::size_t turn = 0; turn < series_.size(); ++turn) {
      const std::size_t who = round_ % 2 ? series_.size() - 1 - turn : turn;  // nobody is always first
      Series& one = series_[who];
      // A slow baseline is run less often: it gets its share of the budget, but at least one call in a run.
      const bool slow = who != 0 && one.spent_us + one.participant->call_us() > share_us;
      if (slow && (one.known || (!one.turns.empty() && one.turns.CalmEnough()))) continue;
      auto taken = TakeTurn(one, slice, settings_.cold);
      if (!taken && (who == 0 || taken.error().message == "interrupted")) return tl::unexpected<Error>(taken.error());
      if (who == 0 && one.participant->refused()) return {};
      if (taken && !one.participant->refused()) {
        const bool quiet = settings_.nvml == nullptr || LookAtClocks(*settings_.nvml, clocks);
        one.turns.Add(round_, std::move(*taken), quiet);
        continue;
      }
      notes.push_back(fmt::format("baseline '{}' {}", one.name,
                                  taken ? one.participant->refused()->reason : taken.error().message));
      one.gone = true;
    }
    std::erase_if(series_, [](const Series& one) { return one.gone; });
    return {};
  }

  // Whether the machine was quiet since the last look. If it was not and the budget is spent, waits until it is.
  void Watch() {
    if (load_.Look() <= kDisturbingProcessors) {
      watched_ = round_ + 1;
      return;
    }
    for (Series& one : series_) one.turns.DisturbSince(watched_);
    watched_ = round_ + 1;
    const double left_us = settings_.budget_us + settings_.patience_us - UsSince(begin_);
    if (left_us > 0 && left_us < settings_.patience_us)
      load_.AwaitQuiet(Clock::now() + microseconds(static_cast<std::int64_t>(left_us)), interrupt_);
  }

  bool ClearlySlower() const {
    const Turns& turns = series_[0].turns;
    if (settings_.best_us <= 0 || turns.calm() < kSlowRounds) return false;
    const Samples now = turns.Warm();
    return now.interval && now.interval->low > kClearlySlower * settings_.best_us;
  }

  bool Enough() const {
    const double spent_us = UsSince(begin_);
    // On a busy machine few rounds fit into the budget: a median of fewer samples would say little.
    const Turns& turns = series_[0].turns;
    const Samples now = turns.Warm();
    const bool several = static_cast<std::size_t>(now.count) >= kLeastSamples && turns.Cold().count >= kLeastCold;
    // Who claims to take seconds has taken them.
    const bool slow = now.median_us > kSlowCallUs && now.median_us <= series_[0].spent_us;
    if (!several && !slow) return false;
    const bool undisturbed =
        std::all_of(series_.begin(), series_.end(), [](const Series& one) { return one.turns.CalmEnough(); });
    if (!undisturbed) return spent_us > settings_.budget_us + settings_.patience_us;
    const bool sure = turns.calm() >= kLeastRounds && now.interval &&
                      now.interval->high - now.interval->low <= 2 * settings_.confidence * now.median_us;
    return sure || spent_us > settings_.budget_us;
  }

  std::vector<Series>& series_;
  const Settings settings_;
  MachineLoad& load_;
  const std::atomic<bool>* interrupt_;
  const Clock::time_point begin_ = Clock::now();
  int round_ = 0, watched_ = 0;  // rounds before that were looked at
};

// The naive module with the memory that it owns.
class NaiveParticipant : public WorkerParticipant {
 public:
  NaiveParticipant(WorkerProcess worker, std::unique_ptr<TimedSlots> slots, std::unique_ptr<SharedMemory> outputs,
                   milliseconds wall, SecretRandom random)
      : WorkerParticipant(std::move(worker), std::move(slots), wall, std::move(random)), outputs_(std::move(outputs)) {}

 private:
  std::unique_ptr<SharedMemory> outputs_;
};

}  // namespace

Result<Participant*> Judge::Baseline(const std::string& name) {
  if (const auto found = baselines_.find(name); found != baselines_.end() && !found->second->refused())
    return found->second.get();
  std::unique_ptr<Participant> made;
  if (name == "naive" && trial_ != host_.get()) {
    return Fail(ErrorKind::kUsage, "the naive baseline runs on the host: plans have none");
  } else if (name == "naive") {
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
    const WorkerAnswer loaded = worker.Ask(load, call_wall_);
    if (loaded.interrupted) return Fail(ErrorKind::kTimeout, "interrupted");
    if (!loaded.reply) return Fail(ErrorKind::kTool, "the naive baseline does not load: " + loaded.verdict.reason);
    auto slots = HONE_TRY(host_->MoreSlots(*outputs));
    made = std::make_unique<NaiveParticipant>(std::move(worker), std::move(slots), std::move(outputs),
                                              std::max(call_wall_, milliseconds(600'000)), dice_.ForBaselines());
  } else {
    const auto outside = std::find_if(options_.outside.begin(), options_.outside.end(),
                                      [&](const auto& one) { return one.name == name; });
    if (outside == options_.outside.end())
      return Fail(ErrorKind::kUsage, fmt::format("there is no baseline '{}' here", name));
    made = std::make_unique<OutsideParticipant>(outside->mode, HONE_TRY(Process(*outside)));
  }
  return (baselines_[name] = std::move(made)).get();
}

Result<std::shared_ptr<OutsideProcess>> Judge::Process(const OutsideBaseline& baseline) {
  std::vector<std::string> key = baseline.argv;
  key.push_back(baseline.directory);
  key.insert(key.end(), baseline.environment.begin(), baseline.environment.end());
  auto& process = outside_[key];
  if (!process || process->lost()) {
    process = HONE_TRY(OutsideProcess::Start(baseline, options_.sandbox == SandboxPolicy::kRequired, interrupt_));
  }
  return process;
}

MachineLoad Judge::WatchMachine(std::function<double()> ours_s) const {
  // A device's candidates and baselines keep one processor at work.
  const int needed = OnDevice(form_) ? 1 : options_.threads;
  return MachineLoad(std::max(0, static_cast<int>(UsableProcessors().size()) - needed), std::move(ours_s));
}

Result<void> Judge::Time(const JudgeRequest& request, Evaluation& evaluation, double call_us) {
  const double budget_us = static_cast<double>(microseconds(request.timing_budget).count());
  auto judged = HONE_TRY(JudgedDraws());
  auto slots = HONE_TRY(trial_->StartTiming(*judged.back().inputs));

  // 1. A fresh worker, which has not seen the draws of the check.
  auto worker = HONE_TRY(StartWorker(request.form, request.library, IdleThreads::kSpin, trial_->output_descriptor()));
  Timing timing;
  timing.threads = options_.threads;
  for (const Ask ask : {Ask::kLoad, Ask::kPrepare}) {
    Request question;
    if (ask == Ask::kLoad) question = HONE_TRY(Loading(request.form, request.library, true));
    question.ask = ask;
    WorkerAnswer answer = worker.Ask(question, call_wall_);
    if (answer.interrupted) return Fail(ErrorKind::kTimeout, "interrupted");
    if (!answer.reply) {
      evaluation.verdict = std::move(answer.verdict);
      return {};
    }
    if (ask == Ask::kPrepare) timing.prepare_us = static_cast<double>(answer.reply->nanoseconds) / 1000;
  }
  WorkerParticipant candidate(std::move(worker), std::move(slots), call_wall_, dice_.ForTiming(), std::move(judged),
                              [this](const DrawnInputs& drawn, std::size_t slot, Verdict& verdict) {
                                return LookAtTimedCall(drawn, slot, verdict);
                              });
  ++dice_.timings;

  // 2. Rounds, in which all take turns, until the result is sure enough or the time is up. Baselines that are new here
  // get ready first: PyTorch takes seconds to start, and compiles for up to minutes.
  std::vector<Series> series{{.participant = &candidate}};
  bool unconfined = false;
  for (const std::string& name : request.baselines) {
    if (request.known.contains(name)) continue;
    const auto participant = Baseline(name);
    Series one{.name = name, .known = !kept_[name].empty()};
    Result<void> ready;
    options_.stage(fmt::format("getting the baseline {} ready", name));
    if (!participant) {
      if (participant.error().kind == ErrorKind::kUsage) return tl::unexpected<Error>(participant.error());
      ready = tl::unexpected<Error>(participant.error());
    } else {
      one.participant = *participant;
      if (one.participant->call_us() == 0) {
        auto turn = TakeTurn(one, microseconds(1), 0);
        if (!turn) ready = tl::unexpected<Error>(turn.error());
        // What is too slow to be called again counts, though it was not in turn with the candidate.
        if (turn && one.participant->call_us() > budget_us) one.turns.Add(kBeforeRounds, std::move(*turn));
      }
    }
    if (ready) {
      unconfined |= one.participant->unconfined();
      one.spent_us = 0;
      series.push_back(std::move(one));
      continue;
    }
    if (ready.error().message == "interrupted") return ready;
    evaluation.notes.push_back(fmt::format("baseline '{}': {}", name, ready.error().message));
  }
  if (unconfined) evaluation.notes.push_back(fmt::format("baselines: {}", kNotConfined));
  Clocks clocks;
  options_.stage(series.size() > 1 ? fmt::format("timing beside {}", fmt::join(request.baselines, ", ")) : "timing");
  MachineLoad load = WatchMachine([&] {
    std::uint64_t sum = 0;
    for (const Series& one : series) sum += one.participant->ProcessorNanoseconds();
    return static_cast<double>(sum) / 1e9;
  });
  const Rounds::Settings settings{
      .budget_us = budget_us * static_cast<double>(std::max<std::size_t>(1, series.size() - 1)),
      .patience_us = patience_us_,
      .confidence = request.confidence,
      .cold = call_us < 1e3 ? 3 : 1,
      .best_us = request.best_us,
      .nvml = OnDevice(request.form) && nvml_ ? &*nvml_ : nullptr};
  timing.ended_early = HONE_TRY(Rounds(series, settings, load, interrupt_).Run(clocks, evaluation.notes));
  if (clocks.sm_mhz_high > 0) timing.clocks = std::move(clocks);
  if (request.form == Form::kPlan) timing.launched = candidate.as_graph() ? "graph" : "stream";
  if (!candidate.refused()) HONE_TRY(candidate.Finish(kLastSlice));
  if (candidate.refused()) {
    evaluation.verdict = *candidate.refused();
    return {};
  }

  // 3. Is it still right, on inputs that it has not seen, at old addresses and new ones?
  const auto at_hand = HONE_TRY(trial_->Draw(kAfterDraw));
  const DrawnInputs& after = *at_hand;
  if (IsForeign(request.form)) {  // a plan's clock is ours
    HONE_TRY(candidate.CheckClock());
    clock_doubted_ = candidate.refused() && candidate.refused()->outcome == Outcome::kSuspicious;
  }
  if (candidate.refused()) {
    evaluation.verdict = *candidate.refused();
    return {};
  }
  candidate.worker().Continue();
  for (const std::uint32_t view : {0u, 1u}) {
    HONE_TRY(trial_->Load(after, view));
    HONE_TRY(trial_->Poison(view, kPoison));
    Request run;
    run.ask = Ask::kRun;
    run.slots[0] = run.slots[1] = view;
    run.view = view;
    WorkerAnswer answer = candidate.worker().Ask(run, call_wall_);
    if (answer.interrupted) return Fail(ErrorKind::kTimeout, "interrupted");
    Verdict seen;
    if (!answer.reply) {
      evaluation.verdict = std::move(answer.verdict);
      evaluation.verdict.evidence.draw = after.name;
      return {};
    }
    if (!HONE_TRY(CompareSlot(after, view, kPoison, seen))) {
      seen.reason = "no longer right after the timing: " + seen.reason;
      evaluation.verdict = std::move(seen);
      return {};
    }
  }
  if (request.form == Form::kPlan) {
    TakeBack(std::move(candidate.worker()), request);
  } else {
    candidate.worker().Kill();
  }

  const Turns& ours = series[0].turns;
  timing.warm = ours.Warm();
  timing.cold = ours.Cold();
  timing.disturbed = ours.Disturbance();
  if (request.bound_us > 0 && timing.cold.median_us < kBoundSlack * request.bound_us) {
    Verdict verdict;
    verdict.outcome = Outcome::kSuspicious;
    verdict.reason = fmt::format(
        "faster than this machine can: {:.2f} us from cold caches, the bound is {:.2f} us (the tensors are {} bytes, "
        "which would be {:.1f} GB/s)",
        timing.cold.median_us, request.bound_us, trial_->problem_bytes(),
        static_cast<double>(trial_->problem_bytes()) / timing.cold.median_us / 1e3);
    evaluation.verdict = std::move(verdict);
    return {};
  }
  const bool hidden = OnDevice(request.form) && (timing.launched == "graph" || candidate.batched());
  const Dispatch dispatch = hidden ? Dispatch::kHidden : Dispatch::kCounted;
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
  const bool disturbed = std::any_of(timing.against.begin(), timing.against.end(),
                                     [](const Comparison& one) { return !one.disturbed.empty(); });
  patience_us_ = disturbed || !timing.disturbed.empty() ? patience_us_ / 2 : kPatienceUs;
  for (const auto& [name, known] : request.known) timing.against.push_back(CompareKnown(name, known, ours, dispatch));
  // As they were asked for: the first is the one that a speed-up is over where nothing else is said.
  const auto place = [&](const Comparison& one) {
    return std::find(request.baselines.begin(), request.baselines.end(), one.baseline);
  };
  std::stable_sort(timing.against.begin(), timing.against.end(),
                   [&](const Comparison& a, const Comparison& b) { return place(a) < place(b); });
  evaluation.timing = std::move(timing);
  return {};
}

// A draw and the same but for a run; and another one, where there is room. The last is the first to be given.
Result<std::vector<JudgedDraw>> Judge::JudgedDraws() {
  std::vector<JudgedDraw> judged(1);
  judged[0].inputs = HONE_TRY(trial_->Draw(kTimedDraw));
  if (trial_->timed_draws() < kTimedDraws) return judged;
  judged[0].then = HONE_TRY(trial_->Draw(kTimedDraw + 1));
  judged.push_back({HONE_TRY(trial_->Draw(kTimedDraw + 2)), nullptr});
  if (dice_.ForTiming()() % 2 != 0) std::swap(judged[0], judged[1]);
  return judged;
}

Result<bool> Judge::LookAtTimedCall(const DrawnInputs& drawn, std::size_t slot, Verdict& verdict) {
  if (!HONE_TRY(InputsAreWhole(drawn, slot, verdict))) return false;
  if (HONE_TRY(CompareSlot(drawn, slot, kSpoiled, verdict))) return true;
  verdict.reason = "a timed call was wrong: " + verdict.reason;
  return false;
}

}  // namespace hone
