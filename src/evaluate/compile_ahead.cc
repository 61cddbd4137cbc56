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
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void CompileAhead::Want(std::vector<Candidate> candidates) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
    for (Candidate& candidate : candidates) {
      if (!begun_.contains(candidate.Identity())) waiting_.push_back(std::move(candidate));
    }
  }
  changed_.notify_all();
}

void CompileAhead::Work() {
  // Whoever launches kernels that are timed shall not wait for a processor. Linux has a priority for each thread.
  constexpr int kNice = 10;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    if (closing_) return;
    const Candidate candidate = std::move(waiting_.front());
    waiting_.pop_front();
    if (!begun_.insert(candidate.Identity()).second) continue;
    lock.unlock();
    compile_(candidate);
    ++compiled_;
    lock.lock();
  }
}

}  // namespace hone
