#include "search/start.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "base/testing/must.h"
#include "search/bench.h"
#include "search/record.h"
#include "search/search.h"
#include "search/testing/scripted_evaluator.h"
#include "search/testing/scripted_proposer.h"
#include "search/testing/scripted_space.h"

namespace hone {
namespace {

using testing::Must;
using testing::ScriptedEvaluator;
using testing::ScriptedPoint;
using testing::ScriptedProposer;

constexpr std::uint64_t kSeed = 7;

// Answers as the scripted one, and notes what it was asked about.
class NotingProposer final : public Proposer {
 public:
  explicit NotingProposer(Pace pace) : pace_(pace) {}
  Pace pace() const override { return pace_; }
  Result<Round> Propose(const Question& question) override {
    asked.push_back(question.parent);
    return scripted_.Propose(question);
  }
  std::vector<int> asked;

 private:
  const Pace pace_;
  ScriptedProposer scripted_;
};

// The first point of the space that is judged so, in the order of its knobs.
Candidate PointThatIs(Outcome outcome) {
  for (int index = 0; index < 8 * 5 * 4 * 4 * 2; ++index) {
    ScriptedPoint point;
    int rest = index;
    for (std::size_t knob = 0; knob < point.knobs.size(); ++knob) {
      point.knobs[knob] = rest % ScriptedPoint::kExtents[knob];
      rest /= ScriptedPoint::kExtents[knob];
    }
    if (point.Verdict() == outcome) return {CandidateKind::kProgram, point.Text()};
  }
  ADD_FAILURE() << "the scripted space has no point that is " << Name(outcome);
  return {};
}

SearchSettings From(const Candidate& candidate, const std::string& strategy, int attempts, int lanes = 1) {
  SearchSettings settings;
  settings.run = {.seed = kSeed, .search = strategy, .proposer = "noting", .lanes = lanes};
  settings.run.start = candidate.Identity();
  settings.start = StartProposal(candidate, "mine.hk");
  settings.budget = {.attempts = attempts, .seconds = 0, .headroom = -1};
  return settings;
}

class StartTest : public ::testing::TestWithParam<std::string> {
 protected:
  Store store_ = Must(Store::Open(":memory:"));
  ScriptedEvaluator evaluator_{kSeed};
};

TEST_P(StartTest, TheKernelIsTheFirstAttemptAndTheRunGoesOnFromIt) {
  for (const Pace pace : {Pace::kPrompt, Pace::kSlow}) {
    Store store = Must(Store::Open(":memory:"));
    NotingProposer proposer(pace);
    const SearchOutcome outcome =
        Must(RunScriptedSearch(store, From(PointThatIs(Outcome::kAccepted), GetParam(), 30), proposer, {&evaluator_}));
    const Attempt& first = outcome.tree.node(1).attempt;
    EXPECT_EQ(first.proposal.key, kStartKey);
    EXPECT_EQ(first.proposal.origin, "start: mine.hk");
    EXPECT_EQ(first.parent, 0);
    EXPECT_GT(outcome.tree.attempts(), 10);
    EXPECT_EQ(proposer.asked.front(), 1) << "proposals from the start come first";
    const auto against = CompareWithStart(outcome);
    ASSERT_TRUE(against && against->speedup);
    EXPECT_TRUE(against->again) << "the start is measured again beside the winner";
    EXPECT_NEAR(*against->speedup, against->start_us / against->best_us, 1e-9);
    EXPECT_GE(against->start_us, against->best_us);
    // The same again is the same run, and asks nobody.
    proposer.asked.clear();
    const SearchOutcome again =
        Must(RunScriptedSearch(store, From(PointThatIs(Outcome::kAccepted), GetParam(), 30), proposer, {&evaluator_}));
    EXPECT_EQ(again.run.id, outcome.run.id);
    EXPECT_EQ(again.tree.Signature(), outcome.tree.Signature());
    EXPECT_FALSE(again.diverged);
    EXPECT_TRUE(proposer.asked.empty());
  }
}

TEST_P(StartTest, ARefusedKernelIsNotTheEndOfTheRun) {
  for (const Pace pace : {Pace::kPrompt, Pace::kSlow}) {
    Store store = Must(Store::Open(":memory:"));
    NotingProposer proposer(pace);
    const SearchOutcome outcome = Must(
        RunScriptedSearch(store, From(PointThatIs(Outcome::kWrongResult), GetParam(), 20), proposer, {&evaluator_}));
    EXPECT_FALSE(outcome.tree.node(1).attempt.accepted());
    EXPECT_EQ(proposer.asked.front(), 0);
    EXPECT_GT(outcome.run.best_attempt, 1);
    const auto against = CompareWithStart(outcome);
    ASSERT_TRUE(against);
    EXPECT_FALSE(against->speedup);
    EXPECT_FALSE(against->faster);
  }
}

TEST_P(StartTest, TwoLanesTryTheKernelAloneFirst) {
  NotingProposer proposer(Pace::kPrompt);
  ScriptedEvaluator other(kSeed);
  const SearchOutcome outcome = Must(RunScriptedSearch(store_, From(PointThatIs(Outcome::kAccepted), GetParam(), 12, 2),
                                                       proposer, {&evaluator_, &other}));
  EXPECT_EQ(outcome.tree.node(1).attempt.proposal.key, kStartKey);
  EXPECT_GT(outcome.tree.attempts(), 5);
}

INSTANTIATE_TEST_SUITE_P(Strategies, StartTest, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const StrategyRow* row : AllStrategies()) names.emplace_back(row->name);
                           return names;
                         }()),
                         [](const auto& suite) { return suite.param; });

TEST(StartOnceTest, AnInterruptWhileTheKernelIsTriedLeavesItToTheNextSession) {
  Store store = Must(Store::Open(":memory:"));
  ScriptedEvaluator evaluator(kSeed);
  std::atomic<bool> interrupt = false;
  evaluator.before = [&](int) -> Result<void> {
    interrupt = true;
    return {};
  };
  NotingProposer proposer(Pace::kPrompt);
  const SearchSettings settings = From(PointThatIs(Outcome::kAccepted), "greedy", 10);
  const SearchOutcome part =
      Must(RunScriptedSearch(store, settings, proposer, {&evaluator}, {.interrupt = &interrupt}));
  EXPECT_EQ(part.stop.cause, Stop::Cause::kInterrupt);
  EXPECT_EQ(part.tree.attempts(), 0);
  EXPECT_TRUE(proposer.asked.empty());
  evaluator.before = {};
  const SearchOutcome rest = Must(RunScriptedSearch(store, settings, proposer, {&evaluator}));
  EXPECT_EQ(rest.tree.node(1).attempt.proposal.key, kStartKey);
  EXPECT_EQ(rest.run.id, part.run.id);
}

TEST(StartOnceTest, AnotherKernelIsAnotherRun) {
  RunSettings plain, one, other;
  one.start = Candidate{CandidateKind::kProgram, "a"}.Identity();
  other.start = Candidate{CandidateKind::kModule, "a"}.Identity();
  EXPECT_EQ(ToJson(plain).find("start"), std::string::npos) << "runs from before are found again";
  EXPECT_NE(ToJson(one), ToJson(other));
  EXPECT_EQ(Must(ParseRunSettings(ToJson(one))).start, one.start);
}

}  // namespace
}  // namespace hone
