#include "search/ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/must.h"
#include "search/bench.h"
#include "search/record.h"
#include "search/search.h"
#include "search/start.h"
#include "search/testing/scripted_evaluator.h"
#include "search/testing/scripted_proposer.h"
#include "search/testing/scripted_space.h"

namespace hone {
namespace {

using testing::Must;
using testing::ScriptedEvaluator;

constexpr std::uint64_t kSeed = 7;

// Answers as the scripted one, and counts how often it is asked what.
class CountingProposer final : public Proposer {
 public:
  explicit CountingProposer(Pace pace) : pace_(pace) {}
  Pace pace() const override { return pace_; }
  Result<Round> Propose(const Question& question) override {
    ++asked[{question.parent, question.turn}];
    return scripted_.Propose(question);
  }
  std::map<std::pair<int, int>, int> asked;

 private:
  const Pace pace_;
  testing::ScriptedProposer scripted_;
};

SearchSettings Settings(const std::string& strategy, int lanes, int attempts = 30) {
  SearchSettings settings;
  settings.run = {
      .seed = kSeed, .search = Must(ChooseStrategy(strategy)).Identity(), .proposer = "counting", .lanes = lanes};
  settings.budget = {.attempts = attempts, .seconds = 0, .headroom = -1};
  return settings;
}

// One machine after the other over one store.
class AheadTest : public ::testing::TestWithParam<std::string> {
 protected:
  SearchOutcome Whole(const SearchSettings& settings, Proposer& proposer) {
    Store store = Must(Store::Open(":memory:"));
    return Must(RunScriptedSearch(store, settings, proposer, lanes(settings)));
  }
  SearchOutcome Try(const SearchSettings& settings, Pace pace) {
    AskedElsewhere elsewhere(pace, "somebody else is asked");
    return Must(RunScriptedSearch(store_, settings, elsewhere, lanes(settings)));
  }
  SearchOutcome Propose(const SearchSettings& settings, Proposer& proposer, int proposals) {
    const RunRecord run = Must(store_.Runs()).front();
    return Must(ProposeAhead(store_, run, proposer, settings, proposals));
  }
  std::vector<Evaluator*> lanes(const SearchSettings& settings) {
    return settings.run.lanes == 1 ? std::vector<Evaluator*>{&one_} : std::vector<Evaluator*>{&one_, &two_};
  }
  Store store_ = Must(Store::Open(":memory:"));
  ScriptedEvaluator one_{kSeed}, two_{kSeed};
};

TEST_P(AheadTest, APromptProposersRunIsThatOfOneProcess) {
  for (const int lanes : {1, 2}) {
    store_ = Must(Store::Open(":memory:"));
    const SearchSettings settings = Settings(GetParam(), lanes);
    CountingProposer alone(Pace::kPrompt), apart(Pace::kPrompt);
    const SearchOutcome whole = Whole(settings, alone);
    SearchOutcome last = Try(settings, Pace::kPrompt);
    EXPECT_EQ(last.tree.attempts(), 0) << "nothing is pending in a new run";
    for (int turns = 0; turns < 100 && last.stop.reason == "somebody else is asked"; ++turns) {
      const SearchOutcome asked = Propose(settings, apart, 1);
      EXPECT_FALSE(asked.diverged);
      EXPECT_EQ(asked.tree.attempts(), last.tree.attempts()) << "nothing is tried";
      last = Try(settings, Pace::kPrompt);
      EXPECT_FALSE(last.diverged);
    }
    EXPECT_EQ(last.tree.Signature(), whole.tree.Signature());
    EXPECT_EQ(last.stop.reason, whole.stop.reason);
    EXPECT_EQ(last.run.best_attempt, whole.run.best_attempt);
    EXPECT_EQ(apart.asked, alone.asked);
  }
}

TEST_P(AheadTest, ASlowProposerIsAskedAheadAndAllOfItIsTried) {
  const SearchSettings settings = Settings(GetParam(), 1);
  CountingProposer proposer(Pace::kSlow);
  EXPECT_EQ(Try(settings, Pace::kSlow).tree.attempts(), 0);
  int tried = 0;
  for (int turn = 0; turn < 6; ++turn) {
    const SearchOutcome asked = Propose(settings, proposer, 5);
    EXPECT_GE(asked.proposed, 3);
    EXPECT_GT(Pending(asked.tree), 0);
    EXPECT_FALSE(asked.diverged);
    EXPECT_EQ(asked.run.state, RunState::kInterrupted);
    EXPECT_EQ(asked.run.best_attempt, Must(store_.Runs()).front().best_attempt);
    const SearchOutcome outcome = Try(settings, Pace::kSlow);
    EXPECT_FALSE(outcome.diverged) << turn;
    EXPECT_GE(outcome.tree.attempts(), tried);
    tried = outcome.tree.attempts();
  }
  EXPECT_GT(tried, 5);
  for (const auto& [question, times] : proposer.asked) EXPECT_EQ(times, 1) << question.first << " " << question.second;
}

INSTANTIATE_TEST_SUITE_P(Strategies, AheadTest, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const StrategyRow* row : AllStrategies()) names.emplace_back(row->name);
                           return names;
                         }()),
                         [](const auto& suite) { return suite.param; });

class AheadOnceTest : public AheadTest {};

TEST_F(AheadOnceTest, MoreIsAskedWhileSomethingIsPending) {
  const SearchSettings settings = Settings("greedy", 1);
  CountingProposer proposer(Pace::kSlow);
  static_cast<void>(Try(settings, Pace::kSlow));
  const SearchOutcome first = Propose(settings, proposer, 1);
  EXPECT_EQ(first.proposed, 3) << "an answer is kept whole";
  const SearchOutcome second = Propose(settings, proposer, 4);
  EXPECT_EQ(Must(store_.Rounds(first.run.id)).size(), proposer.asked.size());
  EXPECT_EQ(Pending(second.tree), Pending(first.tree) + second.proposed);
}

TEST_F(AheadOnceTest, APromptProposerIsNotAskedPastWhatIsPending) {
  const SearchSettings settings = Settings("greedy", 1);
  CountingProposer proposer(Pace::kPrompt);
  static_cast<void>(Try(settings, Pace::kPrompt));
  EXPECT_EQ(Propose(settings, proposer, 100).proposed, 3);
  EXPECT_EQ(Propose(settings, proposer, 100).proposed, 0);
}

TEST_F(AheadOnceTest, TheKernelToStartFromIsTriedFirst) {
  SearchSettings settings = Settings("greedy", 1);
  const Candidate mine{CandidateKind::kProgram, testing::ScriptedPoint{{1, 1, 1, 1, 0}}.Text()};
  settings.run.start = mine.Identity();
  settings.start = StartProposal(mine, "mine.hk");
  RunRecord wanted{.problem_name = "scripted space", .problem_identity = "i", .target = "scripted", .machine = "none"};
  wanted.settings = ToJson(settings.run);
  wanted.budget = ToJson(settings.budget);
  const RunRecord run = Must(store_.CreateRun(wanted, "{}"));
  CountingProposer proposer(Pace::kSlow);
  EXPECT_EQ(Must(ProposeAhead(store_, run, proposer, settings, 5)).proposed, 0);
  EXPECT_TRUE(proposer.asked.empty());
}

TEST_F(AheadOnceTest, WhoIsNextIsWhoHadLeast) {
  Tree tree;
  EXPECT_EQ(NextToAsk(tree), 0);
  const auto add = [&](double us) {
    Attempt attempt{.number = tree.attempts() + 1};
    attempt.proposal.candidate.text = std::to_string(us);
    tree.Begin(attempt);
    attempt.evaluation.verdict.outcome = Outcome::kAccepted;
    attempt.evaluation.timing = Timing{.warm = {.median_us = us}};
    tree.AddAttempt(std::move(attempt));
  };
  tree.AddProposals(0, 1, {{.candidate = {CandidateKind::kProgram, "a"}}});
  for (const double us : {13., 10., 20.}) add(us);
  EXPECT_EQ(NextToAsk(tree), 2) << "the fastest";
  tree.AddProposals(2, 2, {{.candidate = {CandidateKind::kProgram, "b"}}});
  EXPECT_EQ(NextToAsk(tree), 1) << "the next one that is near it";
  tree.AddProposals(1, 3, {});
  EXPECT_EQ(NextToAsk(tree), 2) << "not attempt 3, which is twice as slow";
  tree.AddProposals(2, 4, {});
  EXPECT_EQ(NextToAsk(tree), 0);
  tree.AddProposals(0, 5, {});
  EXPECT_EQ(NextToAsk(tree), std::nullopt);
}

}  // namespace
}  // namespace hone
