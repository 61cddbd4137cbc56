#include "base/interrupt.h"

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
    : thread_([this, left] {
        const auto until = std::chrono::steady_clock::now() + std::chrono::ceil<std::chrono::nanoseconds>(left);
        const MutexLock lock(mutex_);
        while (!ended_ && ended_changed_.WaitUntil(mutex_, until)) continue;
        if (!ended_) AskToStop(Interrupt::kTimeIsUp);
      }) {}

TimeLimit::~TimeLimit() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  ended_changed_.NotifyOne();
  thread_.join();
}

}  // namespace hone
