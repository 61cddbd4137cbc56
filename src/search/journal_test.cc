#include "search/journal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/testing/must.h"
#include "search/bench.h"
#include "search/record.h"
#include "search/search.h"
#include "search/testing/scripted_evaluator.h"
#include "search/testing/scripted_proposer.h"
#include "store/sqlite.h"

namespace hone {
namespace {

using testing::Must;
using testing::ScriptedEvaluator;

constexpr std::uint64_t kSeed = 11;

// All that a tree has: two that are told apart by nothing here decide the same.
std::string Everything(const Tree& tree) {
  std::string text;
  for (const TreeNode& node : tree.nodes()) {
    const Attempt& attempt = node.attempt;
    text += fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}\n", attempt.number, attempt.parent, attempt.mate,
                        attempt.round, attempt.proposal.key, attempt.proposal.origin, attempt.proposal.rule,
                        attempt.proposal.promised, attempt.proposal.predicted_us, attempt.proposal.doubt,
                        attempt.proposal.candidate.text, EvaluationText(attempt.evaluation),
                        attempt.evaluation.verdict.evidence->log);
    for (const Finding& finding : attempt.insight->findings) text += fmt::format(" {}", finding.evidence);
    text += fmt::format(" {} {} {} {}\n", node.rounds, node.exhausted, node.in_flight, fmt::join(node.children, " "));
    for (const WaitingProposal& one : node.waiting) {
      text += fmt::format("  {:x} {:x} {} {} {} ", one.candidate().high, one.candidate().low, one.predicted_us(),
                          one.round, one.mate);
      text.append(one.packed()) += '\n';
    }
    for (const int mate : *node.mates) text += fmt::format("  with {}\n", mate);
  }
  return text + fmt::format("{}", fmt::join(tree.touched(), " "));
}

class JournalTest : public ::testing::TestWithParam<std::string> {
 protected:
  SearchOutcome Go(int attempts, int every = 7) {
    Store store = Must(Store::Open(path_));
    return Go(store, attempts, every);
  }
  SearchOutcome Go(Store& store, int attempts, int every) {
    testing::ScriptedProposer proposer;
    std::vector<std::unique_ptr<ScriptedEvaluator>> evaluators;
    std::vector<Evaluator*> lanes;
    for (int i = 0; i < lanes_; ++i) {
      evaluators.push_back(std::make_unique<ScriptedEvaluator>(kSeed));
      evaluators.back()->joules_each = 2;
      lanes.push_back(evaluators.back().get());
    }
    SearchSettings settings{.run = {.seed = kSeed,
                                    .search = Must(ChooseStrategy(GetParam())).Identity(),
                                    .proposer = "scripted",
                                    .lanes = lanes_},
                            .budget = {.attempts = attempts, .seconds = 0, .headroom = -1}};
    settings.confirm_candidates = 0;
    settings.journal_every = every;
    SearchHooks hooks;
    hooks.look = [this](const Attempt& attempt) {
      ++looked_;
      Insight insight;
      insight.findings = {{.rule = "r", .evidence = std::to_string(attempt.time_us())}};
      return insight;
    };
    return Must(RunScriptedSearch(store, settings, proposer, lanes, hooks));
  }
  // Without a journal, and at once.
  std::string Whole(int attempts) {
    Store store = Must(Store::Open(":memory:"));
    return Everything(Go(store, attempts, 1'000'000).tree);
  }
  void Execute(const std::string& sql) {
    Connection connection = Must(Connection::Open(path_, IfAbsent::kFail));
    Must(connection.Execute(sql));
  }
  std::int64_t Count(const std::string& what) {
    Connection connection = Must(Connection::Open(path_, IfAbsent::kFail));
    return Must(connection.Integer("SELECT count(*) FROM " + what));
  }

  TempDirectory folder_ = Must(TempDirectory::Create("journal"));
  std::string path_ = folder_.path() + "/runs.db";
  int lanes_ = 1;
  int looked_ = 0;
};

TEST_P(JournalTest, ARunThatIsTakenUpIsAllThatItWouldHaveBeen) {
  for (const int lanes : {1, 3}) {
    lanes_ = lanes;
    path_ = fmt::format("{}/lanes{}.db", folder_.path(), lanes);
    for (const int attempts : {5, 7, 20, 21, 40}) {
      SCOPED_TRACE(fmt::format("{} attempts on {} lanes", attempts, lanes));
      const SearchOutcome outcome = Go(attempts);
      EXPECT_EQ(Everything(outcome.tree), Whole(attempts));
      EXPECT_FALSE(outcome.diverged);
      EXPECT_EQ(outcome.joules, 2 * outcome.tree.attempts());
    }
    EXPECT_GE(Count("journal"), 2);
    looked_ = 0;
    const SearchOutcome again = Go(40);
    EXPECT_EQ(again.replayed, again.tree.attempts());
    EXPECT_EQ(looked_, 0);
  }
}

using HarmedJournalTest = JournalTest;

TEST_P(HarmedJournalTest, WhatIsDamagedOrOfOthersIsDroppedAndDecidedAgain) {
  const std::vector<std::string> harm = {
      "UPDATE journal SET bytes = substr(bytes, 1, length(bytes) - 1) WHERE attempts > 15",
      "UPDATE journal SET bytes = zeroblob(length(bytes))",
      "UPDATE journal SET head = replace(head, '\"shape\"', '\"form\"')",
      "UPDATE journal SET head = replace(head, 'accepted', 'refused')",
      "UPDATE journal SET head = ''",
      "DELETE FROM journal",
  };
  const std::string whole = Whole(40);
  for (std::size_t i = 0; i < harm.size(); ++i) {
    SCOPED_TRACE(harm[i]);
    path_ = fmt::format("{}/harm{}.db", folder_.path(), i);
    static_cast<void>(Go(30));
    const std::int64_t pieces = Count("journal");
    ASSERT_GE(pieces, 2);
    Execute(harm[i]);
    const SearchOutcome outcome = Go(40);
    EXPECT_EQ(Everything(outcome.tree), whole);
    EXPECT_FALSE(outcome.diverged);
    // It has been written again on the way.
    EXPECT_GE(Count("journal"), pieces);
    EXPECT_EQ(Everything(Go(40).tree), whole);
  }
}

TEST_P(HarmedJournalTest, AttemptsThatTheJournalHasAreNotDecidedAgain) {
  static_cast<void>(Go(30));
  // What no decision would lead to is taken as it is where the journal has it.
  const std::int64_t reached = [&] {
    Connection connection = Must(Connection::Open(path_, IfAbsent::kFail));
    return Must(connection.Integer("SELECT max(attempts) FROM journal"));
  }();
  ASSERT_GT(reached, 7);
  Execute(fmt::format("UPDATE attempt SET origin = 'another' WHERE number < {}", reached));
  EXPECT_EQ(Everything(Go(40).tree), Whole(40));
}

std::string NameOf(const ::testing::TestParamInfo<std::string>& one) {
  std::string name = one.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Two, HarmedJournalTest, ::testing::Values("mcts", "random"), NameOf);
INSTANTIATE_TEST_SUITE_P(Strategies, JournalTest,
                         ::testing::Values("greedy", "epsilon", "mcts", "mcts:dead=0", "beam", "evolve:cross=3",
                                           "steer", "breadth:0.5", "random"),
                         NameOf);

TEST(JournalOnAStoreTest, DeletingARunDeletesItsJournal) {
  Store store = Must(Store::Open(":memory:"));
  ScriptedEvaluator evaluator(kSeed);
  const SearchOutcome outcome =
      Must(RunScriptedSearch(store, "greedy", kSeed, {.attempts = 20, .seconds = 0, .headroom = -1}, evaluator));
  ASSERT_FALSE(Must(store.Journal(outcome.run.id)).empty());
  Must(store.DeleteRun(outcome.run.id));
  EXPECT_TRUE(Must(store.Runs()).empty());
}

}  // namespace
}  // namespace hone
