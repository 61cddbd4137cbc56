// Threads that compile what may be asked for soon, so that it lies in the build cache when it is. What they find out is
// not kept but there. Processes that share processors share the places to compile at: a problem that is being measured
// has nothing to compile, and leaves its places to those that get ready.
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
#include "target/build_cache.h"

namespace hone {

// A place to compile at for each of `threads` threads, as a file in `folder`, which is made: of this machine's, one for
// each processor that we may use, in their order, and over again.
std::vector<std::string> CompilerPlaces(const std::string& folder, int threads);

struct CompileAheadOptions {
  int threads = 1;
  std::vector<std::string> places;  // files, of which one is locked while something is compiled; none: not shared
  // Without a Go, so long after the first Want: what takes longer holds nobody up that is quick.
  std::chrono::steady_clock::duration patience = std::chrono::seconds(3);
};

// Want and the destructor belong to one thread.
class CompileAhead {
 public:
  // `compile` is called from several threads at once, at a lower priority than the caller's, from Go on.
  CompileAhead(CompileAheadOptions options, std::function<void(const Candidate&)> compile);
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

  struct Place {
    std::optional<FileLock> lock;  // nothing where places are not shared
  };

  void Work();
  bool MayBegin() HONE_NEEDS(mutex_);
  bool WaitForWork();                // false: closing
  std::optional<Place> TakePlace();  // nothing when there is nothing to compile any more

  const CompileAheadOptions options_;
  const std::function<void(const Candidate&)> compile_;
  Mutex looking_;  // for a place, one thread at a time
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Candidate> waiting_ HONE_GUARDED_BY(mutex_);
  std::set<std::string> begun_ HONE_GUARDED_BY(mutex_);                 // identities
  std::optional<Clock::time_point> wanted_ HONE_GUARDED_BY(mutex_);     // first
  std::optional<Clock::time_point> going_ HONE_GUARDED_BY(mutex_);      // since then
  std::multiset<Clock::time_point> compiling_ HONE_GUARDED_BY(mutex_);  // since when each thread that does
  Clock::duration done_ HONE_GUARDED_BY(mutex_) = {};                   // by what is compiled
  bool closing_ HONE_GUARDED_BY(mutex_) = false;
  std::atomic<int> compiled_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace hone
