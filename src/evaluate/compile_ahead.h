// Threads that compile what may be asked for soon, so that it lies in the build cache when it is. What they find out is
// not kept but there.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "candidate/candidate.h"
#include "evaluate/evaluator.h"

namespace hone {

// Want and the destructor belong to one thread.
class CompileAhead {
 public:
  // `compile` is called from `threads` threads at once, at a lower priority than the caller's, from Go on.
  CompileAhead(int threads, std::function<void(const Candidate&)> compile);
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;
  ~CompileAhead();  // waits for what is being compiled

  // What is waited for now has been compiled. From any thread, and again.
  void Go();
  // In place of all that was wanted before and is not begun. Nothing is compiled twice.
  void Want(std::vector<Candidate> candidates);
  int compiled() const { return compiled_; }
  // So far; what is being compiled counts as far as it is. From any thread.
  CompilersUse use() const;

 private:
  using Clock = std::chrono::steady_clock;

  void Work();

  const std::function<void(const Candidate&)> compile_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Candidate> waiting_ HONE_GUARDED_BY(mutex_);
  std::set<std::string> begun_ HONE_GUARDED_BY(mutex_);                 // identities
  std::optional<Clock::time_point> going_ HONE_GUARDED_BY(mutex_);      // since then
  std::multiset<Clock::time_point> compiling_ HONE_GUARDED_BY(mutex_);  // since when each thread that does
  Clock::duration done_ HONE_GUARDED_BY(mutex_) = {};                   // by what is compiled
  bool closing_ HONE_GUARDED_BY(mutex_) = false;
  std::atomic<int> compiled_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace hone
