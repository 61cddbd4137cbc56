#include "search/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hone {
namespace {

// One second an attempt.
Trace Best(const std::vector<double>& best_us) {
  Trace trace;
  for (const double us : best_us)
    trace.points.push_back({.seconds = static_cast<double>(trace.points.size() + 1), .best_us = us});
  return trace;
}

TEST(CompareTest, FiguresAreGeometricMeansOverProblems) {
  std::vector<ProblemTraces> problems = {
      {.problem = "a", .best_us = 10, .traces = {{Best({40, 20, 10, 10}), Best({40, 10, 10, 10})}, {Best({20})}}},
      {.problem = "b", .best_us = 5, .traces = {{Best({0, 10, 10, 10}), Best({20, 20, 20, 5.1})}, {Best({5, 5})}}}};
  problems[0].traces[0][1].tokens = 4500;
  const Compared compared = CompareArms(problems, 4);
  ASSERT_EQ(compared.arms.size(), 2u);
  const ArmFigures &one = compared.arms[0], &two = compared.arms[1];
  const double b = std::sqrt(0.5 * 5 / 5.1);
  EXPECT_NEAR(one.by_problem[0], 1, 1e-12);
  EXPECT_NEAR(one.by_problem[1], b, 1e-12);
  EXPECT_NEAR(one.quality, std::sqrt(b), 1e-12);
  EXPECT_NEAR(one.curve[0], std::pow(0.25 * 0.25 * kNothing * 0.25, 0.25), 1e-12);
  EXPECT_NEAR(one.curve[3], one.quality, 1e-12);
  EXPECT_DOUBLE_EQ(one.reached, 0.75);
  EXPECT_DOUBLE_EQ(one.to_95_attempts, 3);  // of 3, 2, never and 4
  EXPECT_DOUBLE_EQ(one.to_95_seconds, 3);
  EXPECT_DOUBLE_EQ(one.attempts, 4);
  EXPECT_NEAR(two.quality, std::sqrt(0.5), 1e-12) << "a search that ended keeps what it has";
  EXPECT_NEAR(two.anytime, std::sqrt(0.5), 1e-12);
  EXPECT_DOUBLE_EQ(two.attempts, 1.5);
  EXPECT_DOUBLE_EQ(one.tokens, 1125) << "one of four searches took 4500";
  ASSERT_EQ(compared.against.size(), 1u);
  const Paired& quality = compared.against[0].quality;
  EXPECT_EQ(quality.above, 1);
  EXPECT_EQ(quality.below, 1);
  EXPECT_NEAR(quality.mean, (std::log(0.5) - std::log(b)) / 2, 1e-12);
  EXPECT_EQ(compared.against[0].anytime.above, 1);
  EXPECT_GT(compared.against[0].anytime.mean, 0) << "less early on the one, far more on the other";
}

TEST(CompareTest, WhereMostNeverCameThereIsNoMedian) {
  const Compared compared =
      CompareArms({{.problem = "a", .best_us = 1, .traces = {{Best({9}), Best({1}), Trace()}}}}, 1);
  EXPECT_EQ(compared.arms[0].to_95_attempts, 0);
  EXPECT_NEAR(compared.arms[0].reached, 1.0 / 3, 1e-12);
  EXPECT_NEAR(compared.arms[0].curve[0], std::pow(kNothing / 9, 1.0 / 3), 1e-12) << "an empty search has nothing";
}

TEST(CompareTest, AnArmIsAStrategyAndWhatIsDifferentForIt) {
  const Budget budget{.attempts = 40, .seconds = 0, .headroom = -1};
  const auto arm = ParseArm("epsilon:0.2 --budget 20 --time 60 --headroom 0.1 --idle 8", budget);
  ASSERT_TRUE(arm) << arm.error().message;
  EXPECT_EQ(arm->search, "epsilon:epsilon=0.2,throttle=5,dead=3");
  EXPECT_EQ(arm->budget.attempts, 20);
  EXPECT_EQ(arm->budget.seconds, 60);
  EXPECT_EQ(arm->budget.headroom, 0.1);
  EXPECT_EQ(arm->budget.idle, 8);
  EXPECT_EQ(ParseArm("greedy", budget)->budget.attempts, 40);
  const auto advised = ParseArm("greedy --tools raw --budget 12 --memory on", budget);
  ASSERT_TRUE(advised) << advised.error().message;
  EXPECT_EQ(advised->tools.kind, Advisers::Kind::kRaw);
  EXPECT_EQ(advised->budget.attempts, 12);
  EXPECT_EQ(advised->memory, "on");
  EXPECT_EQ(ParseArm("greedy --memory known.jsonl", budget)->memory, "known.jsonl");
  EXPECT_EQ(ParseArm("greedy --memory off", budget)->memory, "");
  EXPECT_EQ(ParseArm("greedy", budget)->memory, "");
  const auto proposed = ParseArm("greedy --proposer expert,model:coder,tokens=9000 --idle 3", budget);
  ASSERT_TRUE(proposed) << proposed.error().message;
  EXPECT_EQ(proposed->proposer, "expert,model:coder,tokens=9000");
  EXPECT_EQ(proposed->budget.idle, 3);
  EXPECT_EQ(advised->proposer, "expert");
  EXPECT_EQ(ParseArm("greedy", budget)->tools.kind, Advisers::Kind::kUnnamed);
  const auto message = [&](const std::string& words) { return ParseArm(words, budget).error().message; };
  EXPECT_EQ(message(""), "arm '': it begins with a search strategy, as in 'mcts:memory=0 --budget 20'");
  EXPECT_TRUE(message("gredy").starts_with("arm 'gredy': there is no search strategy 'gredy'")) << message("gredy");
  EXPECT_EQ(message("greedy --budget 41"), "arm 'greedy --budget 41': --budget is 1 to 40, the budget of all");
  EXPECT_EQ(message("greedy --budget"), "arm 'greedy --budget': --budget needs a value");
  EXPECT_EQ(message("greedy --time soon"), "arm 'greedy --time soon': 'soon' is no number");
  EXPECT_TRUE(message("greedy --tools nobody").starts_with("arm 'greedy --tools nobody': --tools"))
      << message("greedy --tools nobody");
  EXPECT_EQ(message("greedy --seed 3"),
            "arm 'greedy --seed 3': '--seed' is none of --budget, --time, --joules, --headroom, --idle, --memory "
            "on|off|FILE, --tools WHO, --proposer NAME");
  EXPECT_EQ(message("greedy --memory"), "arm 'greedy --memory': --memory needs a value");
  EXPECT_EQ(message("greedy --proposer"), "arm 'greedy --proposer': --proposer needs a value");
  EXPECT_TRUE(message("greedy --proposer expat").starts_with("arm 'greedy --proposer expat': there is no proposer"))
      << message("greedy --proposer expat");
  EXPECT_EQ(message("greedy --joules 9"), "arm 'greedy --joules 9': nobody counts the energy of arms");
}

}  // namespace
}  // namespace hone
