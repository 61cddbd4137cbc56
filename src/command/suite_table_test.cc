#include "command/suite_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hone {
namespace {

using Json = nlohmann::json;

constexpr auto kSource = R"(program p
input x: f32[4, 8]
output y: f32[4, 8]
sums = softmax(x) over [1]
more = softmax(sums) over [1]
y = map(more * 2)
)";

Standing Solved(const std::string& name, const std::string& group, double eager, double naive,
                const std::vector<std::string>& flags = {}) {
  Json document = {{"best",
                    {{"kind", "program"},
                     {"accuracy", {{"official_allclose", eager >= 1}}},
                     {"kernels", KernelsOf(kSource)},
                     {"timing",
                      {{"warm", {{"median_us", 20.0}}},
                       {"against",
                        {{{"baseline", "eager"}, {"speedup", eager > 0 ? Json(eager) : Json(nullptr)}},
                         {{"baseline", "naive"}, {"speedup", naive}}}}}}}},
                   {"honest", {{"baseline", "eager"}, {"speedup", std::min(eager, naive)}}},
                   {"flags", Json::array()}};
  for (const std::string& flag : flags) document["flags"].push_back({{"kind", flag}});
  Standing standing;
  standing.problem = {.key = name, .name = name, .group = group, .path = name};
  standing.helpings = 1;
  Helping helping;
  helping.attempts = 8;
  helping.bound_us = 10;
  helping.best_us = 19;
  helping.won = eager > 1;
  helping.document = document.dump();
  standing.last = helping;
  return standing;
}

SuiteRow Row(const Standing& standing) { return RowOf(standing, "the 90 s are spent"); }

std::vector<SuiteRow> Rows() {
  Standing bad;
  bad.problem = {.key = "b", .name = "l1/bad", .group = "l1", .path = "bad"};
  bad.last = Helping{};
  bad.last->failure = "line 3, \"x\": no | such operator";
  Standing unseen;
  unseen.problem = {.key = "u", .name = "l2/unseen", .group = "l2", .path = "unseen"};
  return {Row(Solved("l1/a", "l1", 2, 8)),
          Row(Solved("l1/b", "l1", 0.5, 2)),
          Row(bad),
          Row(Solved("l2/c", "l2", 4, 4)),
          Row(unseen),
          Row(Solved("l2/flat", "l2", 100, 900, {"zero"}))};
}

TEST(SuiteTableTest, MeansAreGeometricAndFlaggedProblemsAreApart) {
  const auto groups = GroupsOf(Rows());
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0].name, "l1");
  EXPECT_EQ(groups[0].problems, 3);
  EXPECT_EQ(groups[0].solved, 2);
  EXPECT_DOUBLE_EQ(groups[0].over.at("eager").geomean, 1);
  EXPECT_EQ(groups[0].over.at("eager").slower, 1);
  EXPECT_DOUBLE_EQ(groups[0].over.at("naive").geomean, 4);
  EXPECT_DOUBLE_EQ(groups[1].over.at("eager").geomean, 4);
  EXPECT_EQ(groups[2].name, "all");
  EXPECT_NEAR(groups[2].over.at("eager").geomean, 1.5874, 1e-4);
  EXPECT_NEAR(groups[2].over.at(kFastestBaseline).geomean, 1.5874, 1e-4);
  EXPECT_EQ(groups[3].name, "flagged");
  EXPECT_DOUBLE_EQ(groups[3].over.at("eager").geomean, 100);
}

TEST(SuiteTableTest, ADisturbedRatioIsNotCounted) {
  const auto groups = GroupsOf({Row(Solved("a", "g", 0, 3)), Row(Solved("b", "g", 2, 3))});
  EXPECT_EQ(groups[0].over.at("eager").problems, 1);
  EXPECT_EQ(groups[0].over.at("naive").problems, 2);
}

TEST(SuiteTableTest, WhyARatioIsNotKnownStandsInItsRow) {
  Standing standing = Solved("a", "g", 2, 3);
  Json document = Json::parse(standing.last->document);
  document["best"]["timing"]["against"][0] = {
      {"baseline", "eager"}, {"speedup", nullptr}, {"disturbed", "its rounds took 96 us to 15 ms"}};
  standing.last->document = document.dump();
  const SuiteRow row = Row(standing);
  EXPECT_EQ(row.no_ratio, "no ratio to eager: its rounds took 96 us to 15 ms");
  EXPECT_NE(SuiteMarkdown({row}).find("| 8 | no ratio to eager: its rounds took 96 us to 15 ms |"), std::string::npos);
  EXPECT_NE(SuiteCsv({row}).find(",no ratio to eager: its rounds took 96 us to 15 ms,"), std::string::npos);
  document["best"]["timing"]["against"].erase(0);
  document["best"]["notes"] = {"few draws", "baseline 'compile': it stopped: RuntimeError: two devices"};
  standing.last->document = document.dump();
  EXPECT_EQ(Row(standing).no_ratio, "baseline 'compile': it stopped: RuntimeError: two devices");
  document["best"].erase("notes");
  document["confirmed"] = false;
  standing.last->document = document.dump();
  EXPECT_EQ(Row(standing).no_ratio, "not confirmed on fresh inputs");
}

TEST(SuiteTableTest, WhatAnInterruptEndedIsARowWithItsAttempts) {
  Standing standing = Solved("a", "g", 2, 3);
  Standing first;
  first.problem = standing.problem;
  first.cut = standing.last;
  first.cut->attempts = 2;
  first.cut->seconds = 7;
  first.cut->failure = "interrupted";
  const SuiteRow row = RowOf(first, "interrupted");
  EXPECT_EQ(row.failure, "interrupted");
  EXPECT_EQ(row.attempts, 2);
  EXPECT_EQ(row.seconds, 7);
  EXPECT_GT(row.best_us, 0);
  Standing unseen;
  unseen.problem = standing.problem;
  EXPECT_EQ(RowOf(unseen, "interrupted").failure, "not looked at: interrupted");
  // What was solved before stays solved.
  standing.cut = first.cut;
  EXPECT_TRUE(RowOf(standing, "interrupted").solved());
  EXPECT_EQ(RowOf(standing, "interrupted").attempts, 2);
}

TEST(SuiteTableTest, AFailureIsARowWithItsReason) {
  const std::vector<SuiteRow> rows = Rows();
  EXPECT_FALSE(rows[2].solved());
  EXPECT_EQ(rows[4].failure, "not looked at: the 90 s are spent");
  const std::string text = SuiteMarkdown(rows), csv = SuiteCsv(rows);
  EXPECT_NE(text.find("| l1/bad | - | - | - | - | - | - |  | 0 | not solved: line 3, \"x\": no / such operator |"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| l1/a | 20.0 us | 50 % | 2.00 | 8.00 | 2.00 | yes | map, softmax x 2 | 8 |  |"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| l1: slower on | 1 of 2 | 0 of 2 | 1 of 2 | |"), std::string::npos) << text;
  EXPECT_NE(csv.find(R"("line 3, ""x"": no | such operator")"), std::string::npos) << csv;
  EXPECT_NE(csv.find("name,group,solved,faster,best_us,bound_us,attempts,helpings,seconds,over eager,over naive,"),
            std::string::npos)
      << csv;
  const Json document = SuiteDocument(rows);
  EXPECT_EQ(document["rows"].size(), 6u);
  EXPECT_EQ(document["rows"][2]["best_us"], nullptr);
  EXPECT_EQ(document["rows"][0]["allclose"], true);
  EXPECT_EQ(document["rows"][1]["allclose"], false);
  EXPECT_EQ(document["rows"][2]["allclose"], nullptr) << "it has no result";
  EXPECT_EQ(document["rows"][0]["kernels"], (Json{{"map", 1}, {"softmax", 2}}));
  EXPECT_NE(csv.find(",yes,\"map, softmax x 2\",,"), std::string::npos) << csv;
}

TEST(SuiteTableTest, WhatIsLessAccurateIsNotAmongTheFastestAsAccurate) {
  SuiteRow row = Row(Solved("a", "g", 3, 4));
  row.baselines.emplace_back("eager_tf32");
  row.speedups["eager_tf32"] = row.honest = 0.5;
  const auto groups = GroupsOf({row});
  EXPECT_DOUBLE_EQ(groups[0].over.at(kFastestAsAccurate).geomean, 3);
  EXPECT_DOUBLE_EQ(groups[0].over.at(kFastestBaseline).geomean, 0.5);
  EXPECT_FALSE(GroupsOf(Rows())[0].over.contains(kFastestAsAccurate)) << "it would be the fastest again";
}

TEST(SuiteTableTest, ALoopNestIsSaidToBeOne) {
  Standing standing = Solved("a", "g", 3, 4);
  Json document = Json::parse(standing.last->document);
  document["best"].erase("kernels");
  document["loop_nest"] = true;
  standing.last->document = document.dump();
  EXPECT_EQ(Row(standing).kernels, (std::map<std::string, int>{{"loop nests", 1}}));
}

TEST(SuiteTableTest, NothingAcceptedIsSaid) {
  Standing standing;
  standing.problem.name = "a";
  standing.last = Helping{};
  standing.last->document = R"({"flags": [], "attempts": 3})";
  EXPECT_EQ(Row(standing).failure, "no attempt was accepted");
}

}  // namespace
}  // namespace hone
