#include "expr/keyed_fold.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

const IndexVar kRow{1, 10}, kColumn{2, 4}, kTerm{3, 100};
const Expr kKey = Load(0, {Expr(kTerm)}, ScalarType::kInt);
const Expr kSource = Load(1, {Expr(kTerm), Expr(kColumn)}, ScalarType::kReal);

std::optional<KeyedFold> Keyed(const Expr& body, ReduceOp op = ReduceOp::kSum) {
  return KeyedFoldOf(*Reduce(op, {kTerm}, body));
}

TEST(KeyedFoldTest, WhatIsAddedToTheRowThatItNamesIsKeyedByIt) {
  for (const Expr& hit : {Equal(kKey, Expr(kRow)), Equal(Expr(kRow), kKey)}) {
    const auto keyed = Keyed(Select(hit, kSource, 0.0));
    ASSERT_TRUE(keyed);
    EXPECT_EQ(keyed->index.id, kRow.id);
    EXPECT_TRUE(SameExpr(keyed->key, kKey));
    EXPECT_TRUE(SameExpr(keyed->term, kSource));
    EXPECT_TRUE(keyed->others.empty());
    EXPECT_EQ(NumberOf(*keyed->neutral), 0);
  }
}

TEST(KeyedFoldTest, AKeyMayReadOtherIndicesOfTheResult) {
  const Expr key = Load(0, {Expr(kTerm), Expr(kColumn)}, ScalarType::kInt);
  const auto keyed = Keyed(Select(Equal(key, Expr(kRow)), kSource, 0.0));
  ASSERT_TRUE(keyed);
  ASSERT_EQ(keyed->others.size(), 1u);
  EXPECT_EQ(keyed->others[0].id, kColumn.id);
}

TEST(KeyedFoldTest, CountsAndWhetherThereIsAnyAreFoldsOfOnes) {
  const Expr hit = Equal(kKey, Expr(kRow));
  const auto count = Keyed(Cast(hit, ScalarType::kInt)), any = Keyed(hit, ReduceOp::kAny);
  ASSERT_TRUE(count && any);
  EXPECT_EQ(NumberOf(*count->term), 1);
  EXPECT_EQ(NumberOf(*any->term), 1);
  EXPECT_EQ(any->term->type, ScalarType::kBool);
}

TEST(KeyedFoldTest, OthersAreNot) {
  const Expr hit = Equal(kKey, Expr(kRow));
  EXPECT_FALSE(Keyed(kSource));
  EXPECT_FALSE(Keyed(Select(hit, kSource, kSource)));                               // what is not taken counts
  EXPECT_FALSE(Keyed(Select(Less(kKey, Expr(kRow)), kSource, 0.0)));                // of several rows
  EXPECT_FALSE(Keyed(Select(Equal(Expr(kTerm), Expr(kRow)), kSource, 0.0)));        // known without data
  EXPECT_FALSE(Keyed(Select(Equal(kKey, Expr(kRow) + 1), kSource, 0.0)));           // not an index
  EXPECT_FALSE(Keyed(Select(Equal(kKey + Expr(kRow), Expr(kRow)), kSource, 0.0)));  // of its own row
  EXPECT_FALSE(Keyed(Select(Equal(Load(0, {Expr(kColumn)}, ScalarType::kInt), Expr(kRow)), kSource, 0.0)));
  EXPECT_FALSE(Keyed(Select(hit, kSource, 0.0), ReduceOp::kArgMax));
}

}  // namespace
}  // namespace hone
