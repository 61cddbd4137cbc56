#include "evaluate/timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "evaluate/samples.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr double kSampleUs = 20;          // a sample lasts at least this long: reading the clock twice costs 0.05 us
constexpr double kRehearseUpToUs = 100;   // below, waking up would be a part of the result
constexpr double kDiscardUpToUs = 20e3;   // above, the first call of a turn is as good as any
constexpr double kPatientUpToUs = 100e3;  // above, the very first call is good enough to be a sample
constexpr std::size_t kMostSamples = 500;
constexpr double kClockCheckUs = 3000;
constexpr double kClockTolerance = 0.1;
constexpr int kClockShots = 20;  // the best counts: on a busy machine most may be disturbed

}  // namespace

WorkerParticipant::WorkerParticipant(WorkerProcess worker, std::unique_ptr<TimedSlots> slots, milliseconds call_wall,
                                     std::uint64_t seed)
    : worker_(std::move(worker)), slots_(std::move(slots)), call_wall_(call_wall), random_(seed) {}

Result<std::optional<WorkerParticipant::Shot>> WorkerParticipant::Shoot(Request request, bool touch) {
  request.ask = Ask::kTime;
  request.view = 0;
  for (std::uint32_t i = 0; i < request.count; ++i) HONE_TRY(slots_->Disturb(request.slots[i], random_));
  if (request.rehearse >= 0) HONE_TRY(slots_->Disturb(static_cast<std::size_t>(request.rehearse), random_));
  const auto calls = request.count * request.repeats;
  const WorkerAnswer answer = worker_.Ask(request, call_wall_ * (calls + 1));
  if (!answer.reply) {  // gone, also when it was we who were interrupted
    refused_ = answer.verdict;
    refused_->evidence.draw = "timing";
    if (answer.interrupted) return Fail(ErrorKind::kTimeout, "interrupted");
    return std::nullopt;
  }
  as_graph_ = answer.reply->as_graph != 0;
  double outer_us = static_cast<double>(answer.wall_ns) / 1000;
  if (touch) outer_us += HONE_TRY(Touch());
  const auto slot = request.slots[random_() % request.count];
  if (random_() % ++shots_ == 0) HONE_TRY(slots_->Keep(slot));
  return Shot{static_cast<double>(answer.reply->nanoseconds) / 1000 / calls, outer_us};
}

Result<double> WorkerParticipant::Touch() {
  const auto begin = Clock::now();
  HONE_TRY(slots_->Touch());
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

Result<Turn> WorkerParticipant::Sample(microseconds slice, int cold) {
  Turn turn;
  worker_.Continue();
  Request one;
  if (call_us_ == 0) {  // a first idea; page faults and first-time work are in the first call
    std::vector<double> first;
    do {
      const auto shot = HONE_TRY(Shoot(one));
      if (!shot) return turn;
      first.push_back(shot->call_us);
    } while (first.size() < 3 && first[0] < kPatientUpToUs);
    call_us_ = *std::min_element(first.begin(), first.end());
    if (call_us_ >= kPatientUpToUs) {
      worker_.Stop();
      turn.warm_us = warm_us_ = first;
      return turn;
    }
  }
  Request request;
  const auto slots = static_cast<std::uint32_t>(slots_->count());
  if (call_us_ < kRehearseUpToUs && slots > 2) {
    request.rehearse = static_cast<std::int32_t>(slots - 1);
    request.count =
        std::clamp(static_cast<std::uint32_t>(std::ceil(kSampleUs / std::max(call_us_, 0.1))), 1u, slots - 1);
  }
  for (std::uint32_t i = 0; i < request.count; ++i) request.slots[i] = i;

  if (call_us_ < kDiscardUpToUs && !HONE_TRY(Shoot(request))) return turn;
  const auto begin = Clock::now();
  do {
    const auto shot = HONE_TRY(Shoot(request));
    if (!shot) return turn;
    turn.warm_us.push_back(shot->call_us);
  } while (Clock::now() - begin < slice && turn.warm_us.size() < kMostSamples);
  one.cold = 1;
  while (static_cast<int>(turn.cold_us.size()) < cold) {
    const auto shot = HONE_TRY(Shoot(one));
    if (!shot) return turn;
    turn.cold_us.push_back(shot->call_us);
  }
  worker_.Stop();
  call_us_ = Median(turn.warm_us);
  warm_us_.insert(warm_us_.end(), turn.warm_us.begin(), turn.warm_us.end());
  return turn;
}

Result<void> WorkerParticipant::CheckClock() {
  worker_.Continue();
  std::vector<double> pings;
  for (int i = 0; i < 5; ++i) {
    Request ping;
    const WorkerAnswer answer = worker_.Ask(ping, call_wall_);
    if (answer.interrupted) return Fail(ErrorKind::kTimeout, "interrupted");
    if (!answer.reply) {
      refused_ = answer.verdict;
      return {};
    }
    pings.push_back(static_cast<double>(answer.wall_ns) / 1000 + HONE_TRY(Touch()));
  }
  // The question's way there and back is not the worker's doing; being put aside by the system is not either, so the
  // best of some.
  const double allowed = 3 * Median(pings) + 100;
  Request request;
  request.repeats = static_cast<std::uint32_t>(std::clamp(kClockCheckUs / std::max(call_us_, 0.05), 1.0, 1e5));
  const int shots = call_us_ > 100e3 ? 1 : kClockShots;
  double least = HUGE_VAL, inside = 0, outside = 0;
  for (int i = 0; i < shots && least > kClockTolerance * outside + allowed; ++i) {
    const auto shot = HONE_TRY(Shoot(request, true));
    if (!shot) return {};
    const double claimed = shot->call_us * request.repeats;
    if (const double off = std::abs(shot->outer_us - claimed); off < least) {
      least = off;
      inside = claimed;
      outside = shot->outer_us;
    }
  }
  const bool lies = least > kClockTolerance * outside + allowed;
  // Repeated calls on the same data are no slower than single ones; who claims so lies only where it pays. Short enough
  // not to be interrupted each time, and without the time that sleeping threads take to wake up.
  request.repeats = std::max(1u, request.repeats / 10);
  if (call_us_ < kDiscardUpToUs) request.rehearse = static_cast<std::int32_t>(slots_->count() - 1);
  const double single_us = Median(warm_us_);
  double repeated_us = HUGE_VAL;
  for (int i = 0; i < shots && repeated_us > 2 * single_us + 0.2; ++i) {
    const auto shot = HONE_TRY(Shoot(request));
    if (!shot) return {};
    repeated_us = std::min(repeated_us, shot->call_us);
  }
  worker_.Stop();
  Verdict verdict;
  verdict.outcome = Outcome::kSuspicious;
  if (lies) {
    verdict.reason = fmt::format("the clock inside says {:.0f} us, outside {:.0f} us passed", inside, outside);
    refused_ = std::move(verdict);
  } else if (repeated_us > 2 * single_us + 0.2) {
    verdict.reason = fmt::format(
        "the clock inside says {:.2f} us for a single call, but {:.2f} us a call when many are timed together",
        single_us, repeated_us);
    refused_ = std::move(verdict);
  }
  return {};
}

}  // namespace hone
