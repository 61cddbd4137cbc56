#include "expr/ranged_fold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace hone {
namespace {

const IndexVar kSegment{1, 10}, kPlace{2, 100}, kOther{3, 4};
const Expr kBegin = Load(0, {Expr(kSegment)}, ScalarType::kInt), kEnd = Load(1, {Expr(kSegment)}, ScalarType::kInt);
const Expr kTermAt = Load(2, {Expr(kPlace), Expr(kOther)}, ScalarType::kReal);

std::string TextOfEdges(const RangedFold& fold) {
  const auto name = [](int buffer) { return std::string(1, static_cast<char>('a' + buffer)); };
  return ToString(fold.begin, name) + " to " + ToString(fold.end, name);
}

TEST(RangedFoldTest, TermsOfASegmentAreThoseFromItsBeginToItsEnd) {
  const Expr inside = And(LessEqual(kBegin, Expr(kPlace)), Less(Expr(kPlace), kEnd));
  const auto ranged = RangedFoldOf(*Reduce(ReduceOp::kSum, {kOther, kPlace}, Select(inside, kTermAt, 0.0)));
  ASSERT_TRUE(ranged);
  EXPECT_EQ(ranged->index.id, kPlace.id);
  EXPECT_EQ(TextOfEdges(*ranged), "min(max(0, a[i1]), 100) to min(100, b[i1])");
  EXPECT_TRUE(SameExpr(ranged->body, kTermAt));
}

TEST(RangedFoldTest, SegmentsShareTermsThatAreNobodysOwn) {
  const auto segments = [](const Expr& term) {
    return Segments(*RangedFoldOf(*Reduce(ReduceOp::kSum, {kPlace}, Select(Less(Expr(kPlace), kEnd), term, 0.0))));
  };
  EXPECT_EQ(segments(kTermAt), 10);
  EXPECT_EQ(segments(Load(2, {Expr(kSegment), Expr(kPlace)}, ScalarType::kReal)), 1);
}

TEST(RangedFoldTest, WhatElseIsAskedStaysAConditionOfTheTerm) {
  const Expr inside = And(Less(kBegin, Expr(kPlace)), Less(kTermAt, Expr(3.0)));
  const auto ranged = RangedFoldOf(*Reduce(ReduceOp::kMax, {kPlace}, Select(inside, kTermAt, -INFINITY)));
  ASSERT_TRUE(ranged);
  EXPECT_EQ(TextOfEdges(*ranged), "min(max(0, (a[i1] + 1)), 100) to 100");
  EXPECT_TRUE(SameExpr(ranged->body, Select(Less(kTermAt, Expr(3.0)), kTermAt, -INFINITY)));
}

TEST(RangedFoldTest, ARangeIsOfDataAndOfNothingThatIsFolded) {
  const auto ranged = [](const Expr& inside, double otherwise = 0) {
    return RangedFoldOf(*Reduce(ReduceOp::kSum, {kPlace, kOther}, Select(inside, kTermAt, otherwise))).has_value();
  };
  EXPECT_TRUE(ranged(Less(Expr(kPlace), kEnd)));
  EXPECT_FALSE(ranged(Less(Expr(kPlace), kEnd), 1));  // what is left out counts
  EXPECT_FALSE(ranged(Less(Expr(kPlace), Expr(kSegment))));
  EXPECT_FALSE(ranged(Less(Expr(kPlace), Load(1, {Expr(kOther)}, ScalarType::kInt))));
  EXPECT_FALSE(ranged(Less(Expr(kPlace) * Expr(2), kEnd)));
}

}  // namespace
}  // namespace hone
