#include "command/gaming.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hone {
namespace {

Evaluation Accepted(double warm_us, double cold_us) {
  Evaluation evaluation;
  evaluation.verdict.outcome = Outcome::kAccepted;
  evaluation.timing = Timing{.warm = {.median_us = warm_us}, .cold = {.median_us = cold_us}};
  return evaluation;
}

Evaluation Refused(Outcome outcome, const std::string& reason) {
  Evaluation evaluation;
  evaluation.verdict.outcome = outcome;
  evaluation.verdict.reason = reason;
  return evaluation;
}

// What `caught` says under that name; empty: nothing.
std::string Sentence(const std::vector<Caught>& caught, std::string_view name) {
  for (const Caught& one : caught) {
    if (one.name == name) return one.sentence;
  }
  return "";
}

Bound BoundOf(double us) {
  Bound bound;
  bound.us = bound.sure_us = us;
  bound.least_us = us / 2;
  bound.limited_by = "memory";
  return bound;
}

TEST(GamingTest, AnOrdinaryWinIsNothingToName) {
  const Evaluation best = Accepted(20, 25);
  EXPECT_TRUE(CallByName({{1, &best}}, {1, &best}, BoundOf(10), nlohmann::json::array()).empty());
  EXPECT_TRUE(CallByName({{1, &best}}, {1, &best}, BoundOf(20.2), nlohmann::json::array()).empty())
      << "within what ceilings are known to";
  EXPECT_TRUE(CallByName({}, {}, Bound{}, nlohmann::json::array()).empty());
}

TEST(GamingTest, FasterThanTheBoundIsNamedWithBothTimes) {
  const Evaluation best = Accepted(6, 12);
  const std::string said =
      Sentence(CallByName({{3, &best}}, {3, &best}, BoundOf(10), nlohmann::json::array()), "faster-than-bound");
  EXPECT_NE(said.find("attempt 3 takes 6.00 us warm and 12.0 us cold, the bound is 10.0 us (memory)"),
            std::string::npos)
      << said;
  Bound spared = BoundOf(10);
  spared.sure_us = 5;
  EXPECT_TRUE(CallByName({{3, &best}}, {3, &best}, spared, nlohmann::json::array()).empty())
      << "data may spare the rest";
  spared.sure_us = 8;
  EXPECT_NE(Sentence(CallByName({{3, &best}}, {3, &best}, spared, nlohmann::json::array()), "faster-than-bound")
                .find("and 12.0 us cold, what no data spare takes 8.00 us (memory)"),
            std::string::npos);
}

TEST(GamingTest, WorkThatThePlanDoesNotDoIsNamed) {
  const Evaluation best = Accepted(20, 25);
  Bound bound = BoundOf(10);
  bound.flops = 1e6;
  bound.terms.saved_flops = 99e6;
  bound.terms.arithmetic.per_second = 1e12;  // all of it: 100 us
  const std::string said =
      Sentence(CallByName({{2, &best}}, {2, &best}, bound, nlohmann::json::array()), "work-left-out");
  EXPECT_NE(said.find("needs 100 MFLOP, 100.0 us at the ceiling; attempt 2 takes 20.0 us, so it does at most 20 %"),
            std::string::npos)
      << said;
  const Evaluation slow = Accepted(150, 160);
  EXPECT_TRUE(CallByName({{2, &slow}}, {2, &slow}, bound, nlohmann::json::array()).empty()) << "it may do it all";
  bound.terms.wholes8 = {1e6, {1e13, "whole numbers of 8 bits", ""}};  // all of it: 10 us
  EXPECT_TRUE(CallByName({{2, &best}}, {2, &best}, bound, nlohmann::json::array()).empty()) << "in faster units";
}

TEST(GamingTest, PrecisionBelowTheContractIsNamedWithItsBits) {
  Evaluation near = Refused(Outcome::kWrongResult, "wrong"), far = near;
  near.verdict.evidence->expected = 1;
  near.verdict.evidence->got = 1.001;
  near.verdict.evidence->budget = 1e-4;
  far.verdict.evidence->expected = 1;
  far.verdict.evidence->got = 2;
  far.verdict.evidence->budget = 1e-4;
  const auto caught = CallByName({{4, &near}, {5, &far}}, {}, Bound{}, nlohmann::json::array());
  const std::string said = Sentence(caught, "below-contract");
  EXPECT_NE(said.find("1 attempt was refused"), std::string::npos) << said;
  EXPECT_NE(said.find("of attempt 4, the nearest, 1.001 where 1 is expected is 10 times its budget, about 4 bits"),
            std::string::npos)
      << said;
  EXPECT_TRUE(CallByName({{5, &far}}, {}, Bound{}, nlohmann::json::array()).empty()) << "that is wrong, not imprecise";
}

TEST(GamingTest, SuspiciousAttemptsAndDegenerateProblemsAreNamed) {
  const Evaluation one = Refused(Outcome::kSuspicious, "faster than this machine can: 1.00 us from cold caches");
  const Evaluation two = Refused(Outcome::kSuspicious, "works on after its return");
  const nlohmann::json flags = {{{"kind", "zero"}, {"sentence", "output y is zero"}},
                                {{"kind", "collapsible"}, {"sentence", "algebra saves"}}};
  const auto caught = CallByName({{2, &one}, {7, &two}}, {}, Bound{}, flags);
  EXPECT_EQ(
      Sentence(caught, "suspicious"),
      "2 attempts were refused, the first of them attempt 2: faster than this machine can: 1.00 us from cold caches");
  EXPECT_EQ(Sentence(caught, "degenerate"), "output y is zero");
  ASSERT_EQ(caught.size(), 2u);
  EXPECT_EQ(CaughtText({caught[1]}, "  "), "  degenerate: output y is zero\n");
  EXPECT_EQ(ToDocument(caught)[0]["name"], "suspicious");
}

}  // namespace
}  // namespace hone
