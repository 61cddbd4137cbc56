// A tree that a test grows by hand, and a strategy that looks at it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "search/search.h"

namespace hone::testing {

inline Proposal Predicted(const std::string& text, double predicted_us) {
  return {.candidate = {.kind = CandidateKind::kProgram, .text = text}, .key = text, .predicted_us = predicted_us};
}

// So many, of which none promises anything: "name0", "name1" ...
inline std::vector<Proposal> Several(const std::string& name, int count) {
  std::vector<Proposal> proposals;
  for (int i = 0; i < count; ++i) proposals.push_back(Predicted(name + std::to_string(i), 0));
  return proposals;
}

class StrategyTest : public ::testing::Test {
 protected:
  explicit StrategyTest(std::string_view words) {
    const auto chosen = ChooseStrategy(words);
    EXPECT_TRUE(chosen) << words;
    strategy_ = chosen->row->make(chosen->parameters);
  }

  void Propose(int number, const std::vector<Proposal>& proposals) { tree_.AddProposals(number, ++rounds_, proposals); }
  // The first proposal that waits at `parent` is in flight.
  Attempt Begin(int parent) {
    EXPECT_FALSE(tree_.node(parent).waiting.empty());
    Attempt attempt{.number = tree_.attempts() + 1, .parent = parent};
    attempt.proposal = tree_.node(parent).Offered(tree_.node(parent).waiting.front());
    tree_.Begin(attempt);
    return attempt;
  }
  // 0 us = refused.
  void End(Attempt attempt, double time_us) {
    attempt.evaluation.verdict.outcome = time_us > 0 ? Outcome::kAccepted : Outcome::kWrongResult;
    if (time_us > 0) attempt.evaluation.timing = Timing{.warm = {.median_us = time_us}};
    tree_.AddAttempt(std::move(attempt));
  }
  void Try(int parent, double time_us) { End(Begin(parent), time_us); }
  std::optional<int> Selected() { return strategy_->SelectNode(tree_, random_); }

  Tree tree_;
  Random random_{1};
  std::unique_ptr<Strategy> strategy_;
  int rounds_ = 0;
};

}  // namespace hone::testing
