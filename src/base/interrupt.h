// Whether this process was asked to end what it does: by Ctrl-C, by SIGTERM, or because its time is up. There is one
// such wish a process, as there is one for signals. Whoever takes longer than a moment looks at the flag; child
// processes that are waited for (base/process.h, Run) are ended by it.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "base/mutex.h"

namespace hone {

enum class Interrupt : int { kNone, kCtrlC, kTerminated, kTimeIsUp };

const std::atomic<bool>& InterruptFlag();
Interrupt InterruptCause();  // of the first wish; kNone while the flag is not set

// The first one counts. Async-signal-safe.
void AskToStop(Interrupt cause);
void ForgetInterrupt();  // for tests

// Asks with kTimeIsUp when the time comes, if it still lives then.
class TimeLimit {
 public:
  explicit TimeLimit(std::chrono::duration<double> left);
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  ~TimeLimit();

 private:
  Mutex mutex_;
  Condition ended_changed_;
  bool ended_ HONE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hone
