#include "search/objective.h"

#include <gtest/gtest.h>

#include <limits>

namespace hone {
namespace {

Evaluation Timed(double us, std::optional<double> joules = {}) {
  Evaluation evaluation;
  evaluation.verdict.outcome = Outcome::kAccepted;
  evaluation.timing = Timing{.warm = {.median_us = us}};
  if (joules) evaluation.timing->energy = Energy{.joules = *joules};
  return evaluation;
}

struct Entry {
  int number = 0;
  Objective::Values values;
};

std::vector<int> Ranked(std::string_view words, const std::vector<Evaluation>& evaluations) {
  const auto objective = Objective::Parse(words);
  EXPECT_TRUE(objective) << words;
  std::vector<Entry> entries;
  for (const Evaluation& one : evaluations) {
    if (auto values = objective->Of(one); !values.empty())
      entries.push_back({static_cast<int>(entries.size()) + 1, std::move(values)});
  }
  objective->Rank(entries);
  std::vector<int> numbers;
  for (const Entry& entry : entries) numbers.push_back(entry.number);
  return numbers;
}

TEST(ObjectiveTest, TheFirstMeasureDecidesAndTheEarlierOfTwoEqualOnesIsFirst) {
  const std::vector<Evaluation> three = {Timed(30, 1), Timed(20, 3), Timed(20, 2)};
  EXPECT_EQ(Ranked("time", three), (std::vector{2, 3, 1}));
  EXPECT_EQ(Ranked("energy", three), (std::vector{1, 3, 2}));
  EXPECT_EQ(Ranked("edp", three), (std::vector{1, 3, 2}));
}

TEST(ObjectiveTest, WithinTheToleranceOfTheBestTheNextMeasureDecides) {
  // 102 us is within 2 % of the best, 103.5 us is within 2 % of that and not of the best.
  const std::vector<Evaluation> four = {Timed(103.5, 1), Timed(102, 2), Timed(100, 5), Timed(101, 3)};
  EXPECT_EQ(Ranked("time:0.02,energy", four), (std::vector{2, 4, 3, 1}));
  EXPECT_EQ(Ranked("time:0,energy", four), (std::vector{3, 4, 2, 1}));
}

TEST(ObjectiveTest, WhatWasNotMeasuredIsNotRanked) {
  Evaluation refused;
  refused.verdict.outcome = Outcome::kCrash;
  EXPECT_EQ(Ranked("time", {refused, Timed(20)}).size(), 1u);
  EXPECT_TRUE(Ranked("energy", {Timed(20), Timed(10)}).empty()) << "no energy is made up";
  EXPECT_FALSE(Objective().NeedsEnergy());
  EXPECT_TRUE(Objective::Parse("time:0.1,energy")->NeedsEnergy());
}

TEST(ObjectiveTest, IsReadAsItIsWritten) {
  for (const char* words : {"time", "energy", "edp", "time:0.02,energy", "energy:0.05,time"}) {
    EXPECT_EQ(Objective::Parse(words)->Text(), words);
  }
  EXPECT_EQ(Objective().Text(), "time");
}

TEST(ObjectiveTest, AUserSaysAMeasureAndHowMuchSlowerItsWinnerMayBe) {
  EXPECT_EQ(Objective::Choose("energy", 0.02)->Text(), "time:0.02,energy");
  EXPECT_EQ(Objective::Choose("edp", 0)->Text(), "time:0,edp");
  EXPECT_EQ(Objective::Choose("time", 0.02)->Text(), "time") << "nobody is slower than the fastest";
  EXPECT_EQ(Objective::Choose("energy", 0.25)->Slower(), 0.25);
  EXPECT_EQ(Objective::Parse("energy")->Slower(), std::numeric_limits<double>::infinity());
  EXPECT_FALSE(Objective::Choose("heat", 0.02));
}

TEST(ObjectiveTest, BadWordsGiveOneLine) {
  const auto message = [](std::string_view words) { return Objective::Parse(words).error().message; };
  EXPECT_EQ(message("enrgy"), "there is no objective 'enrgy'; did you mean 'energy'?; known are time, energy, edp");
  EXPECT_EQ(message("time,time"),
            "objective time: it has a tolerance when another one follows, and only then, as in time:0.02,energy");
  EXPECT_EQ(message("time:0.1,time"), "the objective names time twice");
  EXPECT_EQ(message("time:2,energy"), "objective time: the tolerance is a fraction from 0 to 1, not '2'");
  EXPECT_EQ(message(""), "there is no objective ''; known are time, energy, edp");
}

}  // namespace
}  // namespace hone
