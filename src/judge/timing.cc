#include "judge/timing.h"

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
constexpr std::uint64_t kTurnsToGive = 12;  // as many as a timing has as a rule (race.cc: kRounds)

}  // namespace

WorkerParticipant::WorkerParticipant(std::unique_ptr<Worker> worker, std::unique_ptr<TimedSlots> slots,
                                     milliseconds call_wall, SecretRandom random, std::vector<JudgedDraw> judged,
                                     Look look)
    : worker_(std::move(worker)),
      slots_(std::move(slots)),
      call_wall_(call_wall),
      random_(std::move(random)),
      judged_(std::move(judged)),
      look_(std::move(look)) {
  for (std::size_t i = 0; i < judged_.size(); ++i) due_.push_back(random_.Below(kTurnsToGive));
  std::sort(due_.begin(), due_.end(), std::greater<>());
}

Result<WorkerAnswer> WorkerParticipant::Ask(const Request& request, milliseconds wall) {
  auto answer = HONE_TRY(worker_->Ask(request, wall));
  if (!answer) answer.error().evidence->draw = "timing";
  return answer;
}

Result<tl::expected<WorkerParticipant::Shot, Verdict>> WorkerParticipant::Shoot(Request request, Inputs inputs,
                                                                                Given given) {
  using Made = tl::expected<Shot, Verdict>;
  if (request.brief != 0) {
    if (auto refusal = HONE_TRY(Rehearse())) return Made(tl::unexpected(std::move(*refusal)));
  }
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
  const auto used_before = worker_->ProcessorNanoseconds();
  const auto answer = HONE_TRY(Ask(request, call_wall_ * (calls + 1)));
  if (!answer) return Made(tl::unexpected(answer.error()));
  if (request.warm != 0) {
    usage_.processor_us += static_cast<double>(worker_->ProcessorNanoseconds() - used_before) / 1000;
    usage_.wall_us += static_cast<double>(answer->wall_ns) / 1000;
  }
  as_graph_ = answer->said.as_graph != 0;
  if (given.inputs != nullptr) {
    worker_->Stop();  // what is not there yet does not come
    if (auto refusal = HONE_TRY(look_(*given.inputs, request.slots[given.call], answer->said)))
      return Made(tl::unexpected(std::move(*refusal)));
    worker_->Continue();
  }
  return Made(
      Shot{static_cast<double>(answer->said.nanoseconds) / 1000 / calls, static_cast<double>(answer->wall_ns) / 1000});
}

Result<Refusal> WorkerParticipant::Rehearse() {
  Request request;
  request.ask = Ask::kTime;
  request.slots[0] = static_cast<std::uint32_t>(slots_->count() - 1);  // never among those that are timed
  const auto answer = HONE_TRY(Ask(request, call_wall_));
  return answer ? Refusal() : Refusal(answer.error());
}

Result<tl::expected<WorkerParticipant::Shot, Verdict>> WorkerParticipant::Repeat(std::uint32_t calls, bool brief) {
  Request request;
  request.repeats = calls;
  request.brief = brief ? 1 : 0;
  return Shoot(request, Inputs::kNew);
}

Result<tl::expected<double, Verdict>> WorkerParticipant::Ping() {
  const auto answer = HONE_TRY(Ask({}, call_wall_));
  if (!answer) return tl::expected<double, Verdict>(tl::unexpected(answer.error()));
  return tl::expected<double, Verdict>(static_cast<double>(answer->wall_ns) / 1000);
}

Result<double> WorkerParticipant::Touch() {
  const auto begin = Clock::now();
  HONE_TRY(slots_->Touch());
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

Result<Refusal> WorkerParticipant::TakeSample(const Request& request, Inputs inputs, Turn& turn, Given given) {
  const auto shot = HONE_TRY(Shoot(request, inputs, given));
  if (!shot) return Refusal(shot.error());
  if (inputs == Inputs::kNew) turn.warm_us.push_back(shot->call_us);
  (inputs == Inputs::kNew ? new_us_ : stay_us_).push_back(shot->call_us);
  return Refusal();
}

Result<Refusal> WorkerParticipant::GiveDraw(const Request& request, Turn& turn) {
  const JudgedDraw draw = std::move(judged_.back());
  judged_.pop_back();
  due_.pop_back();
  const auto call = static_cast<std::uint32_t>(random_.Below(request.count));
  HONE_PASS(TakeSample(request, Inputs::kNew, turn, {draw.inputs.get(), call}));
  if (!draw.then) return Refusal();
  return TakeSample(request, Inputs::kStay, turn, {draw.then.get(), call});
}

bool WorkerParticipant::batched() const { return call_us_ < kRehearseUpToUs && slots_->count() > 2; }

Result<Taken> WorkerParticipant::Sample(microseconds slice, int cold) {
  Turn turn;
  worker_->Continue();
  if (auto refusal = HONE_TRY(TakeTurn(slice, cold, turn))) {
    gone_ = true;
    return Taken(tl::unexpected(std::move(*refusal)));
  }
  worker_->Stop();
  return Taken(std::move(turn));
}

Result<Refusal> WorkerParticipant::TakeTurn(microseconds slice, int cold, Turn& turn) {
  Request request;
  request.warm = 1;
  if (call_us_ == 0) {  // a first idea; page faults and first-time work are in the first call
    std::vector<double> first;
    do {
      const auto shot = HONE_TRY(Shoot(request, Inputs::kNew));
      if (!shot) return Refusal(shot.error());
      first.push_back(shot->call_us);
    } while (first.size() < 3 && first[0] < kPatientUpToUs);
    call_us_ = *std::min_element(first.begin(), first.end());
    if (call_us_ >= kPatientUpToUs) {
      turn.warm_us = new_us_ = first;
      return Refusal();
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

  if (call_us_ < kDiscardUpToUs) {
    if (const auto shot = HONE_TRY(Shoot(request, Inputs::kNew)); !shot) return Refusal(shot.error());
  }
  const auto begin = Clock::now();
  const auto give_at = begin + slice * random_.Below(1000) / 1000;
  const auto due = [&] { return !due_.empty() && due_.back() <= turns_; };
  do {
    // The first is always new: others have been at work in the slots.
    const bool stay = !turn.warm_us.empty() && random_.OneIn(kStayOneIn);
    const bool give = due() && Clock::now() >= give_at;
    HONE_PASS(give ? GiveDraw(request, turn) : TakeSample(request, stay ? Inputs::kStay : Inputs::kNew, turn));
  } while (Clock::now() - begin < slice && turn.warm_us.size() < kMostSamples);
  while (due()) HONE_PASS(GiveDraw(request, turn));
  ++turns_;
  Request one;
  one.cold = 1;
  while (static_cast<int>(turn.cold_us.size()) < cold) {
    const auto shot = HONE_TRY(Shoot(one, Inputs::kNew));
    if (!shot) return Refusal(shot.error());
    turn.cold_us.push_back(shot->call_us);
  }
  call_us_ = Median(turn.warm_us);
  return Refusal();
}

Result<Refusal> WorkerParticipant::Finish(microseconds slice) {
  for (std::uint64_t& turn : due_) turn = std::min(turn, turns_);
  if (due_.empty()) return Refusal();
  const auto taken = HONE_TRY(Sample(slice, 0));
  return taken ? Refusal() : Refusal(taken.error());
}

}  // namespace hone
