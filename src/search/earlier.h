// The attempts of a run's earlier sessions, in the order of trying, for whoever goes on with it. Their documents are
// parsed in threads some ahead of where the search is, and none is kept: a run may have a million of them.
#pragma once

#include <deque>
#include <future>
#include <string>
#include <vector>

#include "base/result.h"
#include "diagnose/insight.h"
#include "search/waiting.h"
#include "store/store.h"
#include "verdict/verdict.h"

namespace hone {

// Used by the search's thread; the store outlives it. Fails as the store does, and with kCorrupt.
class EarlierAttempts {
 public:
  explicit EarlierAttempts(Store& store) : store_(store) {}

  // kCorrupt when one before the last that ended is missing or has not ended.
  // `known`: of the first ones, which are not read.
  Result<void> Load(const std::string& run, const AttemptCount& known = {});
  void GoOnAfter(int attempts) { read_ = attempts; }  // fewer of them are known, before the first is asked for

  int count() const { return count_.ended; }
  double seconds() const { return count_.seconds; }  // that they took

  struct One {
    AttemptRecord record;
    Evaluation evaluation;
    Insight insight;
  };
  // Whether there is a next one, and it is of this parent and candidate.
  Result<bool> NextIs(int parent, const CandidateKey& candidate);
  // The next of `count`.
  Result<One> Next();

 private:
  using Parsed = std::vector<Result<One>>;
  Result<void> ReadAhead();
  Result<void> Turn();  // to the next batch, where this one is at its end

  Store& store_;
  std::string run_;
  AttemptCount count_;
  int read_ = 0;  // rows
  std::deque<std::future<Parsed>> ahead_;
  Parsed now_;
  std::size_t at_ = 0;  // in now_
};

}  // namespace hone
