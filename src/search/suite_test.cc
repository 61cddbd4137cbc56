// Many problems of the scripted space, some of which cannot be had.
#include "search/suite.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/files.h"
#include "search/bench.h"
#include "search/testing/scripted_evaluator.h"
#include "search/testing/scripted_proposer.h"

namespace hone {
namespace {

using testing::ScriptedEvaluator;

template <class T>
T Must(Result<T> result) {
  EXPECT_TRUE(result) << result.error().message;
  return std::move(*result);
}

SuiteProblem Named(const std::string& name) {
  return {.key = name, .name = name, .group = "all", .path = name + ".json"};
}

Helping Of(double before_us, double best_us, double bound_us, int attempts, double seconds) {
  Helping helping;
  helping.attempts = attempts;
  helping.before_us = before_us;
  helping.best_us = best_us;
  helping.bound_us = bound_us;
  helping.seconds = seconds;
  return helping;
}

// Problem "3" is the scripted space with seed 3, its run in `store_path`; "bad" cannot be imported. A helping takes as
// long as its attempts.
class ScriptedServe {
 public:
  explicit ScriptedServe(std::string store_path) : store_path_(std::move(store_path)) {}

  Result<Helping> operator()(const SuiteProblem& problem, const Portion& portion) const {
    Helping helping;
    if (problem.name == "bad") {
      helping.failure = "bad.json is no problem";
      helping.seconds = 1;
      return helping;
    }
    const std::uint64_t seed = std::stoull(problem.name);
    Store store = HONE_TRY(Store::Open(store_path_));
    ScriptedEvaluator evaluator(seed);
    evaluator.before = [this](int) -> Result<void> {
      std::this_thread::sleep_for(pause);
      return {};
    };
    SearchSettings settings;
    settings.run = {.seed = seed, .proposer = "scripted"};
    settings.budget = {.attempts = portion.attempts, .seconds = 0, .headroom = -1};
    settings.more_follows = portion.more_follow;
    testing::ScriptedProposer proposer;
    const SearchOutcome outcome = HONE_TRY(RunScriptedSearch(store, settings, proposer, {&evaluator}));
    helping.attempts = outcome.tree.attempts();
    helping.best_us = outcome.tree.best_us();
    helping.before_us = portion.last ? portion.last->best_us : outcome.tree.node(1).attempt.time_us();
    helping.bound_us = 20 * static_cast<double>(seed);
    helping.ended = outcome.stop.cause == Stop::Cause::kNothingLeft;
    helping.seconds = helping.attempts - (portion.last ? portion.last->attempts : 0);
    helping.won = outcome.winner_confirmed;
    helping.run = outcome.run.id;
    return helping;
  }

  std::chrono::microseconds pause{0};

 private:
  std::string store_path_;
};

class SuiteTest : public ::testing::Test {
 protected:
  SuiteOutcome Run(const std::vector<SuiteProblem>& problems, const SuiteBudget& budget, const Serve& serve,
                   const SuiteHooks& hooks = {}) {
    SuiteLedger ledger = Must(SuiteLedger::Open(ledger_));
    return Must(RunSuite(problems, ledger, budget, serve, hooks));
  }
  TempDirectory folder_ = *TempDirectory::Create("suite");
  std::string ledger_ = folder_.path() + "/suite/ledger.jsonl";
  int ledgers_ = 0;
};

TEST_F(SuiteTest, EachProblemIsLookedAtBeforeOneIsLookedAtTwice) {
  std::vector<std::string> order;
  const SuiteOutcome outcome = Run({Named("a"), Named("b"), Named("c")}, {.attempts = 4, .helping = 2},
                                   [&](const SuiteProblem& problem, const Portion& portion) -> Result<Helping> {
                                     order.push_back(problem.name + std::to_string(portion.attempts));
                                     return Of(20, 10, 1, portion.attempts, 1);
                                   });
  EXPECT_EQ(order, (std::vector<std::string>{"a2", "b2", "c2", "a4", "b4", "c4"}));
  EXPECT_TRUE(outcome.complete);
  EXPECT_EQ(outcome.stop, "every problem has had its attempts");
  EXPECT_DOUBLE_EQ(outcome.seconds, 6);
}

TEST_F(SuiteTest, AHelpingKnowsWhetherAttemptsFollow) {
  std::vector<bool> follow;
  Run({Named("a")}, {.attempts = 5, .helping = 2}, [&](const SuiteProblem&, const Portion& portion) -> Result<Helping> {
    follow.push_back(portion.more_follow);
    return Of(20, 10, 1, portion.attempts, 1);
  });
  EXPECT_EQ(follow, (std::vector<bool>{true, true, false}));
}

TEST_F(SuiteTest, TimeGoesWhereMostIsReachableASecond) {
  const auto first_of_second_round = [&](const Helping& a, const Helping& b) {
    SuiteLedger ledger = Must(SuiteLedger::Open(folder_.path() + "/" + std::to_string(++ledgers_)));
    std::vector<std::string> order;
    Must(RunSuite({Named("a"), Named("b")}, ledger, {.attempts = 16, .helping = 8},
                  [&](const SuiteProblem& problem, const Portion&) -> Result<Helping> {
                    order.push_back(problem.name);
                    return problem.name == "a" ? a : b;
                  }));
    return order.at(2);
  };
  const Helping usual = Of(100, 50, 10, 8, 10);
  EXPECT_EQ(first_of_second_round(usual, usual), "a") << "else the first of the list";
  EXPECT_EQ(first_of_second_round(usual, Of(100, 50, 5, 8, 10)), "b") << "farther from its bound";
  EXPECT_EQ(first_of_second_round(usual, Of(100, 50, 10, 8, 5)), "b") << "the same in less time";
  EXPECT_EQ(first_of_second_round(usual, Of(200, 50, 10, 8, 10)), "b") << "attempts have brought more";
  EXPECT_EQ(first_of_second_round(Of(100, 10.1, 10, 8, 10), Of(50, 50, 10, 8, 10)), "b") << "a is at its bound";
  EXPECT_EQ(first_of_second_round(usual, Of(100, 50, 0, 8, 10)), "a") << "no bound: a factor of two is thinkable";
}

TEST_F(SuiteTest, WhoBringsNothingGetsLessAndLess) {
  Standing standing;
  standing.last = Of(100, 100, 10, 8, 1);
  standing.helpings = 1;
  standing.seconds = 1;
  standing.began_with = std::log(10);
  const double once = standing.GainASecond();
  standing.helpings = 2;
  standing.seconds = 2;
  standing.began_with = 2 * std::log(10);
  EXPECT_LT(standing.GainASecond(), 0.7 * once);
}

TEST_F(SuiteTest, AnEndedOrFailedProblemGetsNoMore) {
  int ended = 0, failed = 0;
  const SuiteOutcome outcome = Run({Named("ended"), Named("failed"), Named("c")}, {.attempts = 6, .helping = 2},
                                   [&](const SuiteProblem& problem, const Portion& portion) -> Result<Helping> {
                                     Helping helping = Of(20, 10, 1, portion.attempts, 1);
                                     if (problem.name == "ended") ++ended, helping.ended = true;
                                     if (problem.name == "failed") ++failed, helping.failure = "it does not parse";
                                     return helping;
                                   });
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(outcome.standings[2].last->attempts, 6);
  EXPECT_TRUE(outcome.standings[1].failed());
  EXPECT_EQ(outcome.standings[1].last->failure, "it does not parse");
}

TEST_F(SuiteTest, AFailureIsTriedAgainWhenThatIsWanted) {
  bool mended = false;
  const Serve serve = [&](const SuiteProblem&, const Portion& portion) -> Result<Helping> {
    Helping helping = Of(20, 10, 1, portion.attempts, 1);
    if (!mended) helping.failure = "no compiler";
    return helping;
  };
  const SuiteBudget budget{.attempts = 2, .helping = 2};
  EXPECT_TRUE(Run({Named("a")}, budget, serve).standings[0].failed());
  mended = true;
  EXPECT_TRUE(Run({Named("a")}, budget, serve).standings[0].failed()) << "nobody asked";
  const SuiteOutcome again = Run({Named("a")}, budget, serve, {.interrupt = nullptr, .retry_failures = true});
  EXPECT_FALSE(again.standings[0].failed());
  EXPECT_FALSE(Run({Named("a")}, budget, serve).standings[0].failed()) << "and it stays mended";
}

TEST_F(SuiteTest, TheTimeIsSharedAmongThoseNotLookedAtAndSpentOnce) {
  std::vector<double> shares;
  const Serve serve = [&](const SuiteProblem&, const Portion& portion) -> Result<Helping> {
    shares.push_back(portion.seconds);
    return Of(20, 10, 1, portion.attempts, 10);
  };
  const std::vector<SuiteProblem> two = {Named("a"), Named("b")};
  const SuiteOutcome outcome = Run(two, {.attempts = 100, .helping = 1, .seconds = 40}, serve);
  EXPECT_EQ(shares, (std::vector<double>{20, 30, 20, 10}));
  EXPECT_EQ(outcome.stop, "the 40 s are spent");
  EXPECT_EQ(Run(two, {.attempts = 100, .helping = 1, .seconds = 40}, serve).stop, "the 40 s are spent")
      << "over all sessions";
  EXPECT_EQ(shares.size(), 4u);
  Run(two, {.attempts = 100, .helping = 1, .seconds = 50}, serve);
  EXPECT_EQ(shares.size(), 5u) << "more time goes on";
}

TEST_F(SuiteTest, WhatAnInterruptEndedIsToldAndNotInTheLedger) {
  std::atomic<bool> interrupt = false;
  const SuiteOutcome outcome = Run({Named("a"), Named("b")}, {.attempts = 8, .helping = 8, .seconds = 100},
                                   [&](const SuiteProblem&, const Portion&) -> Result<Helping> {
                                     interrupt = true;
                                     Helping helping = Of(9, 5, 1, 2, 30);
                                     helping.interrupted = true;
                                     return helping;
                                   },
                                   {.interrupt = &interrupt, .retry_failures = false});
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_EQ(outcome.seconds, 30);
  ASSERT_TRUE(outcome.standings[0].cut);
  EXPECT_EQ(outcome.standings[0].cut->attempts, 2);
  EXPECT_FALSE(outcome.standings[0].last);
  EXPECT_FALSE(outcome.complete);
  int made = 0;  // the same helping is made again
  const SuiteOutcome again = Run({Named("a"), Named("b")}, {.attempts = 8, .helping = 8, .seconds = 100},
                                 [&](const SuiteProblem&, const Portion& portion) -> Result<Helping> {
                                   ++made;
                                   EXPECT_EQ(portion.number, 1);
                                   return Of(9, 5, 1, 8, 30);
                                 });
  EXPECT_EQ(made, 2);
  EXPECT_EQ(again.seconds, 60);
}

TEST_F(SuiteTest, AnInterruptLeavesNoRowOfWhatWasInWork) {
  std::atomic<bool> interrupt = false;
  const SuiteOutcome outcome = Run({Named("a"), Named("b")}, {.attempts = 2, .helping = 2},
                                   [&](const SuiteProblem& problem, const Portion& portion) -> Result<Helping> {
                                     if (problem.name == "b") return Fail(ErrorKind::kInterrupted, "interrupted");
                                     return Of(20, 10, 1, portion.attempts, 1);
                                   },
                                   {.interrupt = &interrupt, .retry_failures = false});
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_FALSE(outcome.complete);
  EXPECT_TRUE(outcome.standings[0].last);
  EXPECT_FALSE(outcome.standings[1].last);
}

TEST_F(SuiteTest, TheLedgerIsHeldByOneAndATornLineIsNotCounted) {
  {
    SuiteLedger ledger = Must(SuiteLedger::Open(ledger_));
    ASSERT_TRUE(ledger.Add(Of(2, 1, 1, 1, 1)));
    const auto second = SuiteLedger::Open(ledger_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::kUsage);
    EXPECT_NE(second.error().message.find("another program works on this suite"), std::string::npos);
  }
  const std::string whole = Must(ReadFile(ledger_));
  ASSERT_TRUE(WriteFileAtomically(ledger_, whole + R"({"problem": "b", "attem)"));
  {
    SuiteLedger ledger = Must(SuiteLedger::Open(ledger_));
    EXPECT_EQ(ledger.helpings().size(), 1u);
    ASSERT_TRUE(ledger.Add(Of(2, 1, 1, 2, 1)));
  }
  EXPECT_EQ(Must(SuiteLedger::Open(ledger_)).helpings().size(), 2u);
  ASSERT_TRUE(WriteFileAtomically(ledger_, whole + "[]\n"));
  const auto damaged = SuiteLedger::Open(ledger_);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().message, "line 2 of " + ledger_ + " is no JSON object: remove the line");
}

TEST_F(SuiteTest, AKillAtAnyMomentAndTheSameCommandAgainEndAsIfNothingHadHappened) {
  const std::vector<SuiteProblem> problems = {Named("3"), Named("bad"), Named("4"), Named("5"), Named("6")};
  const SuiteBudget budget{.attempts = 60, .helping = 7, .seconds = 0};
  SuiteOutcome whole;
  ScriptedServe undisturbed(folder_.path() + "/whole.sqlite");
  {
    SuiteLedger ledger = Must(SuiteLedger::Open(folder_.path() + "/whole.jsonl"));
    whole = Must(RunSuite(problems, ledger, budget, undisturbed));
  }
  const std::string store_path = folder_.path() + "/runs.sqlite";
  const auto ended_attempts = [](const std::string& path) {
    int ended = 0;
    if (Result<Store> store = Store::OpenExisting(path)) {
      for (const RunRecord& run : Must(store->Runs())) {
        for (const AttemptRecord& attempt : Must(store->Attempts(run.id))) ended += attempt.ended();
      }
    }
    return ended;
  };
  const int needed = ended_attempts(folder_.path() + "/whole.sqlite");
  ASSERT_GT(needed, 100);
  std::mt19937_64 random(7);
  constexpr int kKills = 50;
  int kills = 0, helpings = 0, attempts = 0;
  for (bool done = false; !done;) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Result<SuiteLedger> ledger = SuiteLedger::Open(ledger_);
      if (!ledger) _exit(1);
      ScriptedServe serve(store_path);
      serve.pause = std::chrono::milliseconds(5);
      const Result<SuiteOutcome> outcome = RunSuite(problems, *ledger, budget, serve);
      _exit(outcome && outcome->signature == whole.signature ? 0 : 2);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(3'000 + random() % 22'000));
    if (kills < kKills) kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    done = WIFEXITED(status);
    if (done) {
      ASSERT_EQ(WEXITSTATUS(status), 0) << "after " << kills << " kills";
      break;
    }
    ++kills;
    const int so_far = static_cast<int>(Must(SuiteLedger::Open(ledger_)).helpings().size());
    EXPECT_GE(so_far, helpings) << "a helping that ended was lost";
    helpings = so_far;
    const int tried = ended_attempts(store_path);
    EXPECT_GE(tried, attempts) << "an attempt that ended was lost";
    attempts = tried;
  }
  EXPECT_GE(kills, 30);
  SuiteLedger ledger = Must(SuiteLedger::Open(ledger_));
  const SuiteOutcome resumed = Must(RunSuite(problems, ledger, budget, ScriptedServe(store_path)));
  ASSERT_EQ(resumed.standings.size(), whole.standings.size());
  for (std::size_t i = 0; i < whole.standings.size(); ++i) {
    const Helping &a = *whole.standings[i].last, &b = *resumed.standings[i].last;
    EXPECT_EQ(a.best_us, b.best_us) << i;
    EXPECT_EQ(a.attempts, b.attempts) << i;
    EXPECT_EQ(a.failure, b.failure) << i;
  }
  EXPECT_EQ(ended_attempts(store_path), needed) << "attempts were made twice";
}

}  // namespace
}  // namespace hone
