#include "analysis/interval.h"

#include <gtest/gtest.h>

#include "analysis/range.h"
#include "graph/testing/small_problem.h"

namespace hone {
namespace {

using testing::SmallGraph;

// Of what the nodes make last, by types and definitions.
Range Last(const std::string& inputs, const std::string& nodes, const std::string& output) {
  const Graph graph = SmallGraph("torch", inputs, output, nodes);
  return DefinedRanges(graph).Of(graph.Output(0));
}
std::string Of(const std::string& op, const std::string& other, const std::string& self = "x") {
  return R"([{"op": ")" + op + R"(", "args": {"self": "%)" + self + R"(", "other": )" + other +
         R"(}, "outputs": ["y"]}])";
}

TEST(IntervalTest, WhatDoesNotFitATypeMayBeAllOfIt) {
  const Range sum = Last("x u8 4", Of("bitwise_and.Scalar", "15"), "y u8 4");
  EXPECT_TRUE(sum.whole && sum.low == 0 && sum.high == 15);
  const Range wrapped = Last("x u8 4", Of("mul.Tensor", "3"), "y u8 4");
  EXPECT_TRUE(wrapped.low == 0 && wrapped.high == 255);
  const Range largest = AsStored(DType::kF8E4M3, Between(-1000, 7));
  EXPECT_TRUE(largest.low == -448 && largest.high == 7);
}

TEST(IntervalTest, BitsOfNegativeNumbersAreBounded) {
  const Range a = {-5, 9, false, false, true}, b = {0, 3, false, false, true};
  const Range both = RangeOfBinary(BinaryOp::kOr, ScalarType::kInt, a, b);
  EXPECT_TRUE(both.low == -16 && both.high == 15);
  const Range some = RangeOfBinary(BinaryOp::kAnd, ScalarType::kInt, a, b);
  EXPECT_TRUE(some.low == 0 && some.high == 3);
  const Range quotient = RangeOfBinary(BinaryOp::kFloorDiv, ScalarType::kInt, a, {2, 4, false, false, true});
  EXPECT_TRUE(quotient.low == -3 && quotient.high == 4);
}

TEST(IntervalTest, RunningSumsAreAsLargeAsAllOfThem) {
  const Range sums =
      Last("x bool 100", R"([{"op": "cumsum", "args": {"self": "%x", "dim": 0}, "outputs": ["y"]}])", "y i64 100");
  EXPECT_TRUE(sums.low == 0 && sums.high == 100) << sums.low << " to " << sums.high;
}

}  // namespace
}  // namespace hone
