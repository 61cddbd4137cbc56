#include "judge/race.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr int kRounds = 12;               // that the budget is divided into
constexpr double kLongestSliceUs = 15e3;  // a dozen samples of a millisecond; longer ones make no median better
constexpr int kLeastRounds = 6;           // below there is no interval
// Half as wide an interval takes four times as long: what is not sure within this part of the budget will not be so
// soon, and from there on less is asked the later it is. At the end of the budget it is so many times as wide.
constexpr double kLaterAsksLess = 4;
constexpr std::size_t kLeastSamples = 6;  // warm ones, unless a call takes seconds
constexpr int kLeastCold = 5;
// Emptying all caches takes longer than most calls do: beyond so many cold samples the time goes to warm ones.
constexpr int kEnoughCold = 12;
constexpr double kSlowCallUs = 2e6;
// Who is slower than the fastest so far by this factor, with 95 % confidence after so many rounds, is not timed more
// exactly: no strategy improves on an attempt that is further away (greedy.cc: 1.4).
constexpr double kClearlySlower = 1.5;
constexpr int kSlowRounds = 2;
// So long the machine is watched before it is called quiet or not, for the counters' sake.
constexpr double kWatchMs = 100;
// Of turns that were slow for no fault of whoever had them so many are tried again; if it goes on, that is how the
// device is.
constexpr int kMostDiscarded = 20;

double UsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

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

class Rounds {
 public:
  Rounds(std::vector<Series>& series, const RaceSettings& settings, MachineLoad& load, std::vector<std::string>& notes,
         const std::atomic<bool>* interrupt)
      : series_(series), settings_(settings), load_(load), notes_(notes), interrupt_(interrupt) {}

  Result<RaceEnd> Run() {
    load_.Look();
    for (;; ++round_) {
      end_.refusal = HONE_TRY(TakeTurns());
      if (end_.refusal) break;
      if (load_.SinceLookMs() >= kWatchMs) Watch();
      end_.clearly_slower = ClearlySlower();
      if (end_.clearly_slower) break;
      if (!Enough()) continue;
      Watch();
      if (Enough()) break;
    }
    return std::move(end_);
  }

 private:
  Result<Refusal> TakeTurns() {
    const double share_us = settings_.budget_us / static_cast<double>(series_.size());
    const auto slice = microseconds(static_cast<std::int64_t>(std::clamp(share_us / kRounds, 1e3, kLongestSliceUs)));
    for (std::size_t turn = 0; turn < series_.size(); ++turn) {
      const std::size_t who = round_ % 2 ? series_.size() - 1 - turn : turn;  // nobody is always first
      Series& one = series_[who];
      // A slow baseline is run less often: it gets its share of the budget, but at least one call in a run.
      const bool slow = who != 0 && one.spent_us + one.participant->call_us() > share_us;
      if (slow && (one.known || (!one.turns.empty() && one.turns.CalmEnough()))) continue;
      auto taken = TakeTurn(one, slice, one.turns.Cold().count < kEnoughCold ? settings_.cold : 0);
      if (!taken && (who == 0 || taken.error().kind == ErrorKind::kInterrupted))
        return tl::unexpected<Error>(taken.error());
      if (taken && *taken) {
        const bool quiet = settings_.nvml == nullptr || LookAtClocks(*settings_.nvml, end_.clocks);
        one.turns.Add(round_, std::move(**taken), quiet);
        continue;
      }
      if (who == 0) return Refusal(std::move(taken->error()));
      notes_.push_back(
          fmt::format("baseline '{}' {}", one.name, taken ? taken->error().reason : taken.error().message));
      one.gone = true;
    }
    std::erase_if(series_, [](const Series& one) { return one.gone; });
    return Refusal();
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
    // Nor is a machine waited for that is never quiet for long.
    const bool waited = spent_us > settings_.budget_us + settings_.patience_us && turns.taken() >= kLeastSamples;
    if (!several && !slow && !waited) return false;
    const bool undisturbed =
        std::all_of(series_.begin(), series_.end(), [](const Series& one) { return one.turns.CalmEnough(); });
    if (!undisturbed) return spent_us > settings_.budget_us + settings_.patience_us;
    const double asked = settings_.confidence * std::max(1.0, kLaterAsksLess * spent_us / settings_.budget_us);
    const bool sure = turns.calm() >= kLeastRounds && now.interval &&
                      now.interval->high - now.interval->low <= 2 * asked * now.median_us;
    return sure || spent_us > settings_.budget_us;
  }

  std::vector<Series>& series_;
  const RaceSettings& settings_;
  MachineLoad& load_;
  std::vector<std::string>& notes_;
  const std::atomic<bool>* interrupt_;
  RaceEnd end_;
  const Clock::time_point begin_ = Clock::now();
  int round_ = 0, watched_ = 0;  // rounds before that were looked at
};

}  // namespace

double UsedSeconds(const std::vector<Series>& series) {
  std::set<const void*> counted;
  std::uint64_t sum = 0;
  for (const Series& one : series) {
    if (counted.insert(one.participant->processes()).second) sum += one.participant->ProcessorNanoseconds();
  }
  return static_cast<double>(sum) / 1e9;
}

Result<Taken> TakeTurn(Series& one, microseconds slice, int cold) {
  const auto begin = Clock::now();
  auto taken = one.participant->Sample(slice, cold);
  if (taken) one.spent_us += UsSince(begin);
  return taken;
}

Result<RaceEnd> Race(std::vector<Series>& series, const RaceSettings& settings, MachineLoad& load,
                     std::vector<std::string>& notes, const std::atomic<bool>* interrupt) {
  return Rounds(series, settings, load, notes, interrupt).Run();
}

}  // namespace hone
