#include "evaluate/compile_ahead.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace hone {

CompileAhead::CompileAhead(int threads, std::function<void(const Candidate&)> compile) : compile_(std::move(compile)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

CompileAhead::~CompileAhead() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

void CompileAhead::Go() {
  {
    const MutexLock lock(mutex_);
    if (!going_) going_ = Clock::now();
  }
  changed_.NotifyAll();
}

void CompileAhead::Want(std::vector<Candidate> candidates) {
  {
    const MutexLock lock(mutex_);
    waiting_.clear();
    for (Candidate& candidate : candidates) {
      if (!begun_.contains(candidate.Identity())) waiting_.push_back(std::move(candidate));
    }
  }
  changed_.NotifyAll();
}

CompilersUse CompileAhead::use() const {
  const auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
  const MutexLock lock(mutex_);
  CompilersUse use{.threads = static_cast<int>(threads_.size()), .busy_s = seconds(done_)};
  if (!going_) return use;
  const auto now = Clock::now();
  for (const Clock::time_point begun : compiling_) use.busy_s += seconds(now - begun);
  use.of_s = use.threads * seconds(now - *going_);
  return use;
}

void CompileAhead::Work() {
  // Whoever launches kernels that are timed shall not wait for a processor. Linux has a priority for each thread.
  constexpr int kNice = 10;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
  MutexLock lock(mutex_);
  for (;;) {
    while (!closing_ && (!going_ || waiting_.empty())) changed_.Wait(mutex_);
    if (closing_) return;
    const Candidate candidate = std::move(waiting_.front());
    waiting_.pop_front();
    if (!begun_.insert(candidate.Identity()).second) continue;
    const auto begun = compiling_.insert(Clock::now());
    lock.Unlock();
    compile_(candidate);
    lock.Lock();
    done_ += Clock::now() - *begun;
    compiling_.erase(begun);
    ++compiled_;
  }
}

}  // namespace hone
