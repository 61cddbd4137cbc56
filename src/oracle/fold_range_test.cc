#include "oracle/fold_range.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

const IndexVar kRow{1, 10}, kTerm{2, 20};
const auto kAll = [](const Expr&) { return true; };

Expr At(int buffer, const Expr& index) { return Load(buffer, {index}, ScalarType::kReal); }
Expr Product() { return At(0, kTerm) * At(1, Expr(kTerm) + Expr(kRow)); }
Expr SumOf(const Expr& term) { return Reduce(ReduceOp::kSum, {kTerm}, term); }
std::string Text(const Expr& e) {
  return e ? ToString(e, [](int buffer) { return "b" + std::to_string(buffer); }) : "nothing";
}
std::string RangeText(const Expr& term) {
  const auto range = RangeOf(*SumOf(term), kAll);
  return range ? Text(range->begin) + " to " + Text(range->end) : "none";
}

TEST(FoldRangeTest, ABandIsBetweenWhatItIsComparedWith) {
  const Expr low = Expr(kRow) * 2, high = Load(3, {kRow}, ScalarType::kInt);
  const Expr term = At(0, kTerm);
  EXPECT_EQ(RangeText(Select(And(LessEqual(low, kTerm), Less(kTerm, high)), term, 0.0)),
            Text(low) + " to " + Text(high));
  EXPECT_EQ(RangeText(Select(Less(low, kTerm), term, 0.0)), Text(low + 1) + " to nothing");
  EXPECT_EQ(RangeText(Select(LessEqual(kTerm, high), term, 0.0)), "nothing to " + Text(high + 1));
  EXPECT_EQ(RangeText(Select(And(Less(kTerm, low), Less(kTerm, high)), term, 0.0)),
            "nothing to " + Text(Min(low, high)));
}

TEST(FoldRangeTest, OtherTermsCountAsLongAsTheyMayBeAnything) {
  const Expr inside = Less(kTerm, kRow);
  EXPECT_EQ(RangeText(At(0, kTerm)), "none");
  EXPECT_EQ(RangeText(Select(inside, At(0, kTerm), 1.0)), "none");
  EXPECT_EQ(RangeText(Select(Less(Expr(kTerm) * 2, kRow), At(0, kTerm), 0.0)), "none");
  // Zero times infinity is not zero.
  EXPECT_EQ(RangeText(Select(inside, At(0, kTerm), 0.0) * At(1, kTerm)), "none");
  EXPECT_FALSE(RangeOf(*SumOf(Select(inside, At(0, kTerm), 0.0)), [](const Expr&) { return false; }));
  EXPECT_FALSE(RangeOf(*Reduce(ReduceOp::kMax, {kTerm}, Select(inside, At(0, kTerm), 0.0)), kAll));
}

TEST(FoldRangeTest, AGuardedProductBecomesOneOfGuardedFactors) {
  const Expr guarded = SumOf(Select(Less(kTerm, kRow), Product(), 0.0));
  const Expr made = WithGuardedFactors(guarded + At(2, kRow), kAll);
  const Expr& term = made->operands[0]->operands[0];
  ASSERT_EQ(term->kind, Expr::Kind::kBinary);
  EXPECT_EQ(term->binary, BinaryOp::kMul);
  EXPECT_EQ(Text(term->operands[0]), Text(Select(Less(kTerm, kRow), At(0, kTerm), 0.0)));
  EXPECT_EQ(RangeText(term), "nothing to " + Text(kRow));
  const Expr other = SumOf(Select(Less(kTerm, kRow), At(0, kTerm), 0.0));
  EXPECT_EQ(WithGuardedFactors(other, kAll).get(), other.get());
  EXPECT_EQ(WithGuardedFactors(guarded, [](const Expr&) { return false; }).get(), guarded.get());
}

}  // namespace
}  // namespace hone
