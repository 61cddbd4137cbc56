// Several helpings of a suite at a time: no problem has two, all have theirs, and what one process does comes of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/mutex.h"
#include "base/testing/must.h"
#include "search/suite.h"

namespace hone {
namespace {

using testing::Must;

// Each helping makes as many attempts as it may and takes a while; who is in work is noted.
class BusyServe {
 public:
  Result<Helping> operator()(const SuiteProblem& problem, const Portion& portion) {
    {
      const MutexLock lock(mutex_);
      twice |= !at_work_.insert(problem.key).second;
      most = std::max(most, at_work_.size());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const MutexLock lock(mutex_);
    at_work_.erase(problem.key);
    if (interrupt && ++ended == 3) *interrupt = true;
    if (interrupt && *interrupt && ended > 3) return Fail(ErrorKind::kInterrupted, "interrupted");
    Helping helping;
    helping.attempts = portion.attempts;
    helping.before_us = 100;
    helping.best_us = 100.0 / portion.attempts;
    helping.seconds = 1;
    return helping;
  }
  bool twice = false;
  std::size_t most = 0;
  int ended = 0;
  std::atomic<bool>* interrupt = nullptr;

 private:
  Mutex mutex_;
  std::set<std::string> at_work_;
};

std::vector<SuiteProblem> Problems(int count) {
  std::vector<SuiteProblem> problems;
  for (int i = 0; i < count; ++i) {
    const std::string name = std::to_string(i);
    problems.push_back({.key = name, .name = name, .group = "all", .path = name + ".json"});
  }
  return problems;
}

SuiteOutcome ServeAll(std::size_t at_once, BusyServe& busy, const std::string& ledger_path) {
  SuiteLedger ledger = Must(SuiteLedger::Open(ledger_path));
  const Serve serve = [&busy](const SuiteProblem& problem, const Portion& portion) { return busy(problem, portion); };
  return Must(RunSuite(Problems(9), ledger, {.attempts = 6, .helping = 2}, serve,
                       {.interrupt = busy.interrupt, .lanes = std::vector<std::string>(at_once)}));
}

TEST(SuiteAtOnceTest, NoProblemHasTwoAndAllHaveTheirs) {
  const TempDirectory folder = Must(TempDirectory::Create("at_once"));
  BusyServe alone, four;
  const SuiteOutcome one = ServeAll(1, alone, folder.path() + "/1.jsonl"),
                     many = ServeAll(4, four, folder.path() + "/4.jsonl");
  EXPECT_EQ(alone.most, 1u);
  EXPECT_GT(four.most, 1u);
  EXPECT_LE(four.most, 4u);
  EXPECT_FALSE(four.twice);
  EXPECT_EQ(many.stop, one.stop);
  EXPECT_TRUE(many.complete);
  for (std::size_t i = 0; i < one.standings.size(); ++i) {
    EXPECT_EQ(many.standings[i].last->attempts, 6);
    EXPECT_EQ(many.standings[i].helpings, one.standings[i].helpings);
    EXPECT_FALSE(many.standings[i].busy);
  }
}

TEST(SuiteAtOnceTest, AnInterruptKeepsWhatHasEnded) {
  const TempDirectory folder = Must(TempDirectory::Create("at_once"));
  std::atomic<bool> interrupt = false;
  BusyServe busy;
  busy.interrupt = &interrupt;
  const SuiteOutcome part = ServeAll(4, busy, folder.path() + "/l.jsonl");
  EXPECT_TRUE(part.interrupted);
  EXPECT_FALSE(part.complete);
  EXPECT_EQ(Must(SuiteLedger::Open(folder.path() + "/l.jsonl")).helpings().size(), 3u);
  BusyServe rest;
  EXPECT_TRUE(ServeAll(4, rest, folder.path() + "/l.jsonl").complete);
}

}  // namespace
}  // namespace hone
