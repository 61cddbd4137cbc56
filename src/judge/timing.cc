#include "judge/timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "judge/samples.h"

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
constexpr std::uint64_t kStayOneIn = 4;
constexpr std::uint64_t kTurnsToGive = 12;  // as many as a timing has as a rule (judge_timing.cc: kRounds)
// Who is slower on new inputs by this, with 95 % confidence, does something else there: data alone make no such
// difference but for branches that a processor learns by heart, which is why it is not less.
constexpr double kSlowerOnNew = 1.5, kSlowerOnNewUs = 0.2;
constexpr double kClockCheckUs = 3000;
constexpr double kClockTolerance = 0.1, kBusyTolerance = 0.3;
constexpr int kPings = 5;
constexpr int kClockShots = 20;  // the best counts: on a busy machine most may be disturbed

}  // namespace

WorkerParticipant::WorkerParticipant(WorkerProcess worker, std::unique_ptr<TimedSlots> slots, milliseconds call_wall,
                                     SecretRandom random, std::vector<JudgedDraw> judged, Look look)
    : worker_(std::move(worker)),
      slots_(std::move(slots)),
      call_wall_(call_wall),
      random_(std::move(random)),
      judged_(std::move(judged)),
      look_(std::move(look)) {
  for (std::size_t i = 0; i < judged_.size(); ++i) due_.push_back(random_.Below(kTurnsToGive));
  std::sort(due_.begin(), due_.end(), std::greater<>());
}

Result<std::optional<WorkerParticipant::Shot>> WorkerParticipant::Shoot(Request request, Inputs inputs, Given given) {
  if (request.brief != 0 && !HONE_TRY(Rehearse())) return std::nullopt;
  request.ask = Ask::kTime;
  // What is neither warm nor cold is no sample, but held against our clock: whoever has been busy with inputs gets
  // back to work late on a busy machine, and would see a lie there.
  const bool sample = request.warm != 0 || request.cold != 0;
  for (std::uint32_t i = 0; i < request.count && sample; ++i) {
    const auto slot = request.slots[i];
    if (given.inputs != nullptr && i == given.call) {
      HONE_TRY(slots_->Give(*given.inputs, slot, random_));
    } else {
      HONE_TRY(inputs == Inputs::kNew ? slots_->Renew(slot, random_) : slots_->Disturb(slot, random_));
    }
  }
  const auto calls = request.count * request.repeats;
  const WorkerAnswer answer = worker_.Ask(request, call_wall_ * (calls + 1));
  if (!Answered(answer)) {
    if (answer.interrupted) return Fail(ErrorKind::kTimeout, "interrupted");
    return std::nullopt;
  }
  as_graph_ = answer.reply->as_graph != 0;
  if (given.inputs != nullptr) {
    worker_.Stop();  // what is not there yet does not come
    Verdict verdict;
    if (!HONE_TRY(look_(*given.inputs, request.slots[given.call], verdict))) {
      refused_ = std::move(verdict);
      return std::nullopt;
    }
    worker_.Continue();
  }
  return Shot{static_cast<double>(answer.reply->nanoseconds) / 1000 / calls,
              static_cast<double>(answer.wall_ns) / 1000};
}

bool WorkerParticipant::Answered(const WorkerAnswer& answer) {
  if (answer.reply) return true;
  refused_ = answer.verdict;  // it is gone, also when it was we who were interrupted
  refused_->evidence.draw = "timing";
  return false;
}

Result<bool> WorkerParticipant::Rehearse() {
  Request request;
  request.ask = Ask::kTime;
  request.slots[0] = static_cast<std::uint32_t>(slots_->count() - 1);  // never among those that are timed
  const WorkerAnswer answer = worker_.Ask(request, call_wall_);
  if (!Answered(answer) && answer.interrupted) return Fail(ErrorKind::kTimeout, "interrupted");
  return !refused_;
}

Result<double> WorkerParticipant::Touch() {
  const auto begin = Clock::now();
  HONE_TRY(slots_->Touch());
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

Result<bool> WorkerParticipant::TakeSample(const Request& request, Inputs inputs, Turn& turn, Given given) {
  const auto shot = HONE_TRY(Shoot(request, inputs, given));
  if (!shot) return false;
  if (inputs == Inputs::kNew) turn.warm_us.push_back(shot->call_us);
  (inputs == Inputs::kNew ? new_us_ : stay_us_).push_back(shot->call_us);
  return true;
}

Result<bool> WorkerParticipant::GiveDraw(const Request& request, Turn& turn) {
  const JudgedDraw draw = std::move(judged_.back());
  judged_.pop_back();
  due_.pop_back();
  const auto call = static_cast<std::uint32_t>(random_.Below(request.count));
  if (!HONE_TRY(TakeSample(request, Inputs::kNew, turn, {draw.inputs.get(), call}))) return false;
  return !draw.then || HONE_TRY(TakeSample(request, Inputs::kStay, turn, {draw.then.get(), call}));
}

bool WorkerParticipant::batched() const { return call_us_ < kRehearseUpToUs && slots_->count() > 2; }

Result<Turn> WorkerParticipant::Sample(microseconds slice, int cold) {
  Turn turn;
  worker_.Continue();
  Request request;
  request.warm = 1;
  if (call_us_ == 0) {  // a first idea; page faults and first-time work are in the first call
    std::vector<double> first;
    do {
      const auto shot = HONE_TRY(Shoot(request, Inputs::kNew));
      if (!shot) return turn;
      first.push_back(shot->call_us);
    } while (first.size() < 3 && first[0] < kPatientUpToUs);
    call_us_ = *std::min_element(first.begin(), first.end());
    if (call_us_ >= kPatientUpToUs) {
      worker_.Stop();
      turn.warm_us = new_us_ = first;
      return turn;
    }
  }
  // Where there are but two slots they do not fit the cache together, and a rehearsal would empty it.
  const auto slots = static_cast<std::uint32_t>(slots_->count());
  if (batched()) {
    request.brief = 1;
    request.count =
        std::clamp(static_cast<std::uint32_t>(std::ceil(kSampleUs / std::max(call_us_, 0.1))), 1u, slots - 1);
  }
  for (std::uint32_t i = 0; i < request.count; ++i) request.slots[i] = i;

  if (call_us_ < kDiscardUpToUs && !HONE_TRY(Shoot(request, Inputs::kNew))) return turn;
  const auto begin = Clock::now();
  const auto give_at = begin + slice * random_.Below(1000) / 1000;
  const auto due = [&] { return !due_.empty() && due_.back() <= turns_; };
  do {
    // The first is always new: others have been at work in the slots.
    const bool stay = !turn.warm_us.empty() && random_.OneIn(kStayOneIn);
    const bool give = due() && Clock::now() >= give_at;
    if (!HONE_TRY(give ? GiveDraw(request, turn) : TakeSample(request, stay ? Inputs::kStay : Inputs::kNew, turn)))
      return turn;
  } while (Clock::now() - begin < slice && turn.warm_us.size() < kMostSamples);
  while (due()) {
    if (!HONE_TRY(GiveDraw(request, turn))) return turn;
  }
  ++turns_;
  Request one;
  one.cold = 1;
  while (static_cast<int>(turn.cold_us.size()) < cold) {
    const auto shot = HONE_TRY(Shoot(one, Inputs::kNew));
    if (!shot) return turn;
    turn.cold_us.push_back(shot->call_us);
  }
  worker_.Stop();
  call_us_ = Median(turn.warm_us);
  return turn;
}

Result<void> WorkerParticipant::Finish(microseconds slice) {
  for (std::uint64_t& turn : due_) turn = std::min(turn, turns_);
  if (!due_.empty()) HONE_TRY(Sample(slice, 0));
  const auto on_new = MedianInterval(new_us_), on_old = MedianInterval(stay_us_);
  if (refused_ || !on_new || !on_old || on_new->low <= kSlowerOnNew * on_old->high + kSlowerOnNewUs) return {};
  refused_.emplace();
  refused_->outcome = Outcome::kSuspicious;
  refused_->reason = fmt::format(
      "takes {:.2f} us on inputs that are all new and {:.2f} us where most of them are as they were: it computes only "
      "what changed",
      Median(new_us_), Median(stay_us_));
  return {};
}

Result<void> WorkerParticipant::CheckClock() {
  worker_.Continue();
  Request request;
  request.repeats = static_cast<std::uint32_t>(std::clamp(kClockCheckUs / std::max(call_us_, 0.05), 1.0, 1e5));
  const int shots = call_us_ > 100e3 ? 1 : kClockShots;
  double least = HUGE_VAL, inside = 0, outside = 0;
  // The question's way there and back is not the worker's doing; being put aside by the system is not either, so the
  // best of some. A busy system has whoever has just worked wait: its way is looked at after each shot, too, and may
  // explain a part of what is missing.
  std::vector<double> rested, tired;  // ways in microseconds
  const auto go_there_and_back = [&](std::vector<double>& ways) -> Result<bool> {
    const WorkerAnswer answer = worker_.Ask({}, call_wall_);
    if (answer.interrupted) return Fail(ErrorKind::kTimeout, "interrupted");
    if (!Answered(answer)) return false;
    ways.push_back(static_cast<double>(answer.wall_ns) / 1000 + HONE_TRY(Touch()));
    return true;
  };
  for (int i = 0; i < kPings; ++i) {
    if (!HONE_TRY(go_there_and_back(rested))) return {};
  }
  const auto too_far = [&] {
    const double busy = std::min(3 * Median(tired), kBusyTolerance * outside);
    return least > kClockTolerance * outside + std::max(3 * Median(rested), busy) + 100;
  };
  for (int i = 0; i < shots && too_far(); ++i) {
    const auto shot = HONE_TRY(Shoot(request, Inputs::kNew));
    if (!shot) return {};
    const double claimed = shot->call_us * request.repeats, outer_us = shot->outer_us + HONE_TRY(Touch());
    if (!HONE_TRY(go_there_and_back(tired))) return {};
    if (const double off = std::abs(outer_us - claimed); off < least) {
      least = off;
      inside = claimed;
      outside = outer_us;
    }
  }
  const bool lies = too_far();
  // Repeated calls on the same data are no slower than single ones; who claims so lies only where it pays. Short enough
  // not to be interrupted each time, and without the time that sleeping threads take to wake up.
  request.repeats = std::max(1u, request.repeats / 10);
  if (call_us_ < kDiscardUpToUs) request.brief = 1;
  const double single_us = Median(new_us_);
  double repeated_us = HUGE_VAL;
  for (int i = 0; i < shots && repeated_us > 2 * single_us + 0.2; ++i) {
    const auto shot = HONE_TRY(Shoot(request, Inputs::kNew));
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
