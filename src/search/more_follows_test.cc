// Sessions that others follow, as helpings of a suite: what they confirm.
#include <gtest/gtest.h>

#include <atomic>

#include "base/testing/must.h"
#include "search/bench.h"
#include "search/testing/scripted_evaluator.h"
#include "search/testing/scripted_proposer.h"

namespace hone {
namespace {

using testing::Must;

class MoreFollowsTest : public ::testing::Test {
 protected:
  enum class Follows : std::uint8_t { kNothing, kMore };
  SearchOutcome Go(int attempts, Follows follows, const SearchHooks& hooks = {}) {
    const int before = evaluator_.evaluations;
    SearchSettings settings;
    settings.run = {.seed = kSeed, .proposer = "scripted"};
    settings.budget = {.attempts = attempts, .seconds = 0, .headroom = -1};
    settings.more_follows = follows == Follows::kMore;
    testing::ScriptedProposer proposer;
    SearchOutcome outcome = Must(RunScriptedSearch(store_, settings, proposer, {&evaluator_}, hooks));
    confirmed_now_ = evaluator_.evaluations - before - (outcome.tree.attempts() - outcome.replayed);
    return outcome;
  }

  static constexpr std::uint64_t kSeed = 3;
  Store store_ = Must(Store::Open(":memory:"));
  testing::ScriptedEvaluator evaluator_{kSeed};
  int confirmed_now_ = 0;  // evaluations of the last session that were no attempts
};

TEST_F(MoreFollowsTest, OnlyAFastestThatIsNewIsConfirmedAndTheLastSessionConfirmsTheFew) {
  int best = 0, confirmations = 0, unchanged = 0;
  for (const int attempts : {4, 8, 12, 16, 20, 24, 28, 32, 36, 40}) {
    const SearchOutcome part = Go(attempts, Follows::kMore);
    EXPECT_EQ(confirmed_now_, part.tree.best() == best ? 0 : 1) << attempts;
    unchanged += part.tree.best() == best;
    best = part.tree.best();
    confirmations += confirmed_now_;
    EXPECT_TRUE(part.winner_confirmed) << attempts;
    EXPECT_EQ(part.confirmed.size(), static_cast<std::size_t>(confirmations)) << "what is known is told";
    EXPECT_EQ(part.run.state, RunState::kInterrupted) << "the same command goes on";
  }
  EXPECT_GT(unchanged, 0) << "the world has a session that brings nothing";
  const SearchOutcome last = Go(44, Follows::kNothing);
  EXPECT_EQ(confirmed_now_, 3);
  EXPECT_EQ(last.run.state, RunState::kDone);
  store_ = Must(Store::Open(":memory:"));
  const SearchOutcome whole = Go(44, Follows::kNothing);
  EXPECT_EQ(last.run.best_attempt, whole.run.best_attempt);
  EXPECT_EQ(last.tree.Signature(), whole.tree.Signature());
}

TEST_F(MoreFollowsTest, WhoGoesOnWithoutAnotherAttemptConfirmsTheFew) {
  Go(8, Follows::kMore);
  EXPECT_EQ(confirmed_now_, 1);
  EXPECT_EQ(Go(8, Follows::kNothing).run.state, RunState::kDone);
  EXPECT_EQ(confirmed_now_, 3);
}

TEST_F(MoreFollowsTest, WhatWasDisturbedIsConfirmedAgain) {
  evaluator_.disturbed_confirmations = true;
  EXPECT_EQ(Go(8, Follows::kMore).confirmed.size(), 1U);
  evaluator_.disturbed_confirmations = false;
  const SearchOutcome again = Go(8, Follows::kMore);
  EXPECT_EQ(confirmed_now_, 1);
  ASSERT_EQ(again.confirmed.size(), 1U) << "the last word on it";
  EXPECT_TRUE(IsUndisturbed(again.confirmed[0].evaluation));
}

TEST_F(MoreFollowsTest, AnInterruptLeavesTheFastestUnconfirmedAndSaysSo) {
  std::atomic<bool> interrupt = false;
  SearchHooks hooks;
  hooks.interrupt = &interrupt;
  evaluator_.before = [&](int evaluation) -> Result<void> {
    interrupt = evaluation == 9;
    return {};
  };
  const SearchOutcome part = Go(8, Follows::kMore, hooks);
  EXPECT_FALSE(part.winner_confirmed);
  EXPECT_EQ(part.run.best_attempt, part.tree.best());
  EXPECT_TRUE(Must(store_.Confirmations(part.run.id)).empty());
  evaluator_.before = nullptr;
  interrupt = false;
  EXPECT_TRUE(Go(8, Follows::kMore, hooks).winner_confirmed);
  EXPECT_EQ(confirmed_now_, 1);
}

}  // namespace
}  // namespace hone
