#include "oracle/exact_wholes.h"

#include <gtest/gtest.h>

#include <vector>

#include "graph/testing/small_problem.h"
#include "oracle/oracle.h"

namespace hone {
namespace {

using testing::SmallGraph;
using Wholes = std::vector<std::int64_t>;

std::vector<double> Values(const Graph& graph, const std::vector<const void*>& inputs) {
  const auto oracle = Oracle::Compile(graph);
  EXPECT_TRUE(oracle) << oracle.error().message;
  if (!oracle) return {};
  const auto made = oracle->Run(inputs, 1);
  EXPECT_TRUE(made) << made.error().message;
  return made ? made->at(0).value : std::vector<double>();
}

// Which of the elements are not what 64 bits hold of x to the power b.
std::vector<double> WrongPowers(const Wholes& x, const Wholes& b, const Wholes& given) {
  const Graph power = SmallGraph("torch", "x i64 4, b i64 4", "y i64 4",
                                 R"([{"op": "pow", "args": {"self": "%x", "exponent": "%b"}, "outputs": ["y"]}])");
  return Values(WithExactWholes(power, 0), {x.data(), b.data(), given.data()});
}

TEST(ExactWholesTest, PowersAreExactAndWrapAround) {
  const Wholes x = {11, 3, -7, 2}, b = {29, 38, 21, 64};
  Wholes powers;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::uint64_t power = 1;
    for (std::int64_t k = 0; k < b[i]; ++k) power *= static_cast<std::uint64_t>(x[i]);
    powers.push_back(static_cast<std::int64_t>(power));
  }
  EXPECT_EQ(WrongPowers(x, b, powers), (std::vector<double>{0, 0, 0, 0}));
  powers[1] += 1;
  EXPECT_EQ(static_cast<double>(powers[1]), static_cast<double>(powers[1] - 1)) << "as doubles they are the same";
  EXPECT_EQ(WrongPowers(x, b, powers), (std::vector<double>{0, 1, 0, 0}));
  EXPECT_EQ(WrongPowers({1, -1, 0, 5}, {1 << 20, 1 << 20, 0, -1}, {1, 1, 1, 0}), (std::vector<double>{0, 0, 0, 0}));
}

TEST(ExactWholesTest, WhatAScanMakesIsLookedAtToo) {
  const Wholes x = {std::int64_t{1} << 60, 1, 1};
  Wholes sums = {x[0], x[0] + 1, x[0] + 3};
  const Graph scan = SmallGraph("torch", "x i64 3", "y i64 3",
                                R"([{"op": "cumsum", "args": {"self": "%x", "dim": 0}, "outputs": ["y"]}])");
  EXPECT_EQ(Values(WithExactWholes(scan, 0), {x.data(), sums.data()}), (std::vector<double>{0, 0, 1}));
}

}  // namespace
}  // namespace hone
