#include "search/recorded_crossing.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

using Names = std::vector<std::string>;

class RecordedCrossingTest : public ::testing::Test {
 protected:
  // One start "s" and another; two moves of each statement, the last of both made of one after the other.
  RecordedCrossingTest() {
    Offer("", {{"s", "cut 0"}, {"t", "cut 1"}});
    Offer("s", {{"a", "y.tile=8x8"}, {"b", "z.threads=2"}, {"c", "y.vector=16"}});
    Offer("a", {{"ab", "z.threads=2"}, {"ac", "y.vector=16"}});
    Offer("ac", {{"acb", "z.threads=2 z.vector=8"}});
    Offer("t", {{"ta", "y.tile=8x8"}});
  }
  void Offer(const std::string& from, const std::vector<std::pair<std::string, std::string>>& offers) {
    TableRound& round = table_.rounds.emplace_back();
    round.from = from;
    for (const auto& [candidate, key] : offers) round.offers.push_back({.candidate = candidate, .key = key});
  }
  Names Of(std::string_view one, std::string_view other) { return RecordedCrossing(table_).Of(one, other); }

  SpaceTable table_;
};

TEST_F(RecordedCrossingTest, WhatHasOneStatementOfEachIsFound) {
  EXPECT_EQ(Of("a", "b"), (Names{"ab", "s"}));
  EXPECT_EQ(Of("ac", "b"), Names{"s"}) << "with both of y's settings and z's it was not measured";
  EXPECT_EQ(Of("acb", "s"), Names{"ac"}) << "y's are taken or left together";
}

TEST_F(RecordedCrossingTest, OfASingleStatementEachSettingIs) { EXPECT_EQ(Of("a", "c"), (Names{"ac", "s"})); }

TEST_F(RecordedCrossingTest, OneChangeAndOtherStartsAreNotCrossed) {
  EXPECT_EQ(Of("s", "a"), Names{});
  EXPECT_EQ(Of("a", "a"), Names{});
  EXPECT_EQ(Of("ta", "b"), Names{});
  EXPECT_EQ(Of("a", "unknown"), Names{});
}

}  // namespace
}  // namespace hone
