#include "expr/ranked_fold.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

const IndexVar kRow{1, 4}, kPlace{2, 100}, kTerm{3, 100};
Expr At(const IndexVar& place, ScalarType type) { return Load(0, {Expr(kRow), Expr(place)}, type); }
Expr First(ScalarType type, bool descending) {
  return ComesFirst(Expr(kTerm), At(kTerm, type), Expr(kPlace), At(kPlace, type), descending);
}
std::optional<RankedFold> Ranked(const Expr& first) {
  return RankedFoldOf(*Reduce(ReduceOp::kSum, {kTerm}, Cast(first, ScalarType::kInt)));
}

TEST(RankedFoldTest, HowManyComeFirstIsAPlace) {
  for (const ScalarType type : {ScalarType::kReal, ScalarType::kInt}) {
    for (const bool descending : {false, true}) {
      const auto ranked = Ranked(First(type, descending));
      ASSERT_TRUE(ranked);
      EXPECT_EQ(ranked->along.id, kPlace.id);
      EXPECT_EQ(ranked->descending, descending);
      EXPECT_TRUE(SameExpr(ranked->element, At(kPlace, type)));
    }
  }
}

TEST(RankedFoldTest, OthersAreNot) {
  const Expr own = At(kPlace, ScalarType::kInt), other = At(kTerm, ScalarType::kInt);
  const Expr k(kTerm), j(kPlace);
  EXPECT_FALSE(Ranked(Less(other, own)));                                        // equals share one
  EXPECT_FALSE(Ranked(Select(Less(k, j), Less(other, own), Less(other, own))));  // likewise
  EXPECT_FALSE(Ranked(ComesFirst(k, other, j, own + 1, false)));                 // of two rows
  EXPECT_FALSE(Ranked(ComesFirst(j, own, k, other, false)));                     // who comes behind
  EXPECT_FALSE(Ranked(Select(Less(k, j), Apply(UnaryOp::kNot, Less(own, other)), Less(own, other))));
  // A NaN that is equal to all numbers makes no order.
  const Expr x = At(kPlace, ScalarType::kReal), y = At(kTerm, ScalarType::kReal);
  EXPECT_FALSE(Ranked(Select(Less(k, j), Apply(UnaryOp::kNot, Less(x, y)), Less(y, x))));
}

}  // namespace
}  // namespace hone
