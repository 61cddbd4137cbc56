// Searches whose objective is energy, over the scripted world: joules are a function of the candidate's text.
#include "search/finals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "base/testing/must.h"
#include "search/bench.h"
#include "search/loop.h"
#include "search/testing/scripted_evaluator.h"
#include "search/testing/scripted_proposer.h"
#include "search/testing/scripted_space.h"

namespace hone {
namespace {

using testing::Must;
using testing::ScriptedEvaluator;
using testing::ScriptedPoint;

constexpr std::uint64_t kSeed = 7;

// Who is slower takes less.
double SlowTakesLess(const std::string& text) {
  return 1e6 / static_cast<double>(ScriptedPoint::Parse(text)->Nanoseconds());
}

class FinalsTest : public ::testing::Test {
 protected:
  FinalsTest() {
    evaluator_.noise_thousandths = 0;
    evaluator_.joules = SlowTakesLess;
  }
  Result<SearchOutcome> Go(double slower, int attempts = 80, const SearchHooks& hooks = {}) {
    testing::ScriptedProposer proposer;
    const RunSettings settings{
        .seed = kSeed, .proposer = "scripted", .objective = Must(Objective::Choose("energy", slower))};
    return RunScriptedSearch(store_, settings, {.attempts = attempts, .seconds = 0, .headroom = -1}, proposer,
                             {&evaluator_}, hooks);
  }
  static double TimeOf(const SearchOutcome& outcome, int number) { return outcome.tree.node(number).attempt.time_us(); }
  static const std::string& TextOf(const SearchOutcome& outcome, int number) {
    return outcome.tree.node(number).attempt.proposal.candidate.text;
  }

  Store store_ = Must(Store::Open(":memory:"));
  ScriptedEvaluator evaluator_{kSeed};
};

TEST_F(FinalsTest, OfThoseWithinTheToleranceTheOneThatTakesLeastWins) {
  const SearchOutcome outcome = Must(Go(0.2));
  const double fastest_us = outcome.tree.best_us();
  double least = SlowTakesLess(TextOf(outcome, outcome.tree.best()));
  const double fastest_takes = least;
  for (const int number : Contenders(outcome.tree, Must(Objective::Choose("energy", 0.2)))) {
    EXPECT_LE(TimeOf(outcome, number), fastest_us * 1.2 * 1.01);
    if (TimeOf(outcome, number) <= fastest_us * 1.2) least = std::min(least, SlowTakesLess(TextOf(outcome, number)));
  }
  EXPECT_EQ(SlowTakesLess(TextOf(outcome, outcome.run.best_attempt)), least);
  EXPECT_LT(least, fastest_takes) << "the world has something to choose";
  EXPECT_TRUE(outcome.winner_confirmed);
}

TEST_F(FinalsTest, WithoutAToleranceTheFastestWins) {
  const SearchOutcome outcome = Must(Go(0));
  EXPECT_EQ(TimeOf(outcome, outcome.run.best_attempt), outcome.tree.best_us());
}

TEST_F(FinalsTest, OfEqualJoulesTheFasterWins) {
  evaluator_.joules = [](const std::string&) { return 0.5; };
  const SearchOutcome outcome = Must(Go(0.3));
  EXPECT_GT(outcome.confirmed.size(), 1u);
  EXPECT_EQ(outcome.run.best_attempt, outcome.tree.best());
}

TEST_F(FinalsTest, ManyAreScreenedByOneWindowAndFewAreMeasured) {
  const SearchOutcome outcome = Must(Go(0.5));
  ASSERT_EQ(evaluator_.energies.size(), 2u);
  const auto& [screened, screen] = evaluator_.energies[0];
  const auto& [measured, full] = evaluator_.energies[1];
  EXPECT_EQ(screened.size(), kScreened);
  EXPECT_EQ(screen.windows, 1);
  EXPECT_FALSE(screen.idle);
  ASSERT_EQ(measured.size(), 2u);
  EXPECT_EQ(full.windows, 3);
  EXPECT_EQ(full.window, std::chrono::milliseconds(5000));
  EXPECT_TRUE(full.idle);
  EXPECT_EQ(measured[0], TextOf(outcome, outcome.tree.best())) << "the fastest is what others are held against";
  EXPECT_EQ(measured[1], *std::min_element(screened.begin(), screened.end(), [](const auto& a, const auto& b) {
              return SlowTakesLess(a) < SlowTakesLess(b);
            }));
}

TEST_F(FinalsTest, TheSearchIsTheSameAsOneForTime) {
  const SearchOutcome outcome = Must(Go(0.2));
  Store other = Must(Store::Open(":memory:"));
  ScriptedEvaluator evaluator(kSeed);
  evaluator.noise_thousandths = 0;
  testing::ScriptedProposer proposer;
  const SearchOutcome time =
      Must(RunScriptedSearch(other, {.seed = kSeed, .proposer = "scripted"},
                             {.attempts = 80, .seconds = 0, .headroom = -1}, proposer, {&evaluator}));
  EXPECT_EQ(outcome.tree.Signature(), time.tree.Signature());
}

TEST_F(FinalsTest, JoulesAreInTheStoreAndADoneRunIsAnsweredFromIt) {
  const SearchOutcome outcome = Must(Go(0.2));
  const auto rows = Must(store_.Confirmations(outcome.run.id));
  ASSERT_EQ(rows.size(), outcome.confirmed.size());
  for (const ConfirmationRecord& row : rows) {
    EXPECT_EQ(row.joules, SlowTakesLess(TextOf(outcome, row.attempt)));
    EXPECT_EQ(Must(ReadConfirmation(store_, row)).timing->energy->sensor, "scripted");
  }
  const std::size_t asked = evaluator_.energies.size();
  const SearchOutcome again = Must(Go(0.2));
  EXPECT_EQ(evaluator_.energies.size(), asked);
  EXPECT_EQ(again.run.best_attempt, outcome.run.best_attempt);
  EXPECT_EQ(again.confirmed.size(), outcome.confirmed.size());
}

TEST_F(FinalsTest, AnotherToleranceIsAnotherRun) {
  const SearchOutcome one = Must(Go(0.2)), two = Must(Go(0.1));
  EXPECT_NE(one.run.id, two.run.id);
}

TEST_F(FinalsTest, WhereNobodyCanSayTheFastestWinsAndANoteSaysWhy) {
  evaluator_.joules = [](const std::string&) { return std::nullopt; };
  const SearchOutcome outcome = Must(Go(0.2));
  EXPECT_TRUE(outcome.winner_confirmed);
  EXPECT_EQ(TimeOf(outcome, outcome.run.best_attempt), outcome.tree.best_us());
  EXPECT_EQ(outcome.confirmed.at(0).evaluation.how->notes, (std::vector<std::string>{"energy: the meter slept"}));
}

TEST_F(FinalsTest, ARunThatWasInterruptedAmongItsFinalistsHasTheWinnerThatItWouldHaveHad) {
  const SearchOutcome whole = Must(Go(0.2));
  store_ = Must(Store::Open(":memory:"));
  std::atomic<bool> interrupt = false;
  for (const std::size_t during : {std::size_t{1}, std::size_t{2}}) {  // the screening, then the measuring
    evaluator_.energies.clear();
    evaluator_.before_energy = [&]() -> Result<void> {
      if (evaluator_.energies.size() != during) return {};
      interrupt = true;
      return Fail(ErrorKind::kInterrupted, "interrupted");
    };
    SearchHooks hooks;
    hooks.interrupt = &interrupt;
    const SearchOutcome part = Must(Go(0.2, 80, hooks));
    EXPECT_FALSE(part.winner_confirmed) << during;
    EXPECT_EQ(part.run.state, RunState::kInterrupted) << during;
    EXPECT_TRUE(Must(store_.Confirmations(part.run.id)).empty()) << during;
    interrupt = false;
  }
  evaluator_.before_energy = nullptr;
  const SearchOutcome rest = Must(Go(0.2));
  EXPECT_EQ(rest.run.best_attempt, whole.run.best_attempt);
  EXPECT_TRUE(rest.winner_confirmed);
  EXPECT_EQ(rest.tree.Signature(), whole.tree.Signature());
}

TEST_F(FinalsTest, AFailureOfTheMeterIsTheRunsAndItGoesOnLater) {
  evaluator_.before_energy = [] { return Fail(ErrorKind::kDevice, "the energy counter fell"); };
  const auto failed = Go(0.2);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "the energy counter fell");
  evaluator_.before_energy = nullptr;
  EXPECT_TRUE(Must(Go(0.2)).winner_confirmed);
}

}  // namespace
}  // namespace hone
