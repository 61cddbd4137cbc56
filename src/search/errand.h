// Work that the search has done for it while it goes on: an evaluator's on a candidate, a proposer's on a question.
//
//   Begin(work) --> Done()? --> End() --> Begin(work) ...
//
// A Bell wakes whoever waits for one of several.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/result.h"

namespace hone {

class Bell {
 public:
  void Ring() {
    const std::lock_guard lock(mutex_);
    ++rings_;
    rung_.notify_all();
  }
  int rings() const {
    const std::lock_guard lock(mutex_);
    return rings_;
  }
  // Until it has rung more often than `heard`, or for so long.
  void Wait(int heard, std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    rung_.wait_for(lock, at_most, [&] { return rings_ != heard; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable rung_;
  int rings_ = 0;
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
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void Begin(std::function<Result<T>()> work) {
    HONE_CHECK(!begun_, "a second errand before the first has ended");
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
    begun_ = true;
    changed_.notify_all();
  }
  bool begun() const { return begun_; }

  // Whether End returns at once. Never here.
  bool Done() const {
    const std::lock_guard lock(mutex_);
    return ended_.has_value();
  }

  // What came of it; blocks.
  Result<T> End() {
    HONE_CHECK(begun_, "the end of an errand that was never begun");
    begun_ = false;
    if (!thread_.joinable()) return std::exchange(work_, nullptr)();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_.has_value(); });
    return *std::exchange(ended_, std::nullopt);
  }

  // Asks for the end and waits for it. Again and again, since an interrupt may come just before the work begins.
  Result<T> Cancel() {
    while (thread_.joinable() && !WaitUntilDone(std::chrono::milliseconds(20))) interrupt_();
    return End();
  }

 private:
  bool WaitUntilDone(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, at_most, [this] { return ended_.has_value(); });
  }

  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closing_ || work_; });
      if (closing_) return;
      const std::function<Result<T>()> work = std::exchange(work_, nullptr);
      lock.unlock();
      Result<T> result = work();
      lock.lock();
      ended_ = std::move(result);
      changed_.notify_all();
      bell_.Ring();
    }
  }

  Bell& bell_;
  const std::function<void()> interrupt_;
  bool begun_ = false;  // the caller's
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;             // from here on under the mutex
  std::function<Result<T>()> work_;  // that no thread has taken up
  std::optional<Result<T>> ended_;
  std::thread thread_;
};

}  // namespace hone
