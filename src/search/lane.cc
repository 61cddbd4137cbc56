#include "search/lane.h"

#include <chrono>
#include <utility>

#include "base/check.h"

namespace hone {

Lane::Lane(Evaluator& evaluator, Where where) : evaluator_(evaluator) {
  if (where == Where::kThread) thread_ = std::thread([this] { Work(); });
}

Lane::~Lane() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(mutex_);
  closing_ = true;
  changed_.notify_all();
  // Again and again: an interrupt may come just before the evaluation begins.
  while (begun_ && !changed_.wait_for(lock, std::chrono::milliseconds(20), [this] { return ended_.has_value(); }))
    evaluator_.Interrupt();
  lock.unlock();
  thread_.join();
}

void Lane::Begin(Candidate candidate, EvaluateRequest request) {
  const std::lock_guard lock(mutex_);
  HONE_CHECK(!begun_, "a lane was given a second candidate");
  candidate_ = std::move(candidate);
  request_ = std::move(request);
  ended_.reset();
  begun_ = true;
  changed_.notify_all();
}

Result<Evaluation> Lane::End() {
  HONE_CHECK(begun_, "a lane was asked for what was never begun");
  if (!thread_.joinable()) {
    begun_ = false;
    return evaluator_.Evaluate(candidate_, request_);
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_.has_value(); });
  begun_ = false;
  return *std::exchange(ended_, std::nullopt);
}

void Lane::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || (begun_ && !ended_); });
    if (closing_) return;
    lock.unlock();
    Result<Evaluation> evaluation = evaluator_.Evaluate(candidate_, request_);
    lock.lock();
    ended_ = std::move(evaluation);
    changed_.notify_all();
  }
}

}  // namespace hone
