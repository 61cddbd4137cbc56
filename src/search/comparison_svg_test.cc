#include "search/comparison_svg.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

Compared SomeComparison() {
  Compared compared;
  compared.arms = {{.curve = {0.5, 0.8, 0.9}}, {.curve = {0.62, 0.95, 1.0}}};
  compared.against.resize(1);
  Paired& quality = compared.against[0].quality;
  quality.mean = 0.1;
  quality.interval = {.low = 0.05, .high = 0.2};
  quality.chance = 0.03;
  quality.above = 7;
  quality.equal = 2;
  quality.below = 1;
  return compared;
}

bool Has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

TEST(ComparisonSvgTest, CurvesGoFromTheLowestTenthToOne) {
  const std::string svg = DrawSvg({{.words = "greedy"}, {.words = "mcts"}}, SomeComparison(), 10, 3);
  EXPECT_TRUE(Has(svg, "10 problems, 3 seeds"));
  // Quality from 0.5 to 1 is 300 to 44, attempts from 1 to 3 are 56 to 520.
  EXPECT_TRUE(Has(svg, "points=\"56.0,300.0 288.0,146.4 520.0,95.2\" stroke=\"#0b62a3\"")) << svg;
  EXPECT_TRUE(Has(svg, "520.0,44.0\" stroke=\"#c8501e\""));
  EXPECT_TRUE(Has(svg, ">50 %<"));
  EXPECT_FALSE(Has(svg, ">40 %<"));
}

TEST(ComparisonSvgTest, DifferencesHaveTheirIntervalsAboutTheFirstArm) {
  const std::string svg = DrawSvg({{.words = "greedy"}, {.words = "mcts"}}, SomeComparison(), 10, 3);
  // A logarithm of 0 lies midway between 262 and 650, one of 0.2 at the right end.
  EXPECT_TRUE(Has(svg, "<line x1=\"504.5\" y1=\"394.0\" x2=\"650.0\" y2=\"394.0\" stroke=\"#c8501e\"")) << svg;
  EXPECT_TRUE(Has(svg, "<circle cx=\"553.0\""));
  EXPECT_TRUE(Has(svg, "p 0.03, 7-2-1"));
}

TEST(ComparisonSvgTest, WhatWasTypedStaysTextAndOneArmHasNoDifferences) {
  Compared compared = SomeComparison();
  compared.arms.pop_back();
  compared.against.clear();
  const std::string svg = DrawSvg({{.words = "<script>greedy</script>"}}, compared, 1, 1);
  EXPECT_FALSE(Has(svg, "<script>"));
  EXPECT_TRUE(Has(svg, "&lt;script&gt;greedy"));
  EXPECT_FALSE(Has(svg, "quality over"));
}

}  // namespace
}  // namespace hone
