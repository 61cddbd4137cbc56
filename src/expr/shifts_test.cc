#include "expr/shifts.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

Expr Factor(const Expr& n, std::int64_t bit) {
  return Select(Less(0, Apply(BinaryOp::kAnd, n, bit)), std::int64_t{1} << bit, 1);
}

TEST(ShiftsTest, PowersThatBitsChooseAreSeen) {
  const Expr n = NewIndex(64), other = NewIndex(64);
  const auto all = PowerOf(Factor(n, 1) * Factor(n, 2) * Factor(n, 4) * Factor(n, 8) * Factor(n, 16) * Factor(n, 32));
  ASSERT_TRUE(all);
  EXPECT_TRUE(SameExpr(all->of, n));
  EXPECT_EQ(all->mask, 63);
  const auto some = PowerOf(Factor(n * 4, 16) * (Factor(n * 4, 4) * Factor(n * 4, 8)));
  ASSERT_TRUE(some);
  EXPECT_TRUE(SameExpr(some->of, n * 4));
  EXPECT_EQ(some->mask, 28);
  EXPECT_FALSE(PowerOf(Factor(n, 1) * Factor(other, 2))) << "two numbers";
  EXPECT_FALSE(PowerOf(Factor(n, 1) * Factor(n, 1))) << "twice the same bit";
  EXPECT_FALSE(PowerOf(Select(Less(0, Apply(BinaryOp::kAnd, n, 2)), 8, 1))) << "of another bit";
  EXPECT_FALSE(PowerOf(Select(Less(0, Apply(BinaryOp::kAnd, n, 2)), 4, 2)));
  EXPECT_FALSE(PowerOf(n));
}

TEST(ShiftsTest, ConstantsAreSeen) {
  const auto sixteen = PowerOf(Expr(16));
  ASSERT_TRUE(sixteen);
  EXPECT_FALSE(sixteen->of);
  EXPECT_EQ(sixteen->mask, 4);
  EXPECT_EQ(PowerOf(Expr(1))->mask, 0);
  for (const int none : {0, -4, 12}) EXPECT_FALSE(PowerOf(Expr(none))) << none;
  EXPECT_FALSE(PowerOf(Expr(16.0)));
}

}  // namespace
}  // namespace hone
