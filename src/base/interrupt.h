// Whether this process was asked to end what it does: by Ctrl-C, by SIGTERM, or because its time is up. There is one
// such wish a process, as there is one for signals. Whoever takes longer than a moment looks at the flag; child
// processes that are waited for (base/process.h, Run) are ended by it.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "base/mutex.h"

namespace hone {

enum class Interrupt : int { kNone, kCtrlC, kTerminated, kTimeIsUp };

const std::atomic<bool>& InterruptFlag();
Interrupt InterruptCause();  // of the first wish; kNone while the flag is not set

// The first one counts. Async-signal-safe.
void AskToStop(Interrupt cause);
void ForgetInterrupt();  // for tests

// Asks with kTimeIsUp when the time comes, if it still lives then. Any thread may call it.
class TimeLimit {
 public:
  explicit TimeLimit(std::chrono::duration<double> left);
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  ~TimeLimit();

  // From here on no time passes, until it goes on: somebody else has what we wait for. Once at a time.
  void Pause();
  void GoOn();

 private:
  using Clock = std::chrono::steady_clock;
  void Watch();
  Mutex mutex_;
  Condition changed_;
  bool ended_ HONE_GUARDED_BY(mutex_) = false;
  Clock::time_point until_ HONE_GUARDED_BY(mutex_);
  std::optional<Clock::time_point> paused_ HONE_GUARDED_BY(mutex_);  // since then
  std::thread thread_;
};

}  // namespace hone
