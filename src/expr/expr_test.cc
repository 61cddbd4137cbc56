#include "expr/expr.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "expr/fold.h"
#include "expr/index_steps.h"

namespace hone {
namespace {

std::string Text(const Expr& e) {
  return ToString(e, [](int buffer) { return std::string(1, static_cast<char>('a' + buffer)); });
}

TEST(ExprTest, IndexArithmeticFolds) {
  const Expr i = NewIndex(8);
  EXPECT_EQ((i * 1 + 0).get(), i.get());
  EXPECT_EQ((Expr(3) * 4 + 1)->whole, 13);
  EXPECT_EQ((i * 0)->whole, 0);
  EXPECT_EQ(Apply(BinaryOp::kFloorDiv, i, 8)->whole, 0);
  EXPECT_EQ(Apply(BinaryOp::kFloorMod, i, 8).get(), i.get());
  EXPECT_EQ(Apply(BinaryOp::kFloorMod, Expr(-7), 3)->whole, 2) << "as Python, not as C++";
}

TEST(ExprTest, RealArithmeticIsLeftAsWritten) {
  const Expr x = Load(0, {}, ScalarType::kReal);
  EXPECT_EQ((x * 1.0)->kind, Expr::Kind::kBinary);
  EXPECT_EQ((x + 0.0)->kind, Expr::Kind::kBinary) << "-0 + 0 is 0";
}

TEST(ExprTest, MixedOperandsBecomeReal) {
  const Expr i = NewIndex(8);
  const Expr sum = i + 0.5;
  EXPECT_EQ(sum->type, ScalarType::kReal);
  EXPECT_EQ(sum->operands[0]->kind, Expr::Kind::kCast);
  EXPECT_EQ((i / 2)->type, ScalarType::kReal);
  EXPECT_EQ(Less(i, 2)->type, ScalarType::kBool);
}

TEST(ExprTest, ReducingTruthValuesCountsThem) {
  const IndexVar k = NewIndex(4);
  const Expr truth = Less(Load(0, {k}, ScalarType::kReal), 0.0);
  EXPECT_EQ(Reduce(ReduceOp::kSum, {k}, truth)->type, ScalarType::kInt);
  EXPECT_EQ(Reduce(ReduceOp::kAny, {k}, truth)->type, ScalarType::kBool);
  EXPECT_EQ(Reduce(ReduceOp::kArgMax, {k}, Load(0, {k}, ScalarType::kReal))->type, ScalarType::kInt);
}

TEST(ExprTest, SubstituteReplacesIndicesAndSimplifies) {
  const IndexVar i = NewIndex(8);
  const Expr load = Load(0, {Expr(i) * 2 + 1}, ScalarType::kReal);
  const Expr at_three = Substitute(load, [&](const IndexVar& var) { return var.id == i.id ? Expr(3) : Expr(); });
  EXPECT_EQ(Text(at_three), "a[7]");
}

TEST(ExprTest, ReplaceLoadsFuses) {
  const IndexVar i = NewIndex(8);
  const Expr outer = Exp(Load(1, {i}, ScalarType::kReal));
  const Expr fused = ReplaceLoads(outer, [](const ExprNode& load) {
    return load.buffer == 1 ? Load(0, load.operands, ScalarType::kReal) + 1.0 : Expr();
  });
  EXPECT_EQ(Text(fused), "exp((a[i" + std::to_string(i.id) + "] + 1))");
}

TEST(ExprTest, ValuesAreToldApartAndAreNoLoads) {
  const Expr it = Value(kIt, ScalarType::kReal), first = Value(LetValue(0), ScalarType::kReal);
  const Expr both = it * first + Load(0, {}, ScalarType::kReal);
  EXPECT_EQ(Text(both), "((it * let0) + a[])");
  EXPECT_TRUE(IsValue(it, kIt));
  EXPECT_FALSE(IsValue(first, kIt));
  EXPECT_FALSE(IsValue(both, kIt));
  EXPECT_FALSE(HasLoad(it * first));
  EXPECT_TRUE(SameExpr(first, Value(LetValue(0), ScalarType::kReal)));
  EXPECT_FALSE(SameExpr(first, Value(LetValue(1), ScalarType::kReal)));
  EXPECT_FALSE(SameExpr(it, Value(kIt, ScalarType::kInt)));
  EXPECT_EQ(ValueAt(it, {}), std::nullopt);
}

TEST(IndexStepsTest, WhatIsSharedIsComputedOnce) {
  const IndexVar i = NewIndex(10), j = NewIndex(7);
  Expr doubled = Apply(BinaryOp::kFloorMod, Expr(i) * 3 + Expr(j), Expr(5));
  for (int n = 0; n < 40; ++n) doubled = doubled + doubled;  // as a tree: a million of millions of nodes
  const Expr chosen = Select(Less(Expr(i), Expr(j)), Cast(Expr(i) / 2.0, ScalarType::kInt), -Expr(j));
  const std::map<int, std::size_t> ranks = {{i.id, 0}, {j.id, 1}};
  ASSERT_TRUE(IsOfIndices(chosen, ranks));
  EXPECT_FALSE(IsOfIndices(chosen, {{i.id, 0}}));
  EXPECT_FALSE(IsOfIndices(chosen + Load(0, {Expr(i)}, ScalarType::kInt), ranks));
  IndexSteps steps(ranks);
  const std::size_t sum = steps.Add(doubled), choice = steps.Add(chosen);
  steps.Place({j, i}, 0, 70);
  steps.Run();
  for (std::size_t n = 0; n < 70; ++n) {
    const auto a = static_cast<std::int64_t>(n % 10), b = static_cast<std::int64_t>(n / 10);
    EXPECT_EQ(steps.made(sum)[n], std::ldexp(static_cast<double>((a * 3 + b) % 5), 40));
    EXPECT_EQ(steps.made(choice)[n], ValueAt(chosen, {{i.id, a}, {j.id, b}}));
  }
  EXPECT_FALSE(steps.AllWhole());  // halves of i
  IndexSteps whole(std::map<int, std::size_t>{{i.id, 0}});
  whole.Add(Expr(i) * (std::int64_t{1} << 50));
  whole.place(0).fill(8);
  whole.Run();
  EXPECT_TRUE(whole.AllWhole());
  whole.place(0)[7] = 9;
  whole.Run();
  EXPECT_FALSE(whole.AllWhole());
}

// Whether a window of three around i lies within, and i is even.
Expr Within(const IndexVar& i) {
  const Expr place = Expr(i) - Expr(1);
  return And(And(LessEqual(Expr(0), place), Less(place, Expr(i.extent - 2))),
             Equal(Apply(BinaryOp::kFloorMod, Expr(i), Expr(2)), Expr(0)));
}

TEST(ShareTrueTest, FewPlacesAreTriedAndManyAreSampled) {
  const IndexVar i = NewIndex(10), j = NewIndex(300), k = NewIndex(200), l = NewIndex(100);
  EXPECT_EQ(ShareTrue({Within(i)}), 0.4);  // 2, 4, 6, 8
  EXPECT_EQ(ShareTrue({Apply(UnaryOp::kNot, Within(i))}), 0.6);
  EXPECT_EQ(ShareTrue({Select(Within(i), Less(Expr(i), Expr(5)), Expr::Bool(true))}), 0.8);
  // Conditions that share no index do not hang together.
  EXPECT_DOUBLE_EQ(ShareTrue({Within(i), Less(Expr(j), Expr(30))}), 0.04);
  const double sampled = ShareTrue({Less(Expr(j) + Expr(k) + Expr(l), Expr(300))});
  EXPECT_LT(sampled, 0.5);
  EXPECT_GT(sampled, 0.49);
  // The same of others, and of one that hangs on data nothing is known.
  const IndexVar m = NewIndex(300), n = NewIndex(200), o = NewIndex(100);
  EXPECT_EQ(ShareTrue({Less(Expr(m) + Expr(n) + Expr(o), Expr(300))}), sampled);
  EXPECT_EQ(ShareTrue({Less(Expr(i), Load(0, {Expr(i)}, ScalarType::kInt))}), 1);
}

TEST(ShareTrueTest, AValueIsReachedWhereSomePlaceHoldsAtIt) {
  const IndexVar i = NewIndex(10), j = NewIndex(300), k = NewIndex(2000), l = NewIndex(2000);
  EXPECT_EQ(ShareReached({Less(Expr(j), Expr(i) * 20)}, i), 0.9);  // none is before 0
  EXPECT_DOUBLE_EQ(ShareReached({Less(Expr(j), Expr(i) * 20)}, j), 0.6);
  EXPECT_EQ(ShareReached({Within(i)}, j), 1);
  EXPECT_EQ(ShareReached({Less(Expr(i), Expr(0))}, j), 0);
  // Of too many places to try, no more than is seen.
  const double window = ShareReached({Less(Expr(k), Expr(l) + 1), Less(Expr(l), Expr(k) + 300)}, k);
  EXPECT_LE(window, 1);
  EXPECT_GT(window, 0.95);
}

TEST(ExprTest, AValueIsReplacedAloneAndLoadsByThemselves) {
  const Expr it = Value(kIt, ScalarType::kReal), load = Load(0, {}, ScalarType::kReal);
  const Expr both = Exp(it) + Value(LetValue(1), ScalarType::kReal) * load;
  EXPECT_EQ(Text(ReplaceValue(both, kIt, load)), "(exp(a[]) + (let1 * a[]))");
  EXPECT_EQ(Text(ReplaceLoads(both, [&](const ExprNode&) { return it; })), "(exp(it) + (let1 * it))");
}

TEST(ExprTest, ALoadThatMayMissIsAnother) {
  const IndexVar i = NewIndex(8);
  const Expr safe = Load(0, {i}, ScalarType::kReal), misses = Load(0, {i}, ScalarType::kReal, MayMiss::kYes);
  EXPECT_FALSE(SameExpr(safe, misses));
  const Expr moved = Substitute(misses, [](const IndexVar&) { return Expr(3); });
  EXPECT_TRUE(moved->may_miss) << "also at another place";
}

TEST(ExprTest, ReducedIndicesMatchByPosition) {
  const auto sum = [](std::int64_t extent, int buffer) {
    const IndexVar k = NewIndex(extent);
    return Reduce(ReduceOp::kSum, {k}, Load(buffer, {k}, ScalarType::kReal));
  };
  EXPECT_TRUE(SameExpr(sum(4, 0), sum(4, 0)));
  EXPECT_FALSE(SameExpr(sum(4, 0), sum(5, 0)));
  EXPECT_FALSE(SameExpr(sum(4, 0), sum(4, 1)));
}

TEST(ExprTest, NanConstantsAreTheSame) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(SameExpr(nan, nan));
  EXPECT_FALSE(SameExpr(nan, 0.0));
}

TEST(ExprTest, AConditionThatIsKnownPicksASide) {
  EXPECT_EQ(Select(Expr::Bool(true), 1.0, 2.0)->real, 1);
  EXPECT_EQ(Select(Less(Expr(3), 2), 1.0, 2.0)->real, 2);
}

TEST(ExprTest, VisitMeetsASharedNodeOnce) {
  const Expr x = Load(0, {}, ScalarType::kReal);
  const Expr twice = x * x;
  int loads = 0;
  Visit(twice, [&](const ExprNode& node) { loads += node.kind == Expr::Kind::kLoad; });
  EXPECT_EQ(loads, 1);
}

}  // namespace
}  // namespace hone
