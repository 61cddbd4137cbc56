#include "propose/expert/normalise.h"

#include <gtest/gtest.h>

namespace hone::expert {
namespace {

constexpr IndexVar kRowOf = {9101, 24}, kColumnOf = {9102, 3}, kOneOf = {9103, 1};

// How many rows a loss is divided by is a number where all of them count.
TEST(NormaliseTest, TheSameNumberSoManyTimesIsANumber) {
  const auto folded = [](ReduceOp op, const Expr& body) {
    return Simplify(Reduce(op, {kRowOf, kColumnOf, kOneOf}, body));
  };
  EXPECT_TRUE(SameExpr(folded(ReduceOp::kSum, std::int64_t{1}), std::int64_t{72}));
  EXPECT_TRUE(SameExpr(folded(ReduceOp::kSum, 0.5), 36.0));
  EXPECT_TRUE(SameExpr(folded(ReduceOp::kMax, 0.5), 0.5));
  EXPECT_TRUE(SameExpr(folded(ReduceOp::kAny, Expr::Bool(false)), Expr::Bool(false)));
  EXPECT_EQ(folded(ReduceOp::kProd, 0.5)->kind, Expr::Kind::kReduce);
  EXPECT_EQ(folded(ReduceOp::kSum, Expr(kRowOf))->kind, Expr::Kind::kReduce);
  EXPECT_TRUE(SameExpr(Simplify(Reduce(ReduceOp::kSum, {kRowOf}, Expr::Bool(true))), std::int64_t{24}));
}

}  // namespace
}  // namespace hone::expert
