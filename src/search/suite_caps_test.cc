// What language models may take of a suite: one cap over all of its problems and sessions.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/mutex.h"
#include "base/testing/must.h"
#include "search/suite.h"

namespace hone {
namespace {

using testing::Must;

// Each attempt takes 30 tokens and a dollar; what would pass its run's cap is not asked for.
class PaidServe {
 public:
  Result<Helping> operator()(const SuiteProblem& problem, const Portion& portion) {
    const MutexLock lock(mutex_);
    Helping& run = runs_[problem.key];
    const int before = run.attempts;
    run.withheld = false;
    while (run.attempts < portion.attempts && !run.withheld) {
      run.withheld = (portion.tokens > 0 && run.tokens + 30 > portion.tokens) ||
                     (portion.dollars > 0 && run.dollars + 1 > portion.dollars);
      if (run.withheld) break;
      ++run.attempts;
      run.tokens += 30;
      run.dollars += 1;
    }
    order_ += problem.key + std::to_string(run.attempts - before);
    Helping made = run;
    made.before_us = 100;
    made.best_us = run.attempts > 0 ? 90 : 0;
    made.seconds = 1;
    if (problem.key == "x") {  // it dies before it can say what it took
      made = {};
      made.failure = "killed";
      made.tokens = run.tokens;
    }
    return made;
  }
  std::string order() {
    const MutexLock lock(mutex_);
    return order_;
  }
  std::int64_t tokens() {
    const MutexLock lock(mutex_);
    std::int64_t sum = 0;
    for (const auto& [_, run] : runs_) sum += run.tokens;
    return sum;
  }

 private:
  Mutex mutex_;
  std::map<std::string, Helping> runs_ HONE_GUARDED_BY(mutex_);
  std::string order_ HONE_GUARDED_BY(mutex_);
};

class SuiteCapsTest : public ::testing::Test {
 protected:
  SuiteOutcome Run(const std::string& names, const SuiteBudget& budget, std::size_t lanes = 1) {
    std::vector<SuiteProblem> problems;
    for (const char name : names) {
      const std::string key(1, name);
      problems.push_back({.key = key, .name = key, .group = "all", .path = key + ".json"});
    }
    SuiteLedger ledger = Must(SuiteLedger::Open(folder_.path() + "/ledger.jsonl"));
    const Serve serve = [this](const SuiteProblem& problem, const Portion& portion) { return paid_(problem, portion); };
    return Must(RunSuite(problems, ledger, budget, serve, {.lanes = std::vector<std::string>(lanes)}));
  }
  TempDirectory folder_ = *TempDirectory::Create("caps");
  PaidServe paid_;
};

TEST_F(SuiteCapsTest, OneCapIsOverAllProblemsAndSessions) {
  const SuiteOutcome first = Run("abc", {.attempts = 4, .helping = 2, .tokens = 150});
  EXPECT_EQ(paid_.order(), "a2b2c1");
  EXPECT_EQ(first.stop, "the caps leave less than the next call of a language model may take");
  const SuiteOutcome again = Run("abc", {.attempts = 4, .helping = 2, .tokens = 150});
  EXPECT_EQ(again.stop, "the 150 tokens are spent");
  EXPECT_EQ(paid_.order(), "a2b2c1") << "nobody is asked for nothing";
  const SuiteOutcome more = Run("abc", {.attempts = 4, .helping = 2, .tokens = 1000});
  EXPECT_EQ(more.stop, "every problem has had its attempts");
  EXPECT_EQ(paid_.tokens(), 3 * 4 * 30);
}

TEST_F(SuiteCapsTest, DollarsCapLikewise) {
  EXPECT_EQ(Run("ab", {.attempts = 4, .helping = 2, .dollars = 3}).stop,
            "the caps leave less than the next call of a language model may take");
  EXPECT_EQ(paid_.order(), "a2b1");
  EXPECT_EQ(Run("ab", {.attempts = 4, .helping = 2, .dollars = 3}).stop, "the 3.00 dollars are spent");
}

TEST_F(SuiteCapsTest, WhatAFailureTookCounts) {
  EXPECT_EQ(Run("xa", {.attempts = 4, .helping = 2, .tokens = 90}).stop,
            "the caps leave less than the next call of a language model may take");
  EXPECT_EQ(paid_.order(), "x2a1");
}

TEST_F(SuiteCapsTest, SeveralAtATimeStayWithinIt) {
  Run("abcdefgh", {.attempts = 8, .helping = 4, .tokens = 500}, 4);
  EXPECT_LE(paid_.tokens(), 500);
  EXPECT_GE(paid_.tokens(), 500 / 2) << "nor is most of it left lying";
}

}  // namespace
}  // namespace hone
