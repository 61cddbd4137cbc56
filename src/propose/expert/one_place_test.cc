#include "propose/expert/one_place.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

constexpr IndexVar kRow = {9001, 8}, kColumn = {9002, 16}, kTerm = {9003, 8}, kOther = {9004, 4};

std::string TextOf(const Expr& e) {
  return ToString(e, [](int) { return std::string("x"); });
}

Piece FoldOf(ReduceOp op, std::vector<IndexVar> over, const Expr& body) {
  return {.space = {kRow, kColumn}, .fold = Fold{std::move(over), op, body, Value(kIt, body->type)}};
}

Expr At(const Expr& index) { return Load(0, {index}, ScalarType::kInt); }

TEST(OnePlaceTest, ATermWhosePlaceIsKnownIsTheFold) {
  const Expr hit = And(Equal(kTerm, kRow), Equal(At(kTerm), kColumn));
  const auto last = AtOnePlace(FoldOf(ReduceOp::kMax, {kTerm}, Select(hit, kTerm, std::int64_t{-1})));
  ASSERT_TRUE(last);
  EXPECT_FALSE(last->fold);
  EXPECT_TRUE(SameExpr(last->value, Select(Equal(At(kRow), kColumn), kRow, std::int64_t{-1}))) << TextOf(last->value);
  const auto sum = AtOnePlace(FoldOf(ReduceOp::kSum, {kTerm, kOther}, Select(hit, At(kOther), std::int64_t{0})));
  ASSERT_TRUE(sum && sum->fold);
  EXPECT_EQ(sum->fold->over.size(), 1U);
}

TEST(OnePlaceTest, OfTermsBesideItTheLargestCounts) {
  // What is chosen may be less than what stands for the others.
  const auto last =
      AtOnePlace(FoldOf(ReduceOp::kMax, {kTerm}, Select(Equal(kTerm, kRow), Expr(kTerm) - 4, std::int64_t{-1})));
  ASSERT_TRUE(last);
  EXPECT_TRUE(SameExpr(last->value, Max(Expr(kRow) - 4, std::int64_t{-1}))) << TextOf(last->value);
}

TEST(OnePlaceTest, AFoldIsLeftWherePlacesAreDatasOrMayBeNone) {
  const auto left = [](ReduceOp op, const Expr& condition, std::int64_t otherwise) {
    return !AtOnePlace(FoldOf(op, {kTerm}, Select(condition, kTerm, otherwise)));
  };
  EXPECT_TRUE(left(ReduceOp::kMax, Equal(At(kTerm), kRow), -1));
  EXPECT_TRUE(left(ReduceOp::kMax, Equal(kTerm, Expr(kRow) + 1), -1));  // the last row has none
  EXPECT_TRUE(left(ReduceOp::kMax, Equal(kTerm, kColumn), -1));         // nor columns from 8 on
  EXPECT_TRUE(left(ReduceOp::kMax, Less(kTerm, kRow), -1));
  EXPECT_TRUE(left(ReduceOp::kSum, Equal(kTerm, kRow), -1));  // the others are added, too
  EXPECT_TRUE(left(ReduceOp::kArgMax, Equal(kTerm, kRow), -1));
}

TEST(OnePlaceTest, AChoiceThatIsAskedForOneSideIsItsCondition) {
  const Expr hit = Equal(At(kRow), kColumn), chosen = Select(hit, kRow, std::int64_t{-1});
  const auto is = [](const Expr& e, const Expr& made) {
    EXPECT_TRUE(SameExpr(WithChoicesMade(e), made)) << TextOf(WithChoicesMade(e));
  };
  is(LessEqual(0, chosen), hit);
  is(Less(chosen, 0), Apply(UnaryOp::kNot, hit));
  is(Less(chosen, 8), Expr::Bool(true));
  is(LessEqual(1, chosen), LessEqual(1, chosen));  // some rows are below
  is(Select(LessEqual(0, chosen), At(chosen), chosen), Select(hit, At(kRow), std::int64_t{-1}));
}

// A batch of sequences, each of which has a place of its own in a cache.
std::string Cache(std::string_view index) {
  return fmt::format(R"({{"hone_problem": 1, "name": "cache", "tensors": [
  {{"name": "c", "shape": [8, 256, 4, 32], "dtype": "bf16", "role": "input", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "new", "shape": [8, 4, 32], "dtype": "bf16", "role": "input", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "at", "shape": [8], "dtype": "i64", "role": "input", "generator": {{"kind": "integer", "low": 0, "high": 256}}}},
  {{"name": "i", "shape": [8], "dtype": "i64", "role": "input", "generator": {{"kind": "integer", "low": 0, "high": 8}}}},
  {{"name": "y", "shape": [8, 256, 4, 32], "dtype": "bf16", "role": "output"}}],
 "graph": [{{"op": "aten.arange.start_step", "args": {{"start": 0, "end": 8}}, "outputs": ["rows"]}},
  {{"op": "aten.index_put.default", "args": {{"self": "%c", "indices": ["{}", "%at"], "values": "%new"}}, "outputs": ["y"]}}]}})",
                     index);
}

TEST(OnePlaceTest, ACacheIsWrittenInOnePass) {
  const std::string program = WrittenText(Cache("%rows"));
  EXPECT_NE(program.find("y: [8, 256, 4, 32] = nest [j < 8, k < 256, l < 128] (select(select(at[j] < 0, at[j] + 256, "
                         "at[j]) == k, new_view[j, l], c_view[j, k, l]))"),
            std::string::npos)
      << program;
  EXPECT_EQ(program.find("last"), std::string::npos) << program;
  EXPECT_NE(WrittenText(Cache("%i")).find("_last = nest [j < 8, k < 256] (max [l < 8]"), std::string::npos);
}

TEST(OnePlaceTest, ACacheIsWrittenAtAPlaceOutOfDataInOnePass) {
  const std::string program = WrittenText(R"({"hone_problem": 1, "name": "cache", "tensors": [
  {"name": "c", "shape": [8, 256, 32], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "new", "shape": [8, 1, 32], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "at", "shape": [1], "dtype": "i64", "role": "input", "generator": {"kind": "integer", "low": 0, "high": 256}},
  {"name": "y", "shape": [8, 256, 32], "dtype": "bf16", "role": "output"}],
 "graph": [{"op": "aten.index_copy.default", "args": {"self": "%c", "dim": 1, "index": "%at", "source": "%new"}, "outputs": ["y"]}]})");
  EXPECT_EQ(program.find("last"), std::string::npos) << program;
  EXPECT_NE(program.find("y = nest [i < 8, j < 256, k < 32] (select("), std::string::npos) << program;
}

}  // namespace
}  // namespace hone::expert
