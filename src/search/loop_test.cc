// One file because each is a fact about one loop over the same scripted world.
#include "search/loop.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <random>
#include <set>
#include <thread>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/testing/must.h"
#include "search/bench.h"
#include "search/record.h"
#include "search/search.h"
#include "search/testing/scripted_evaluator.h"
#include "search/testing/scripted_proposer.h"
#include "search/testing/scripted_space.h"
#include "store/testing/old_store.h"

namespace hone {
namespace {

using testing::ScriptedEvaluator;
using testing::ScriptedPoint;

using testing::Must;

constexpr std::uint64_t kSeed = 7;

Budget Attempts(int attempts) { return {.attempts = attempts, .seconds = 0, .headroom = -1}; }

SearchOutcome Whole(const std::string& strategy, int attempts) {
  Store store = Must(Store::Open(":memory:"));
  ScriptedEvaluator evaluator(kSeed);
  return Must(RunScriptedSearch(store, strategy, kSeed, Attempts(attempts), evaluator));
}

class LoopTest : public ::testing::TestWithParam<std::string> {};

TEST_P(LoopTest, TheSameSeedGivesTheSameTreeAtEveryBudget) {
  for (const int attempts : {1, 2, 10, 60, 200}) {
    const SearchOutcome one = Whole(GetParam(), attempts);
    const SearchOutcome two = Whole(GetParam(), attempts);
    EXPECT_EQ(one.tree.Signature(), two.tree.Signature()) << attempts;
    EXPECT_EQ(one.run.best_attempt, two.run.best_attempt);
    if (one.stop.cause != Stop::Cause::kNothingLeft) {
      EXPECT_EQ(one.tree.attempts(), attempts);
    }
    EXPECT_LE(one.tree.attempts(), attempts);
  }
}

TEST_P(LoopTest, ALargerBudgetContinuesTheSameRun) {
  Store store = Must(Store::Open(":memory:"));
  for (const int attempts : {1, 5, 30, 80}) {
    ScriptedEvaluator evaluator(kSeed);
    const SearchOutcome outcome = Must(RunScriptedSearch(store, GetParam(), kSeed, Attempts(attempts), evaluator));
    EXPECT_FALSE(outcome.diverged);
    EXPECT_EQ(outcome.tree.Signature(), Whole(GetParam(), attempts).tree.Signature());
  }
  EXPECT_EQ(Must(store.Runs()).size(), 1u);
}

TEST_P(LoopTest, WhatEvaluationsTakeIsNotItsOwnTime) {
  Store store = Must(Store::Open(":memory:"));
  ScriptedEvaluator evaluator(kSeed);
  evaluator.before = [](int) -> Result<void> {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return {};
  };
  const SearchOutcome outcome = Must(RunScriptedSearch(store, GetParam(), kSeed, Attempts(10), evaluator));
  EXPECT_GT(outcome.own_s, 0);
  EXPECT_LE(outcome.own_s, outcome.search_s - 10 * 0.005);
}

TEST_P(LoopTest, AnInterruptedRunEndsAsIfItHadNotBeen) {
  const SearchOutcome whole = Whole(GetParam(), 50);
  Store store = Must(Store::Open(":memory:"));
  for (const int at : {1, 4, 20}) {
    std::atomic<bool> interrupt = false;
    ScriptedEvaluator evaluator(kSeed);
    evaluator.before = [&](int evaluation) -> Result<void> {
      if (evaluation == at) interrupt = true;
      return {};
    };
    SearchHooks hooks;
    hooks.interrupt = &interrupt;
    const SearchOutcome part = Must(RunScriptedSearch(store, GetParam(), kSeed, Attempts(50), evaluator, hooks));
    EXPECT_EQ(part.stop.cause, Stop::Cause::kInterrupt);
    EXPECT_EQ(part.run.state, RunState::kInterrupted);
    EXPECT_TRUE(part.confirmed.empty());
    EXPECT_EQ(evaluator.evaluations, at);
    const std::vector<AttemptRecord> records = Must(store.Attempts(part.run.id));
    EXPECT_EQ(static_cast<int>(records.size()), part.tree.attempts() + 1);
    EXPECT_FALSE(records.back().ended());
  }
  ScriptedEvaluator evaluator(kSeed);
  const SearchOutcome rest = Must(RunScriptedSearch(store, GetParam(), kSeed, Attempts(50), evaluator));
  EXPECT_EQ(rest.tree.Signature(), whole.tree.Signature());
  EXPECT_EQ(rest.run.best_attempt, whole.run.best_attempt);
  EXPECT_EQ(rest.replayed, 0 + 3 + 19);
  EXPECT_FALSE(rest.diverged);
}

// Lanes of which the first is the slower, or the second.
struct TwoLanes {
  explicit TwoLanes(int slow) : one(kSeed), two(kSeed) {
    (slow == 0 ? one : two).before = [](int) -> Result<void> {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return {};
    };
  }
  std::vector<Evaluator*> both() { return {&one, &two}; }
  ScriptedEvaluator one, two;
};

TEST_P(LoopTest, TwoLanesDecideTheSameWhicheverIsSlower) {
  std::set<std::string> signatures;
  for (const int slow : {0, 1}) {
    Store store = Must(Store::Open(":memory:"));
    TwoLanes lanes(slow);
    const SearchOutcome outcome = Must(RunScriptedSearch(store, GetParam(), kSeed, Attempts(40), lanes.both()));
    signatures.insert(outcome.tree.Signature());
    EXPECT_LE(outcome.tree.attempts(), 40);
    EXPECT_GT(lanes.one.evaluations, 10);
    EXPECT_GT(lanes.two.evaluations, 10);
    EXPECT_TRUE(outcome.winner_confirmed);
  }
  EXPECT_EQ(signatures.size(), 1u);
}

TEST_P(LoopTest, TwoLanesThatWereInterruptedEndAsIfTheyHadNotBeen) {
  Store whole_store = Must(Store::Open(":memory:"));
  TwoLanes whole_lanes(0);
  const SearchOutcome whole = Must(RunScriptedSearch(whole_store, GetParam(), kSeed, Attempts(40), whole_lanes.both()));
  Store store = Must(Store::Open(":memory:"));
  for (const int at : {1, 3, 9}) {
    std::atomic<bool> interrupt = false;
    TwoLanes lanes(1);
    lanes.one.before = [&](int evaluation) -> Result<void> {
      if (evaluation == at) interrupt = true;
      return {};
    };
    SearchHooks hooks;
    hooks.interrupt = &interrupt;
    const SearchOutcome part = Must(RunScriptedSearch(store, GetParam(), kSeed, Attempts(40), lanes.both(), hooks));
    EXPECT_EQ(part.stop.cause, Stop::Cause::kInterrupt);
  }
  TwoLanes lanes(0);
  const SearchOutcome rest = Must(RunScriptedSearch(store, GetParam(), kSeed, Attempts(40), lanes.both()));
  EXPECT_EQ(rest.tree.Signature(), whole.tree.Signature());
  EXPECT_EQ(rest.run.best_attempt, whole.run.best_attempt);
  EXPECT_FALSE(rest.diverged);
  EXPECT_GT(rest.replayed, 3);
}

// Keeps what is foreseen.
class Foreseeing final : public Evaluator {
 public:
  Result<Evaluation> Evaluate(const Candidate& candidate, const EvaluateRequest& request) override {
    if (!request.fresh_draws && seen_.contains(candidate.text)) ++foreseen;
    return scripted_.Evaluate(candidate, request);
  }
  void Foresee(std::vector<Candidate> likely) override {
    for (const Candidate& one : likely) seen_.insert(one.text);
  }
  void Interrupt() override {}
  int foreseen = 0;  // attempts that were

 private:
  ScriptedEvaluator scripted_{kSeed};
  std::set<std::string> seen_;
};

TEST_P(LoopTest, WhatWaitsIsForeseen) {
  Store store = Must(Store::Open(":memory:"));
  Foreseeing evaluator;
  const SearchOutcome outcome = Must(RunScriptedSearch(store, GetParam(), kSeed, Attempts(60), evaluator));
  EXPECT_EQ(outcome.tree.Signature(), Whole(GetParam(), 60).tree.Signature());
  EXPECT_GT(evaluator.foreseen, 20);  // greedy goes on from what has just become the best
}

TEST_P(LoopTest, EveryAttemptIsRecordedAsItWas) {
  Store store = Must(Store::Open(":memory:"));
  ScriptedEvaluator evaluator(kSeed);
  const SearchOutcome outcome = Must(RunScriptedSearch(store, GetParam(), kSeed, Attempts(40), evaluator));
  const std::vector<AttemptRecord> records = Must(store.Attempts(outcome.run.id));
  ASSERT_EQ(records.size(), 40u);
  for (const AttemptRecord& record : records) {
    const Attempt& attempt = outcome.tree.node(record.number).attempt;
    const Attempt read = Must(ReadAttempt(store, record));
    EXPECT_EQ(read.parent, attempt.parent);
    EXPECT_EQ(read.proposal.candidate.text, attempt.proposal.candidate.text);
    EXPECT_EQ(read.proposal.key, attempt.proposal.key);
    EXPECT_EQ(read.evaluation.verdict.outcome, attempt.evaluation.verdict.outcome);
    EXPECT_EQ(read.evaluation.verdict.evidence->log, attempt.evaluation.verdict.evidence->log);
    EXPECT_EQ(read.time_us(), attempt.time_us());
    EXPECT_EQ(record.speedup, PrimarySpeedup(attempt.evaluation));
  }
  EXPECT_EQ(Must(store.FindRun(outcome.run.id)).baselines, R"({"naive":2000.0})");
}

TEST_P(LoopTest, NoCandidateIsTriedTwice) {
  const SearchOutcome outcome = Whole(GetParam(), 300);
  std::set<std::string> texts;
  for (const TreeNode& node : outcome.tree.nodes()) texts.insert(node.attempt.proposal.candidate.text);
  EXPECT_EQ(texts.size(), outcome.tree.nodes().size());
}

TEST_P(LoopTest, EndsWhenNothingIsLeft) {
  const SearchOutcome outcome = Whole(GetParam(), 100'000);
  EXPECT_EQ(outcome.stop.cause, Stop::Cause::kNothingLeft);
  EXPECT_EQ(outcome.run.state, RunState::kDone);
  EXPECT_EQ(outcome.run.stop_reason, outcome.stop.reason);
  EXPECT_LT(outcome.tree.attempts(), 1280);
}

TEST(EndingTest, RandomEndsWhenEverythingWasTried) {
  const SearchOutcome outcome = Whole("random", 100'000);
  EXPECT_EQ(outcome.stop.reason, "nothing is left to try");
  EXPECT_GT(outcome.tree.attempts(), 900);
}

TEST(EndingTest, GreedyEndsWhenNothingPromisesMoreThanTheBest) {
  const SearchOutcome outcome = Whole("greedy", 100'000);
  EXPECT_EQ(outcome.stop.reason, "every move from the best was tried, and nothing else is predicted to beat it");
  EXPECT_FALSE(outcome.tree.Open(outcome.tree.node(outcome.tree.best())));
  EXPECT_LT(outcome.tree.attempts(), 100);
}

TEST_P(LoopTest, AKillAtAnyMomentAndTheSameCommandAgainEndAsIfNothingHadHappened) {
  const TempDirectory folder = Must(TempDirectory::Create("loop"));
  const std::string path = folder.path() + "/runs.db";
  const SearchOutcome whole = Whole(GetParam(), 120);
  std::mt19937_64 random(99);
  int kills = 0;
  for (bool done = false; !done;) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Result<Store> store = Store::Open(path);
      if (!store) _exit(1);
      ScriptedEvaluator evaluator(kSeed);
      evaluator.before = [](int) -> Result<void> {
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        return {};
      };
      const Result<SearchOutcome> outcome = RunScriptedSearch(*store, GetParam(), kSeed, Attempts(120), evaluator);
      _exit(outcome && outcome->tree.Signature() == whole.tree.Signature() ? 0 : 2);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(5'000 + random() % 60'000));
    if (kills < 100) kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    done = WIFEXITED(status);
    if (done) {
      ASSERT_EQ(WEXITSTATUS(status), 0);
    }
    ++kills;
  }
  EXPECT_GT(kills, 3);
  Store store = Must(Store::OpenExisting(path));
  ASSERT_EQ(Must(store.Runs()).size(), 1u);
  const RunRecord run = Must(store.Runs())[0];
  EXPECT_EQ(run.best_attempt, whole.run.best_attempt);
  EXPECT_EQ(run.state, RunState::kDone);
}

std::vector<std::string> StrategyNames() {
  std::vector<std::string> names;
  for (const StrategyRow* row : AllStrategies()) names.emplace_back(row->name);
  names.emplace_back("evolve:cross=2");  // whose questions are about two
  return names;
}
INSTANTIATE_TEST_SUITE_P(Strategies, LoopTest, ::testing::ValuesIn(StrategyNames()), [](const auto& parameter) {
  std::string name = parameter.param;
  std::ranges::replace_if(name, [](char c) { return c == ':' || c == '='; }, '_');
  return name;
});

TEST(CrossingLoopTest, BothParentsAreInTheStoreOfAnAttemptAndOfItsQuestion) {
  Store store = Must(Store::Open(":memory:"));
  ScriptedEvaluator evaluator(kSeed);
  const SearchOutcome outcome = Must(RunScriptedSearch(store, "evolve:cross=3", kSeed, Attempts(60), evaluator));
  const std::vector<RoundRecord> rounds = Must(store.Rounds(outcome.run.id));
  int crossed = 0;
  for (const AttemptRecord& record : Must(store.Attempts(outcome.run.id))) {
    const Attempt& attempt = outcome.tree.node(record.number).attempt;
    EXPECT_EQ(record.mate, attempt.mate);
    EXPECT_EQ(Must(ReadAttempt(store, record)).mate, attempt.mate);
    if (record.mate == 0) continue;
    ++crossed;
    const RoundRecord& round = rounds.at(static_cast<std::size_t>(record.round) - 1);
    EXPECT_EQ(round.parent, record.parent);
    EXPECT_EQ(round.mate, record.mate);
    const auto child = ScriptedPoint::Parse(attempt.proposal.candidate.text);
    const auto parent = ScriptedPoint::Parse(outcome.tree.node(record.parent).attempt.proposal.candidate.text);
    const auto mate = ScriptedPoint::Parse(outcome.tree.node(record.mate).attempt.proposal.candidate.text);
    for (std::size_t i = 0; i < child->knobs.size(); ++i)
      EXPECT_TRUE(child->knobs[i] == parent->knobs[i] || child->knobs[i] == mate->knobs[i]);
  }
  EXPECT_GE(crossed, 3);
}

TEST(StrategiesTest, AreNamedAsTheirFilesAndFoundByName) {
  ASSERT_GE(AllStrategies().size(), 3u);
  for (const StrategyRow* row : AllStrategies()) {
    EXPECT_EQ(Must(ChooseStrategy(row->name)).row, row);
    EXPECT_FALSE(row->doc.empty());
  }
  const auto unknown = ChooseStrategy("gredy");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::kUsage);
  EXPECT_TRUE(
      unknown.error().message.starts_with("there is no search strategy 'gredy'; did you mean 'greedy'?; known are "))
      << unknown.error().message;
}

// If this fails, the search decides differently than before: see with `hone bench` whether it is better, then write the
// new one here.
TEST(BenchTest, TheSearchDecidesAsItDid) { EXPECT_EQ(Must(RunBench({})).signature, "1cb3b6d8c62b"); }

TEST(BenchTest, ALargeTreesStepsCostLittle) {
  const TreeBench bench = Must(RunTreeBench("mcts", 5'000));
  EXPECT_GT(bench.select_us, 0);
  EXPECT_GT(bench.back_up_us, 0);
  // Far above what is measured, and far below what a step took that looked at all nodes.
  EXPECT_LT(bench.select_us + bench.back_up_us, 2000);
#ifndef HONE_SANITIZED  // whose allocator does not say what is in use
  EXPECT_GT(bench.node_bytes, 100);
  EXPECT_LT(bench.node_bytes, 1200);
#endif
  EXPECT_TRUE(RunTreeBench("greedy", 5'000).error().message.starts_with("greedy ends after "));
}

TEST(BenchTest, ARunOfSeveralBatchesIsTakenUpAgainAsItWas) {
  const ResumeBench bench = Must(RunResumeBench("mcts", 5'000));  // it checks that no decision differs
  EXPECT_GT(bench.made_s, 0);
  EXPECT_GT(bench.resumed_s, 0);
  EXPECT_TRUE(RunResumeBench("greedy", 1'500).error().message.starts_with("greedy ends after "));
}

TEST(BenchTest, GreedyBeatsRandomOnAveragedSeeds) {
  const Bench bench = Must(RunBench({.attempts = 60, .seeds = {1, 2, 3, 4, 5, 6, 7, 8}}));
  double greedy = 0, random = 0;
  for (const BenchRow& row : bench.rows) {
    if (row.strategy == "greedy") greedy += row.over_optimum;
    if (row.strategy == "random") random += row.over_optimum;
  }
  EXPECT_LT(greedy, random);
}

class RunSearchTest : public ::testing::Test {
 protected:
  Result<SearchOutcome> Go(const Budget& budget, const SearchHooks& hooks = {}) {
    return RunScriptedSearch(store_, "greedy", kSeed, budget, evaluator_, hooks);
  }
  Store store_ = Must(Store::Open(":memory:"));
  ScriptedEvaluator evaluator_{kSeed};
};

TEST_F(RunSearchTest, StopsAtTheBound) {
  const SearchOutcome outcome = Must(Go({.attempts = 1000, .seconds = 0, .headroom = 0.25}));
  EXPECT_EQ(outcome.stop.cause, Stop::Cause::kLimit);
  EXPECT_EQ(outcome.stop.reason, "the best is within 25.0 % of the bound");
  EXPECT_LT(outcome.tree.attempts(), 1000);
  EXPECT_GE(outcome.run.bound_us / outcome.tree.best_us(), 0.75);
}

TEST_F(RunSearchTest, StopsWhenItsJoulesAreUsedAndGoesOnWithMore) {
  evaluator_.joules_each = 12.5;
  const SearchOutcome outcome = Must(Go({.attempts = 1000, .seconds = 0, .headroom = -1, .joules = 100}));
  EXPECT_EQ(outcome.stop.cause, Stop::Cause::kBudget);
  EXPECT_EQ(outcome.stop.reason, "the 100 J are used");
  EXPECT_EQ(outcome.tree.attempts(), 8);
  EXPECT_EQ(outcome.joules, 100) << "confirming the winners comes on top";
  const SearchOutcome same = Must(Go({.attempts = 1000, .seconds = 0, .headroom = -1, .joules = 100}));
  EXPECT_EQ(same.tree.attempts(), 8) << "what earlier sessions used is known";
  const SearchOutcome more = Must(Go({.attempts = 1000, .seconds = 0, .headroom = -1, .joules = 130}));
  EXPECT_EQ(more.tree.attempts(), 11);
  EXPECT_EQ(more.joules, 137.5);
}

TEST_F(RunSearchTest, StopsWhenAttemptsBringNoProgressAndGoesOnWhenMorePatienceIsAskedFor) {
  Budget budget{.attempts = 1000, .seconds = 0, .headroom = -1, .idle = 4};
  const SearchOutcome outcome = Must(Go(budget));
  EXPECT_EQ(outcome.stop.cause, Stop::Cause::kBudget);
  EXPECT_EQ(outcome.stop.reason, "4 attempts in a row brought no progress");
  double progress_us = 0;
  int idle = 0;
  for (int number = 1; number <= outcome.tree.attempts(); ++number) {
    const double us = outcome.tree.node(number).attempt.time_us();
    if (progress_us > 0) {
      EXPECT_LT(idle, 4) << number;
      ++idle;
    }
    if (us > 0 && (progress_us == 0 || us < 0.99 * progress_us)) {
      progress_us = us;
      idle = 0;
    }
  }
  EXPECT_EQ(idle, 4);
  budget.idle = 8;
  const SearchOutcome later = Must(Go(budget));
  EXPECT_EQ(later.replayed, outcome.tree.attempts());
  EXPECT_GT(later.tree.attempts(), outcome.tree.attempts());
}

TEST_F(RunSearchTest, StopsWhenTheTimeIsSpentOverAllSessions) {
  double now = 0;
  SearchHooks hooks;
  hooks.seconds = [&] { return now; };
  evaluator_.before = [&](int) -> Result<void> {
    now += 1;
    return {};
  };
  const SearchOutcome outcome = Must(Go({.attempts = 1000, .seconds = 20, .headroom = -1}, hooks));
  EXPECT_EQ(outcome.stop.reason, "the 20 s are spent");
  // A quarter is kept for the confirmation at most.
  EXPECT_GE(outcome.tree.attempts(), 15);
  EXPECT_LT(outcome.tree.attempts(), 20);
}

TEST_F(RunSearchTest, TheWinnerIsTheBestConfirmedOneAndNotTheLuckiest) {
  evaluator_.noise_thousandths = 150;
  const SearchOutcome outcome = Must(Go(Attempts(60)));
  ASSERT_EQ(outcome.confirmed.size(), 3u);
  EXPECT_TRUE(outcome.winner_confirmed);
  const Confirmed* best = &outcome.confirmed[0];
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(outcome.confirmed[i].attempt, outcome.tree.ranked()[i]);
    const Confirmed& confirmed = outcome.confirmed[i];
    EXPECT_NE(confirmed.evaluation.timing->warm.median_us, outcome.tree.node(confirmed.attempt).attempt.time_us());
    if (confirmed.evaluation.timing->warm.median_us < best->evaluation.timing->warm.median_us) best = &confirmed;
  }
  EXPECT_EQ(outcome.run.best_attempt, best->attempt);
  EXPECT_EQ(Must(store_.FindRun(outcome.run.id)).best_attempt, best->attempt);
  EXPECT_EQ(Must(store_.Confirmations(outcome.run.id)).size(), 3u);
}

TEST_F(RunSearchTest, AConfirmationThatWasDisturbedIsMadeAgainNextTime) {
  evaluator_.disturbed_confirmations = true;
  const SearchOutcome busy = Must(Go(Attempts(30)));
  EXPECT_TRUE(busy.winner_confirmed);
  EXPECT_EQ(Must(store_.Summarize(busy.run)).best_speedup, 0) << "no headline stands on it";
  evaluator_.disturbed_confirmations = false;
  const SearchOutcome quiet = Must(Go(Attempts(30)));
  EXPECT_EQ(quiet.replayed, 30);
  EXPECT_EQ(quiet.confirmed.size(), 3u);
  EXPECT_GT(Must(store_.Summarize(quiet.run)).best_speedup, 0);
  const int evaluations = evaluator_.evaluations;
  Must(Go(Attempts(30)));
  EXPECT_EQ(evaluator_.evaluations, evaluations) << "it is known now";
}

// 21.4x was known; the run was killed, confirmed again under noise, and said that no speed-up is known.
TEST_F(RunSearchTest, ADisturbedConfirmationTakesNothingFromAnEarlierOne) {
  const SearchOutcome known = Must(Go(Attempts(30)));
  const double speedup = Must(store_.Summarize(known.run)).best_speedup;
  ASSERT_GT(speedup, 0);
  RunRecord killed = known.run;
  killed.state = RunState::kRunning;
  Must(store_.UpdateRun(killed));
  evaluator_.disturbed_confirmations = true;
  const SearchOutcome again = Must(Go(Attempts(30)));
  EXPECT_TRUE(again.winner_confirmed);
  EXPECT_EQ(again.run.best_attempt, known.run.best_attempt);
  EXPECT_EQ(Must(store_.Summarize(again.run)).best_speedup, speedup);
  const SearchOutcome more = Must(Go(Attempts(60)));  // its finalists are others
  EXPECT_EQ(more.run.best_attempt, known.run.best_attempt);
  EXPECT_EQ(Must(store_.Summarize(more.run)).best_speedup, speedup);
}

TEST_F(RunSearchTest, ADoneRunIsAnsweredFromTheStore) {
  const SearchOutcome first = Must(Go(Attempts(30)));
  const int evaluations = evaluator_.evaluations;
  const SearchOutcome again = Must(Go(Attempts(30)));
  EXPECT_EQ(evaluator_.evaluations, evaluations);
  EXPECT_EQ(again.run.best_attempt, first.run.best_attempt);
  EXPECT_EQ(again.run.id, first.run.id);
  EXPECT_TRUE(again.winner_confirmed);
  EXPECT_EQ(again.confirmed.size(), 3u);
  EXPECT_EQ(again.replayed, 30);
}

TEST_F(RunSearchTest, AFailureOfTheWorldIsToldAndTheRunGoesOnLater) {
  evaluator_.before = [&](int evaluation) -> Result<void> {
    if (evaluation == 5) return Fail(ErrorKind::kTool, "the compiler is gone");
    return {};
  };
  const Result<SearchOutcome> failed = Go(Attempts(20));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "the compiler is gone");
  const RunRecord run = Must(store_.Runs())[0];
  EXPECT_EQ(run.state, RunState::kInterrupted);
  EXPECT_EQ(run.stop_reason, "the compiler is gone");
  evaluator_.before = nullptr;
  const SearchOutcome rest = Must(Go(Attempts(20)));
  EXPECT_EQ(rest.replayed, 4);
  EXPECT_EQ(rest.tree.Signature(), Whole("greedy", 20).tree.Signature());
}

TEST_F(RunSearchTest, AnInterruptReachesTheEvaluationInFlight) {
  std::atomic<bool> interrupt = false;
  SearchHooks hooks;
  hooks.interrupt = &interrupt;
  evaluator_.before = [&](int evaluation) -> Result<void> {
    if (evaluation < 3) return {};
    interrupt = true;
    while (evaluator_.interrupts == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Fail(ErrorKind::kInterrupted, "interrupted");
  };
  const SearchOutcome outcome = Must(Go(Attempts(20), hooks));
  EXPECT_EQ(outcome.stop.cause, Stop::Cause::kInterrupt);
  EXPECT_EQ(outcome.tree.attempts(), 2);
}

TEST_F(RunSearchTest, AnInterruptDuringConfirmationKeepsTheBestSoFar) {
  std::atomic<bool> interrupt = false;
  SearchHooks hooks;
  hooks.interrupt = &interrupt;
  evaluator_.before = [&](int evaluation) -> Result<void> {
    if (evaluation == 22) interrupt = true;
    return {};
  };
  const SearchOutcome outcome = Must(Go(Attempts(20), hooks));
  EXPECT_EQ(outcome.tree.attempts(), 20);
  EXPECT_FALSE(outcome.winner_confirmed);
  EXPECT_EQ(outcome.run.best_attempt, outcome.tree.best());
  EXPECT_EQ(outcome.run.state, RunState::kInterrupted);
  interrupt = false;
  evaluator_.before = nullptr;
  EXPECT_TRUE(Must(Go(Attempts(20), hooks)).winner_confirmed);
}

// The time's end is a wish of the whole process.
class TimeLimitTest : public RunSearchTest {
 protected:
  TimeLimitTest() { hooks_.interrupt = &InterruptFlag(); }
  void TearDown() override { ForgetInterrupt(); }
  // The time is up during this evaluation.
  void EndTimeIn(int evaluation) {
    evaluator_.before = [evaluation](int now) -> Result<void> {
      if (now == evaluation) AskToStop(Interrupt::kTimeIsUp);
      return {};
    };
  }
  SearchHooks hooks_;
  const Budget budget_{.attempts = 20, .seconds = 1e6, .headroom = -1};
};

TEST_F(TimeLimitTest, TheEndOfTheTimeInAnAttemptEndsTheRunWhichConfirmsWhenItGoesOn) {
  EndTimeIn(8);
  const SearchOutcome outcome = Must(Go(budget_, hooks_));
  EXPECT_EQ(outcome.stop.cause, Stop::Cause::kBudget);
  EXPECT_EQ(outcome.stop.reason, "the 1000000 s are spent");
  EXPECT_EQ(outcome.tree.attempts(), 7);
  EXPECT_FALSE(outcome.winner_confirmed);
  EXPECT_EQ(outcome.run.best_attempt, outcome.tree.best());
  EXPECT_EQ(outcome.run.state, RunState::kInterrupted);
  EXPECT_EQ(evaluator_.evaluations, 8);  // nothing was begun after it
  ForgetInterrupt();
  evaluator_.before = nullptr;
  const SearchOutcome rest = Must(Go(budget_, hooks_));
  EXPECT_EQ(rest.replayed, 7);
  EXPECT_TRUE(rest.winner_confirmed);
  EXPECT_EQ(rest.run.state, RunState::kDone);
}

TEST_F(TimeLimitTest, WhatWasConfirmedInTimeIsTheWinner) {
  EndTimeIn(22);  // the second of three that are confirmed
  const SearchOutcome outcome = Must(Go(budget_, hooks_));
  EXPECT_TRUE(outcome.winner_confirmed);
  ASSERT_EQ(outcome.confirmed.size(), 1u);
  EXPECT_EQ(outcome.run.best_attempt, outcome.confirmed[0].attempt);
  EXPECT_EQ(outcome.run.state, RunState::kDone);
}

TEST_F(TimeLimitTest, TimeSpentBeforeTheSearchCounts) {
  double now = 0;
  hooks_.seconds = [&] { return now; };
  hooks_.spent_s = 10;
  evaluator_.before = [&](int) -> Result<void> {
    now += 1;
    return {};
  };
  const SearchOutcome outcome = Must(Go({.attempts = 1000, .seconds = 20, .headroom = -1}, hooks_));
  EXPECT_EQ(outcome.tree.attempts(), 5);
  EXPECT_LE(now, 10);  // all of it, confirmations included
}

// Another hone may have the device until then.
TEST_F(RunSearchTest, TheEvaluatorGetsReadyOnceForTheFirstThatIsTried) {
  evaluator_.before_ready = [&]() -> Result<void> {
    EXPECT_EQ(evaluator_.evaluations, 0);
    EXPECT_TRUE(Must(store_.Attempts(Must(store_.Runs())[0].id)).empty()) << "no attempt has begun";
    return {};
  };
  const SearchOutcome outcome = Must(Go(Attempts(6)));
  EXPECT_EQ(evaluator_.readied, (std::vector<std::string>{outcome.tree.node(1).attempt.proposal.candidate.text}));
  evaluator_.before_ready = nullptr;
  Must(Go(Attempts(6)));
  EXPECT_EQ(evaluator_.readied.size(), 1u) << "nothing was left to try, and nobody is waited for";
  Must(Go(Attempts(8)));
  EXPECT_EQ(evaluator_.readied.size(), 2u);
}

TEST_F(RunSearchTest, AnInterruptWhileItGetsReadyEndsTheRunBeforeItsFirstAttempt) {
  std::atomic<bool> interrupt = false;
  SearchHooks hooks;
  hooks.interrupt = &interrupt;
  evaluator_.before_ready = [&]() -> Result<void> {
    interrupt = true;
    return Fail(ErrorKind::kInterrupted, "interrupted");
  };
  const SearchOutcome none = Must(Go(Attempts(6), hooks));
  EXPECT_EQ(none.stop.cause, Stop::Cause::kInterrupt);
  EXPECT_EQ(none.tree.attempts(), 0);
  EXPECT_EQ(evaluator_.evaluations, 0);
  interrupt = false;
  evaluator_.before_ready = nullptr;
  const SearchOutcome rest = Must(Go(Attempts(6), hooks));
  EXPECT_EQ(rest.tree.attempts(), 6);
  EXPECT_FALSE(rest.diverged);
}

TEST_F(RunSearchTest, AnEvaluatorThatCannotGetReadyFailsTheRun) {
  evaluator_.before_ready = []() -> Result<void> { return Fail(ErrorKind::kUsage, "too large for the device"); };
  const auto failed = Go(Attempts(6));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "too large for the device");
}

TEST_F(RunSearchTest, ProgressIsToldForEveryAttempt) {
  std::vector<int> trying, tried, confirming;
  double last_best_us = 0;
  SearchHooks hooks;
  hooks.progress = [&](const SearchProgress& progress) {
    ASSERT_NE(progress.last, nullptr);
    EXPECT_EQ(progress.last->number, progress.attempt);
    EXPECT_EQ(progress.attempts_at_most, 12);
    if (progress.phase == SearchProgress::Phase::kTrying) trying.push_back(progress.attempt);
    if (progress.phase == SearchProgress::Phase::kConfirming) confirming.push_back(progress.attempt);
    if (progress.phase != SearchProgress::Phase::kTried) return;
    tried.push_back(progress.attempt);
    if (last_best_us > 0) {
      EXPECT_LE(progress.best_us, last_best_us);
      EXPECT_NEAR(progress.best_speedup, 2000 / progress.best_us, 1e-9);
      EXPECT_GE(progress.eta_s, 0);
    }
    last_best_us = progress.best_us;
  };
  Must(Go(Attempts(12), hooks));
  EXPECT_EQ(trying.size(), 12u);
  EXPECT_EQ(tried, trying);
  EXPECT_EQ(confirming.size(), 3u);
}

// Proposes other candidates than the one that the record was made with, as a later version of hone does.
class ChangedProposer final : public Proposer {
 public:
  Result<Round> Propose(const Question& question) override {
    ++asked;
    Round round = HONE_TRY(scripted_.Propose(question));
    if (question.parent == 0 && question.turn == 0) std::swap(round.proposals.front(), round.proposals.back());
    return round;
  }
  int asked = 0;

 private:
  testing::ScriptedProposer scripted_;
};

class ChangedProposerTest : public RunSearchTest {
 protected:
  SearchOutcome GoOn(int attempts) {
    return Must(RunScriptedSearch(store_, {.seed = kSeed, .search = "greedy", .proposer = "scripted"},
                                  Attempts(attempts), proposer_, {&evaluator_}));
  }
  ChangedProposer proposer_;
};

TEST_F(ChangedProposerTest, WhatWasProposedIsTakenFromTheRecordAndNotAskedAgain) {
  const SearchOutcome first = Must(Go(Attempts(10)));
  const SearchOutcome rest = GoOn(10);
  EXPECT_EQ(proposer_.asked, 0);
  EXPECT_FALSE(rest.diverged);
  EXPECT_EQ(rest.tree.Signature(), first.tree.Signature());
  EXPECT_EQ(GoOn(25).tree.Signature(), Whole("greedy", 25).tree.Signature());
  EXPECT_GT(proposer_.asked, 0);
}

TEST_F(ChangedProposerTest, ARunFromBeforeRoundsWereKeptIsAskedAgainAndWhatDiffersIsSaid) {
  const TempDirectory folder = Must(TempDirectory::Create("loop"));
  const std::string path = folder.path() + "/runs.db";
  store_ = Must(Store::Open(path));
  const SearchOutcome first = Must(Go(Attempts(10)));
  {
    Connection connection = Must(Connection::Open(path, IfAbsent::kFail));
    ASSERT_TRUE(connection.Execute(
        "DELETE FROM journal; DELETE FROM proposal; DELETE FROM round; UPDATE attempt SET round = 0"));
  }
  const SearchOutcome rest = GoOn(25);
  EXPECT_TRUE(rest.diverged);
  EXPECT_EQ(rest.replayed, 10);
  EXPECT_EQ(rest.tree.attempts(), 25);
  for (int i = 1; i <= 10; ++i) {
    EXPECT_EQ(rest.tree.node(i).attempt.proposal.candidate.text, first.tree.node(i).attempt.proposal.candidate.text);
  }
}

TEST_F(RunSearchTest, WhoIsAcceptedIsLookedAtOnceAndKeepsWhatWasSeen) {
  std::vector<int> looked;
  SearchHooks hooks;
  hooks.look = [&](const Attempt& attempt) {
    looked.push_back(attempt.number);
    Insight insight;
    insight.findings = {{.rule = "r", .evidence = std::to_string(attempt.time_us())}};
    return insight;
  };
  const auto go = [&](int attempts) {
    ScriptedEvaluator evaluator(kSeed);
    return Must(RunScriptedSearch(store_, "greedy", kSeed, Attempts(attempts), evaluator, hooks));
  };
  static_cast<void>(go(12));
  const SearchOutcome whole = go(25);
  EXPECT_EQ(whole.tree.Signature(), Whole("greedy", 25).tree.Signature());
  std::vector<int> accepted;
  for (const TreeNode& node : whole.tree.nodes()) {
    const Attempt& attempt = node.attempt;
    EXPECT_EQ(attempt.insight->findings.size(), attempt.time_us() > 0 ? 1u : 0u) << attempt.number;
    if (attempt.time_us() <= 0) continue;
    accepted.push_back(attempt.number);
    EXPECT_EQ(attempt.insight->findings[0].evidence, std::to_string(attempt.time_us()));
  }
  EXPECT_LT(accepted.size(), 25u) << "some are refused";
  EXPECT_EQ(looked, accepted);
  // Moves of one knob are by a rule, those that were proposed before the run was continued as well.
  int by_rule = 0;
  for (const AttemptRecord& record : Must(store_.Attempts(whole.run.id))) {
    const Proposal& proposal = whole.tree.node(record.number).attempt.proposal;
    EXPECT_EQ(record.rule, proposal.rule) << record.number;
    EXPECT_EQ(record.promised, proposal.promised);
    EXPECT_EQ(record.brought.has_value(), !record.rule.empty());
    const bool moves = record.origin.find(" -> ") != std::string::npos;
    EXPECT_EQ(record.rule.empty(), !moves) << record.origin;
    by_rule += moves ? 1 : 0;
  }
  EXPECT_GT(by_rule, 10);
}

TEST_F(RunSearchTest, ARunInAStoreOfEachEarlierSchemaGoesOnAsItWouldHave) {
  const TempDirectory folder = Must(TempDirectory::Create("loop"));
  const std::string today = folder.path() + "/today.db";
  store_ = Must(Store::Open(today));
  const SearchOutcome first = Must(Go(Attempts(10)));
  for (int schema = 1; schema <= testing::kOldSchemas; ++schema) {
    SCOPED_TRACE(schema);
    const std::string path = folder.path() + "/old" + std::to_string(schema) + ".db";
    ASSERT_TRUE(testing::MakeOldStoreOf(today, path, schema));
    store_ = Must(Store::Open(path));
    const std::vector<AttemptRecord> records = Must(store_.Attempts(first.run.id));
    ASSERT_EQ(records.size(), 10u);
    for (std::size_t i = 0; i < records.size(); ++i) {
      Attempt read = Must(ReadAttempt(store_, records[i])), was = first.tree.nodes()[i + 1].attempt;
      for (Attempt* one : {&read, &was}) one->evaluation.how.Clear();  // the tree keeps it of the best alone
      EXPECT_EQ(read.proposal.candidate.text, was.proposal.candidate.text);
      EXPECT_EQ(EvaluationText(read.evaluation), EvaluationText(was.evaluation));
    }
    const SearchOutcome rest = Must(Go(Attempts(25)));
    EXPECT_EQ(rest.run.id, first.run.id);
    EXPECT_EQ(rest.replayed, 10);
    EXPECT_FALSE(rest.diverged);
    EXPECT_EQ(rest.tree.Signature(), Whole("greedy", 25).tree.Signature());
    EXPECT_TRUE(rest.winner_confirmed);
  }
}

TEST_F(RunSearchTest, TwoDoNotWorkOnOneRun) {
  const TempDirectory folder = Must(TempDirectory::Create("loop"));
  Store store = Must(Store::Open(folder.path() + "/runs.db"));
  RunRecord wanted;
  wanted.problem_name = "p";
  wanted.problem_identity = "i";
  const OpenedRun mine = Must(OpenRun(store, wanted, "{}"));
  const Result<OpenedRun> other = OpenRun(store, wanted, "{}");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::kUsage);
  EXPECT_NE(other.error().message.find("another hone is at work on run " + mine.record.id), std::string::npos);
}

// Accepts nothing on fresh draws: a kernel that fits the draws of the search only.
class Overfitted final : public Evaluator {
 public:
  Result<Evaluation> Evaluate(const Candidate& candidate, const EvaluateRequest& request) override {
    Evaluation evaluation = HONE_TRY(scripted_.Evaluate(candidate, request));
    if (request.fresh_draws) {
      evaluation.verdict = {};
      evaluation.verdict.outcome = Outcome::kWrongResult;
      evaluation.timing.reset();
      if (++fresh == time_is_up_in) AskToStop(hone::Interrupt::kTimeIsUp);
    }
    return evaluation;
  }
  void Interrupt() override {}
  int fresh = 0, time_is_up_in = 0;

 private:
  ScriptedEvaluator scripted_{kSeed};
};

TEST_F(RunSearchTest, AWinnerThatFreshDrawsRefuteIsNone) {
  Overfitted evaluator;
  const SearchOutcome outcome = Must(RunScriptedSearch(store_, "greedy", kSeed, Attempts(15), evaluator));
  EXPECT_EQ(outcome.run.best_attempt, 0);
  EXPECT_FALSE(outcome.winner_confirmed);
  EXPECT_EQ(outcome.confirmed.size(), outcome.tree.ranked().size());
}

TEST_F(TimeLimitTest, AWinnerThatWasRefutedInTimeIsNoneEither) {
  Overfitted evaluator;
  evaluator.time_is_up_in = 2;
  const SearchOutcome outcome = Must(RunScriptedSearch(store_, "greedy", kSeed, budget_, evaluator, hooks_));
  EXPECT_FALSE(outcome.winner_confirmed);
  EXPECT_EQ(outcome.confirmed.size(), 1u);
  EXPECT_EQ(outcome.run.best_attempt, outcome.tree.ranked()[1]);
}

TEST(RandomTest, IsTheSameEverywhereAndUniform) {
  Random random(1);
  EXPECT_EQ(random.Next(), 12966619160104079557u);
  EXPECT_EQ(random.Next(), 9600361134598540522u);
  std::array<int, 5> counts{};
  for (int i = 0; i < 50'000; ++i) ++counts[random.Below(5)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
  for (int i = 0; i < 1000; ++i) {
    const double x = random.Uniform();
    EXPECT_TRUE(x >= 0 && x < 1);
  }
}

}  // namespace
}  // namespace hone
