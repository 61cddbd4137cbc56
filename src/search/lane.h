// One evaluator at work: a search that has several (one a device) has as many attempts in flight.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/result.h"
#include "evaluate/evaluator.h"

namespace hone {

// Used by one thread. The evaluator outlives it.
class Lane {
 public:
  enum class Where { kHere, kThread };
  // kHere: End does the work in the caller's thread. kThread: a thread of the lane's own does it as soon as it is
  // begun; it lives as long as the lane, since a judge dies with the thread that has started it.
  Lane(Evaluator& evaluator, Where where);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane();  // interrupts what is in work

  Evaluator& evaluator() { return evaluator_; }
  void Begin(Candidate candidate, EvaluateRequest request);  // one at a time
  Result<Evaluation> End();                                  // of what was begun; blocks

 private:
  void Work();

  Evaluator& evaluator_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool begun_ = false, closing_ = false;
  Candidate candidate_;
  EvaluateRequest request_;
  std::optional<Result<Evaluation>> ended_;
  std::thread thread_;
};

}  // namespace hone
