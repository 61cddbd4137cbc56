// What is confirmed in a limit of time, where baselines take long to get ready: the winner first, beside those that
// are.
#include <gtest/gtest.h>

#include <set>

#include "base/interrupt.h"
#include "base/testing/must.h"
#include "search/bench.h"
#include "search/testing/scripted_evaluator.h"
#include "search/testing/scripted_proposer.h"

namespace hone {
namespace {

using testing::Must;
using Names = std::vector<std::string>;

constexpr std::uint64_t kSeed = 3;

// Each baseline takes a while to get ready, once. Asks to stop when the time is up, as base/interrupt.h does.
class Slow final : public Evaluator {
 public:
  explicit Slow(double seconds) : limit_s_(seconds) {}
  Result<Evaluation> Evaluate(const Candidate& candidate, const EvaluateRequest& request) override {
    asked.push_back(request);
    if (looks) looks();
    now_s += attempt_s + (request.fresh_draws ? std::chrono::duration<double>(request.timing_budget).count() : 0);
    for (const std::string& name : request.baselines) {
      if (ready_.insert(name).second) now_s += ready_s.at(name);
    }
    if (limit_s_ > 0 && now_s >= limit_s_) AskToStop(Interrupt::kTimeIsUp);
    Evaluation evaluation = HONE_TRY(scripted_.Evaluate(candidate, request));
    if (refused_beside.empty() || request.baselines.back() != refused_beside) return evaluation;
    evaluation.verdict.outcome = Outcome::kWrongResult;
    evaluation.timing.reset();
    return evaluation;
  }
  bool Knows(const std::string& baseline) const override { return known.contains(baseline); }
  void Interrupt() override {}

  // The baselines of all that was confirmed, in turn.
  std::vector<Names> Confirmed() const {
    std::vector<Names> all;
    for (const EvaluateRequest& one : asked) {
      if (one.fresh_draws) all.push_back(one.baselines);
    }
    return all;
  }

  double now_s = 0, attempt_s = 0.5;
  double spent_s = 0;           // before the search
  std::function<void()> looks;  // called before each evaluation
  std::map<std::string, double> ready_s = {{"eager", 4}, {"naive", 1}, {"compile", 40}};
  std::set<std::string> known;
  std::string refused_beside;
  std::vector<EvaluateRequest> asked;

 private:
  double limit_s_;
  std::set<std::string> ready_;
  testing::ScriptedEvaluator scripted_{kSeed};
};

class TimeLeftTest : public ::testing::Test {
 protected:
  void TearDown() override { ForgetInterrupt(); }
  SearchOutcome Go(Slow& evaluator, double seconds, int attempts = 4) {
    SearchSettings settings;
    settings.run = {.seed = kSeed, .proposer = "scripted"};
    settings.budget = {.attempts = attempts, .seconds = seconds, .headroom = -1};
    settings.evaluate.baselines = {"eager"};
    settings.confirm.baselines = {"eager", "compile", "naive"};
    settings.slow_baselines = {"compile"};
    SearchHooks hooks;
    hooks.interrupt = &InterruptFlag();
    hooks.seconds = [&] { return evaluator.now_s; };
    hooks.spent_s = evaluator.spent_s;
    testing::ScriptedProposer proposer;
    return Must(RunScriptedSearch(store_, settings, proposer, {&evaluator}, hooks));
  }
  Store store_ = Must(Store::Open(":memory:"));
};

// A few attempts in half a minute: compiling a baseline would have taken all that was left of it.
TEST_F(TimeLeftTest, TheWinnerIsConfirmedBeforeWhatTakesLongGetsReady) {
  Slow evaluator(30);
  const SearchOutcome outcome = Go(evaluator, 30);
  EXPECT_EQ(outcome.tree.attempts(), 4);
  EXPECT_TRUE(outcome.winner_confirmed);
  EXPECT_EQ(outcome.unmeasured, Names{"compile"});
  EXPECT_EQ(outcome.why_unmeasured, "no time was left");
  EXPECT_EQ(outcome.run.state, RunState::kDone);
  const std::vector<Names> confirmed = evaluator.Confirmed();
  ASSERT_EQ(confirmed.size(), 5u);
  for (int finalist = 0; finalist < 3; ++finalist) EXPECT_EQ(confirmed[finalist], Names{"eager"});
  EXPECT_EQ(confirmed[3], (Names{"eager", "naive"}));
  EXPECT_EQ(confirmed[4], (Names{"eager", "compile", "naive"})) << "as far as the time goes";
  ASSERT_EQ(outcome.confirmed.back().attempt, outcome.run.best_attempt);
  EXPECT_EQ(outcome.confirmed.back().evaluation.timing->against.size(), 2u);
}

TEST_F(TimeLeftTest, TheSameCommandGoesOnWithWhatThereWasNoTimeFor) {
  Slow first(30);
  const SearchOutcome outcome = Go(first, 30);
  ForgetInterrupt();
  Slow second(200);
  const SearchOutcome again = Go(second, 200);
  EXPECT_EQ(second.Confirmed(), (std::vector<Names>{{"eager", "compile", "naive"}})) << "nothing else";
  EXPECT_TRUE(again.unmeasured.empty());
  EXPECT_EQ(again.run.best_attempt, outcome.run.best_attempt);
  Slow third(200);
  EXPECT_TRUE(Go(third, 200).winner_confirmed);
  EXPECT_TRUE(third.asked.empty()) << "all of it is known";
}

TEST_F(TimeLeftTest, NoAttemptBeginsThatWouldLeaveNoTimeToConfirm) {
  Slow evaluator(30);
  evaluator.attempt_s = 6;
  const SearchOutcome outcome = Go(evaluator, 30, 1000);
  EXPECT_TRUE(outcome.winner_confirmed);
  EXPECT_LT(outcome.tree.attempts(), 4);
  EXPECT_FALSE(outcome.unmeasured.empty());
}

// kill -9 leaves what the store has.
TEST_F(TimeLeftTest, WhatASessionSpentIsInTheStoreAtEachOfItsEventsAndTheNextOneIsChargedWithIt) {
  Slow killed(100);
  killed.spent_s = 20;  // importing, say
  std::vector<double> spent_s;
  killed.looks = [&] { spent_s.push_back(Must(ParseBudget(Must(store_.Runs())[0].budget)).spent_s); };
  Go(killed, 100, 4);
  ASSERT_GE(spent_s.size(), 5u);
  EXPECT_EQ(spent_s[0], 20);
  EXPECT_EQ(spent_s[1], 24.5) << "the first attempt, whose baseline had to get ready";
  EXPECT_EQ(spent_s[2], 25);
  RunRecord run = Must(store_.Runs())[0];
  Budget budget = Must(ParseBudget(run.budget));
  EXPECT_EQ(budget.spent_s, 20 + killed.now_s) << "confirming, too";
  budget.spent_s = 95;
  run.budget = ToJson(budget);
  run.state = RunState::kRunning;
  Must(store_.UpdateRun(run));
  Slow next(0);
  EXPECT_EQ(Go(next, 100, 1000).tree.attempts(), 4) << "no time is left for attempts";
  EXPECT_GT(Go(next, 200, 1000).tree.attempts(), 4);
}

TEST_F(TimeLeftTest, WithoutALimitAllAreMeasuredSideBySide) {
  Slow evaluator(0);
  const SearchOutcome outcome = Go(evaluator, 0);
  EXPECT_EQ(evaluator.Confirmed(), std::vector<Names>(3, {"eager", "compile", "naive"}));
  EXPECT_TRUE(outcome.unmeasured.empty());
}

// Of a device: nothing has to get ready for them.
TEST_F(TimeLeftTest, BaselinesWhoseTimesAreKnownCostNothing) {
  Slow evaluator(100);
  evaluator.known = {"eager", "compile", "naive"};
  evaluator.ready_s = {{"eager", 4}, {"naive", 0}, {"compile", 0}};
  EXPECT_TRUE(Go(evaluator, 100).unmeasured.empty());
  EXPECT_EQ(evaluator.Confirmed(), std::vector<Names>(3, {"eager", "compile", "naive"}));
}

TEST_F(TimeLeftTest, AWinnerThatFallsBesideTheRestLeavesItsPlaceToTheNext) {
  Slow evaluator(1000);
  evaluator.refused_beside = "naive";
  const SearchOutcome outcome = Go(evaluator, 1000);
  EXPECT_EQ(evaluator.Confirmed().size(), 6u) << "three, and each of them again";
  EXPECT_FALSE(outcome.winner_confirmed);
  EXPECT_EQ(outcome.run.state, RunState::kInterrupted);
}

}  // namespace
}  // namespace hone
