// A mutex that says what it guards. Clang's analysis (preset `clang`) refuses a use of a HONE_GUARDED_BY variable where
// its mutex is not held, and a call of a HONE_NEEDS function; to other compilers these are the standard's, which say
// nothing of the kind.
//
//   mutable Mutex mutex_;
//   Condition changed_;
//   bool ended_ HONE_GUARDED_BY(mutex_) = false;
//
//   const MutexLock lock(mutex_);
//   while (!ended_) changed_.Wait(mutex_);  // a loop: the analysis does not see into a predicate
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define HONE_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define HONE_THREAD_ATTRIBUTE(attribute)
#endif
#define HONE_GUARDED_BY(mutex) HONE_THREAD_ATTRIBUTE(guarded_by(mutex))          // a variable
#define HONE_NEEDS(...) HONE_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))  // a function: its caller holds it

namespace hone {

class HONE_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void Lock() HONE_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void Unlock() HONE_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

// Holds one for as long as it lives, but between Unlock and Lock.
class HONE_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) HONE_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) { mutex_.Lock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() HONE_THREAD_ATTRIBUTE(release_capability()) {
    if (held_) mutex_.Unlock();
  }
  void Unlock() HONE_THREAD_ATTRIBUTE(release_capability()) {
    held_ = false;
    mutex_.Unlock();
  }
  void Lock() HONE_THREAD_ATTRIBUTE(acquire_capability()) {
    mutex_.Lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// What is waited for under a mutex. A wait may end for no reason: it belongs into a loop.
class Condition {
 public:
  void Wait(Mutex& mutex) HONE_NEEDS(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    changed_.wait(lock);
    lock.release();
  }
  // False when the time came.
  bool WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point time) HONE_NEEDS(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const bool told = changed_.wait_until(lock, time) == std::cv_status::no_timeout;
    lock.release();
    return told;
  }
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace hone
