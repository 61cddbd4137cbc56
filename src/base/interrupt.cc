#include "base/interrupt.h"

#include "base/check.h"

namespace hone {
namespace {

std::atomic<bool> interrupted{false};
std::atomic<Interrupt> first_cause{Interrupt::kNone};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<Interrupt>::is_always_lock_free,
              "a signal handler sets them");

}  // namespace

const std::atomic<bool>& InterruptFlag() { return interrupted; }

Interrupt InterruptCause() { return first_cause; }

void AskToStop(Interrupt cause) {
  Interrupt none = Interrupt::kNone;
  first_cause.compare_exchange_strong(none, cause);
  interrupted = true;
}

void ForgetInterrupt() {
  interrupted = false;
  first_cause = Interrupt::kNone;
}

TimeLimit::TimeLimit(std::chrono::duration<double> left)
    : until_(Clock::now() + std::chrono::ceil<std::chrono::nanoseconds>(left)), thread_([this] { Watch(); }) {}

void TimeLimit::Watch() {
  const MutexLock lock(mutex_);
  while (!ended_) {
    if (paused_) {
      changed_.Wait(mutex_);
    } else if (Clock::now() >= until_) {
      return AskToStop(Interrupt::kTimeIsUp);
    } else {
      changed_.WaitUntil(mutex_, until_);
    }
  }
}

void TimeLimit::Pause() {
  const MutexLock lock(mutex_);
  HONE_CHECK(!paused_, "a time limit that is paused already");
  paused_ = Clock::now();
  changed_.NotifyAll();
}

void TimeLimit::GoOn() {
  const MutexLock lock(mutex_);
  HONE_CHECK(paused_, "a time limit that is not paused");
  until_ += Clock::now() - *paused_;
  paused_.reset();
  changed_.NotifyAll();
}

TimeLimit::~TimeLimit() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

}  // namespace hone
