// Work that the search has done for it while it goes on: an evaluator's on a candidate, a proposer's on a question.
//
//   Begin(work) --> Done()? --> End() --> Begin(work) ...
//
// A Bell wakes whoever waits for one of several, and counts how long he has waited.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"
#include "base/result.h"

namespace hone {

class Bell {
 public:
  void Ring() {
    const MutexLock lock(mutex_);
    ++rings_;
    rung_.NotifyAll();
  }
  int rings() const {
    const MutexLock lock(mutex_);
    return rings_;
  }
  // What passes while one lives is others' time. Of the one thread that waits; not within another.
  class Waiting {
   public:
    explicit Waiting(Bell& bell) : bell_(bell), began_(std::chrono::steady_clock::now()) {}
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() { bell_.waited_ += std::chrono::steady_clock::now() - began_; }

   private:
    Bell& bell_;
    const std::chrono::steady_clock::time_point began_;
  };
  double waited_s() const { return waited_.count(); }

  // Until it has rung more often than `heard`, or for so long.
  void Wait(int heard, std::chrono::milliseconds at_most) {
    const Waiting waiting(*this);
    const auto until = std::chrono::steady_clock::now() + at_most;
    const MutexLock lock(mutex_);
    while (rings_ == heard && rung_.WaitUntil(mutex_, until)) continue;
  }

 private:
  mutable Mutex mutex_;
  Condition rung_;
  int rings_ HONE_GUARDED_BY(mutex_) = 0;
  std::chrono::duration<double> waited_{0};
};

// Used by one thread. The bell outlives it, and so does what `interrupt` reaches.
template <class T>
class Errand {
 public:
  enum class Where { kHere, kThread };
  // kHere: End does the work in the caller's thread. kThread: a thread of the errand's own does it as soon as it is
  // begun; it lives as long as the errand, since a judge dies with the thread that has started it. `interrupt` asks the
  // work to end soon; it is called from any thread, and may come before the work has begun.
  Errand(Bell& bell, Where where, std::function<void()> interrupt) : bell_(bell), interrupt_(std::move(interrupt)) {
    if (where == Where::kThread) thread_ = std::thread([this] { Work(); });
  }
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;
  // Interrupts what is in work.
  ~Errand() {
    if (!thread_.joinable()) return;
    if (begun_) static_cast<void>(Cancel());
    {
      const MutexLock lock(mutex_);
      closing_ = true;
    }
    changed_.NotifyAll();
    thread_.join();
  }

  void Begin(std::function<Result<T>()> work) {
    HONE_CHECK(!begun_, "a second errand before the first has ended");
    const MutexLock lock(mutex_);
    work_ = std::move(work);
    begun_ = true;
    changed_.NotifyAll();
  }
  bool begun() const { return begun_; }

  // Whether End returns at once. Never here.
  bool Done() const {
    const MutexLock lock(mutex_);
    return ended_.has_value();
  }

  // What came of it; blocks.
  Result<T> End() {
    HONE_CHECK(begun_, "the end of an errand that was never begun");
    const Bell::Waiting waiting(bell_);
    begun_ = false;
    MutexLock lock(mutex_);
    if (!thread_.joinable()) {
      const std::function<Result<T>()> work = std::exchange(work_, nullptr);
      lock.Unlock();
      return work();
    }
    while (!ended_) changed_.Wait(mutex_);
    return *std::exchange(ended_, std::nullopt);
  }

  // Asks for the end and waits for it. Again and again, since an interrupt may come just before the work begins.
  Result<T> Cancel() {
    while (thread_.joinable() && !WaitUntilDone(std::chrono::milliseconds(20))) interrupt_();
    return End();
  }

 private:
  bool WaitUntilDone(std::chrono::milliseconds at_most) {
    const Bell::Waiting waiting(bell_);
    const auto until = std::chrono::steady_clock::now() + at_most;
    const MutexLock lock(mutex_);
    while (!ended_ && changed_.WaitUntil(mutex_, until)) continue;
    return ended_.has_value();
  }

  void Work() {
    MutexLock lock(mutex_);
    for (;;) {
      while (!closing_ && !work_) changed_.Wait(mutex_);
      if (closing_) return;
      const std::function<Result<T>()> work = std::exchange(work_, nullptr);
      lock.Unlock();
      Result<T> result = work();
      lock.Lock();
      ended_ = std::move(result);
      changed_.NotifyAll();
      bell_.Ring();
    }
  }

  Bell& bell_;
  const std::function<void()> interrupt_;
  bool begun_ = false;  // the caller's
  mutable Mutex mutex_;
  Condition changed_;
  bool closing_ HONE_GUARDED_BY(mutex_) = false;
  std::function<Result<T>()> work_ HONE_GUARDED_BY(mutex_);  // that no thread has taken up
  std::optional<Result<T>> ended_ HONE_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace hone
