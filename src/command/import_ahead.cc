#include "command/import_ahead.h"

#include <algorithm>
#include <utility>

namespace hone {

ImportAhead::ImportAhead(const std::vector<SuiteProblem>& problems, std::size_t ahead,
                         std::function<void(const SuiteProblem&)> import)
    : ahead_(ahead), import_(std::move(import)) {
  for (const SuiteProblem& problem : problems) next_.push_back(&problem);
  thread_ = std::thread([this] { Work(); });
}

ImportAhead::~ImportAhead() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void ImportAhead::Begin(const SuiteProblem& problem) {
  const MutexLock lock(mutex_);
  while (in_work_ != nullptr && in_work_->key == problem.key) changed_.Wait(mutex_);
  std::erase_if(next_, [&](const SuiteProblem* one) { return one->key == problem.key; });
  ready_.erase(problem.key);
  changed_.NotifyAll();
}

void ImportAhead::Work() {
  MutexLock lock(mutex_);
  while (true) {
    while (!ended_ && (next_.empty() || ready_.size() >= ahead_)) changed_.Wait(mutex_);
    if (ended_) return;
    in_work_ = next_.front();
    next_.pop_front();
    const SuiteProblem& problem = *in_work_;
    lock.Unlock();
    import_(problem);
    lock.Lock();
    in_work_ = nullptr;
    ready_.insert(problem.key);
    changed_.NotifyAll();
  }
}

}  // namespace hone
