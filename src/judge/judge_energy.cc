// Judge::MeasureEnergy: what a call of each of a few candidates takes of the device's energy. Their windows take turns,
// so that a device that warms up, or that others begin to use, does not speak for one of them.
#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "judge/energy_windows.h"
#include "judge/judge.h"
#include "judge/samples.h"
#include "target/cpu/rapl.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// From rest to a steady pace: clocks rise, and the first movement of the counter is partly of what was before.
constexpr milliseconds kSettle{200};
constexpr milliseconds kRest{1000}, kIdle{2000};  // after work, before it is called rest; and how long it is watched
constexpr milliseconds kWarmUp{100};              // calls before a window
// Of a question: long beside what asking takes, short beside a window, so that whoever is slower than it was timed does
// not make a window much longer.
constexpr double kQuestionS = 0.1;
// Of parts of the time at rest: whoever else uses the device does so unevenly.
constexpr double kEvenRest = 1.5;
// The calls of a window are those that were timed: on a steady device they take as long, in a stream without the
// judge's pauses a little less. Who is faster by more leaves out what it did then.
constexpr double kSamePace = 0.7;

milliseconds Settling(milliseconds window) { return std::min(kSettle, window / 5); }

}  // namespace

Result<std::unique_ptr<EnergyCounter>> OpenCounterOf(const std::string& uuid) {
  return uuid.empty() ? OpenRapl() : cuda::OpenEnergyCounter(uuid);
}

Result<EnergyCounter*> Judge::Counter() {
  auto& counter = OnDevice(form_) ? device_energy_ : host_energy_;
  if (!counter) counter = HONE_TRY(world_.open_energy(OnDevice(form_) ? device_->device().uuid : std::string()));
  return counter.get();
}

std::optional<double> Judge::JoulesNow() {
  const auto counter = Counter();
  if (!counter) return std::nullopt;
  const auto joules = (*counter)->Joules();
  return joules ? std::optional(*joules) : std::nullopt;
}

std::string Judge::WhyNoEnergy() {
  const auto counter = Counter();
  return counter ? std::string() : counter.error().message;
}

Result<std::vector<EnergyOrWhy>> Judge::MeasureEnergy(const EnergyQuestion& question) {
  if (question.candidates.empty()) return std::vector<EnergyOrWhy>();
  HONE_TRY(Enter(question.candidates.front().form));
  HONE_TRY(SettleOutside());
  EnergyCounter& counter = *HONE_TRY(Counter());
  std::optional<double> idle_watts;
  if (question.asked.idle) idle_watts = HONE_TRY(IdleWatts(counter));

  std::vector<EnergyOrWhy> measured(question.candidates.size());
  std::vector<std::vector<TakenWindow>> taken(question.candidates.size());
  for (int turn = 0; turn < question.asked.windows; ++turn) {
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const std::size_t who = turn % 2 ? measured.size() - 1 - i : i;  // nobody is always first
      if (!measured[who].why.empty()) continue;
      options_.stage(fmt::format("energy: window {} of {}",
                                 turn * static_cast<int>(measured.size()) + 1 + static_cast<int>(i),
                                 question.asked.windows * static_cast<int>(measured.size())));
      auto window = HONE_TRY(TakeWindow(counter, question.candidates[who], question.asked.window));
      if (window) {
        taken[who].push_back(*window);
      } else {
        measured[who].why = std::move(window.error());
      }
    }
  }
  ++dice_.timings;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (measured[i].why.empty()) measured[i].energy = EnergyOf(taken[i], idle_watts, counter.sensor());
  }
  return measured;
}

// Nothing where the device was not at rest.
Result<std::optional<double>> Judge::IdleWatts(EnergyCounter& counter) {
  options_.stage("energy: what the device takes at rest");
  std::this_thread::sleep_for(kRest);
  EnergyWatch watch(counter);
  std::this_thread::sleep_for(kIdle);
  const auto window = HONE_TRY(watch.End(milliseconds(0)));
  if (!window || window->most_watts > kEvenRest * window->least_watts) return std::optional<double>();
  return std::optional(window->watts);
}

// By a worker that nobody has used for this candidate before; or why there is none.
Result<tl::expected<Judge::TakenWindow, std::string>> Judge::TakeWindow(EnergyCounter& counter,
                                                                        const EnergyCandidate& candidate,
                                                                        milliseconds least) {
  using Made = tl::expected<TakenWindow, std::string>;
  const auto no = [](std::string why) { return Made(tl::unexpected(std::move(why))); };
  HONE_TRY(Enter(candidate.form));
  auto slots = HONE_TRY(trial_->StartTiming(*HONE_TRY(trial_->Draw(kTimedDraw))));
  SecretRandom random = dice_.ForTiming();  // the same numbers for all
  for (std::size_t slot = 0; slot < slots->count(); ++slot) HONE_TRY(slots->Renew(slot, random));
  auto worker =
      HONE_TRY(StartWorker(candidate.form, candidate.library, IdleThreads::kSpin, trial_->output_descriptor()));
  Request prepare;
  prepare.ask = Ask::kPrepare;
  for (const Request& request : {HONE_TRY(LoadingQuestion(candidate.form, candidate.library, true)), prepare}) {
    if (const auto answer = HONE_TRY(worker->Ask(request, call_wall_)); !answer) return no(answer.error().reason);
  }

  // All slots in turn: a call finds of its inputs what the calls of a timing find.
  Request calls;
  calls.ask = Ask::kTime;
  calls.count = static_cast<std::uint32_t>(slots->count());
  for (std::uint32_t i = 0; i < calls.count; ++i) calls.slots[i] = i;
  double call_us = std::max(candidate.call_us, 0.1);
  // So many questions as take about as long; what a call takes by our clock, its part of the asking included.
  const auto call = [&](milliseconds long_enough) -> Result<tl::expected<double, Verdict>> {
    const auto begin = Clock::now();
    double calls_made = 0, wall_us = 0;
    do {
      const double repeats = 1e6 * kQuestionS / (call_us * calls.count);
      calls.repeats = static_cast<std::uint32_t>(std::clamp(repeats, 1.0, 4e9 / calls.count));
      const auto answer = HONE_TRY(worker->Ask(calls, call_wall_ * (calls.count + 1)));
      if (!answer) return tl::expected<double, Verdict>(tl::unexpected(answer.error()));
      wall_us += static_cast<double>(answer->wall_ns) / 1e3;
      calls_made += static_cast<double>(calls.repeats) * calls.count;
      call_us = wall_us / calls_made;
    } while (Clock::now() - begin < long_enough);
    return tl::expected<double, Verdict>(call_us);
  };
  // The first calls take longer.
  if (const auto warm = HONE_TRY(call(kWarmUp)); !warm) return no(warm.error().reason);
  const milliseconds settle = Settling(least);
  const auto ticks = milliseconds(static_cast<std::int64_t>(2e3 * energy_tick_s_));
  for (milliseconds asked = least + settle + ticks;; asked *= 2) {
    EnergyWatch watch(counter);
    const auto made = HONE_TRY(call(asked));
    const auto window = HONE_TRY(watch.End(settle));
    if (!made) return no(made.error().reason);
    if (window) energy_tick_s_ = window->tick_s;
    if (call_us < kSamePace * candidate.call_us) {
      return no(
          fmt::format("its calls took {:.3g} us each where nobody else had a turn and {:.3g} us while they were "
                      "timed: that is not the same work",
                      call_us, candidate.call_us));
    }
    // Whole ticks: what begins after one and ends before one is shorter than the calls.
    if (window && window->seconds >= std::chrono::duration<double>(least).count()) {
      TakeBack(std::move(worker), {.form = candidate.form});
      return Made(TakenWindow{*window, call_us});
    }
    if (asked > 4 * (least + ticks)) return no("the energy counter moved too seldom for a window");
  }
}

Energy Judge::EnergyOf(const std::vector<TakenWindow>& taken, std::optional<double> idle_watts, std::string sensor) {
  Energy energy{.idle_watts = idle_watts, .sensor = std::move(sensor)};
  std::vector<double> calls_us, watts, ticks_s;
  for (const TakenWindow& one : taken) {
    energy.windows.push_back(one.window.watts * one.call_us / 1e6);
    calls_us.push_back(one.call_us);
    watts.push_back(one.window.watts);
    ticks_s.push_back(one.window.tick_s);
    energy.window_s = energy.window_s == 0 ? one.window.seconds : std::min(energy.window_s, one.window.seconds);
  }
  energy.joules = Median(energy.windows);
  energy.watts = Median(watts);
  energy.call_us = Median(calls_us);
  energy.tick_ms = 1e3 * Median(ticks_s);
  if (idle_watts) energy.net_joules = energy.joules - *idle_watts * energy.call_us / 1e6;
  return energy;
}

}  // namespace hone
