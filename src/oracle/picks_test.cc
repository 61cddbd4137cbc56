#include "oracle/picks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "graph/testing/small_problem.h"
#include "oracle/oracle.h"

namespace hone {
namespace {

using testing::SmallGraph;
using Places = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

// Of the rows x [2, 4] of one type, whose values and places an operator gives.
Graph Ordering(const std::string& type, const std::string& shape, const std::string& node) {
  return SmallGraph("fp32", "x " + type + " 2x4", "v " + type + " " + shape + ", y i64 " + shape,
                    R"([{"op": )" + node + R"(, "outputs": ["v", "y"]}])");
}

OfEquals EqualsOf(const std::string& node, const std::string& shape) {
  const auto picks = WithPicks(Ordering("f32", shape, node), 1);
  EXPECT_TRUE(picks.has_value()) << node;
  return picks ? picks->of_equals : OfEquals::kExpected;
}

TEST(PicksTest, OfEqualsAnyIsRightWherePyTorchPromisesNoOrder) {
  for (const char* node : {R"("topk", "args": {"self": "%x", "k": 4})", R"("sort", "args": {"self": "%x"})",
                           R"("sort", "args": {"self": "%x", "stable": false, "descending": true})"})
    EXPECT_EQ(EqualsOf(node, "2x4"), OfEquals::kAny) << node;
  for (const char* node :
       {R"("median", "args": {"self": "%x", "dim": 1})", R"("kthvalue", "args": {"self": "%x", "k": 2})"})
    EXPECT_EQ(EqualsOf(node, "2"), OfEquals::kAny) << node;
  EXPECT_EQ(EqualsOf(R"("sort", "args": {"self": "%x", "stable": true})", "2x4"), OfEquals::kExpected);
  EXPECT_EQ(EqualsOf(R"("max", "args": {"self": "%x", "dim": 1})", "2"), OfEquals::kExpected) << "the first, it says";
}

// How far the values at the given places are from those at the expected ones.
template <class T>
Doubles Distances(const Graph& graph, const std::vector<T>& x, const Places& given, const Doubles& expected) {
  const auto picks = WithPicks(graph, 1);
  EXPECT_TRUE(picks.has_value());
  if (!picks) return {};
  const auto oracle = Oracle::Compile(picks->graph);
  EXPECT_TRUE(oracle) << oracle.error().message;
  if (!oracle) return {};
  const auto made = oracle->Run({x.data(), given.data(), expected.data()}, 1);
  EXPECT_TRUE(made) << made.error().message;
  return made ? made->at(0).value : Doubles();
}

TEST(PicksTest, EqualsAreAtNoDistanceAndNoPlaceIsGivenTwice) {
  const std::vector<float> x = {1, 3, 3, 3, NAN, 2, NAN, 2};
  const Graph top = Ordering("f32", "2x3", R"("topk", "args": {"self": "%x", "k": 3})");
  const Doubles expected = {1, 2, 3, 0, 2, 1};
  EXPECT_EQ(Distances(top, x, {3, 1, 2, 2, 0, 3}, expected), (Doubles{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Distances(top, x, {3, 3, 2, 2, 3, 0}, expected), (Doubles{HUGE_VAL, HUGE_VAL, 0, 0, HUGE_VAL, HUGE_VAL}))
      << "given twice; a number for a NaN; a NaN for a number";
}

TEST(PicksTest, AMedianIsAnyOfItsEquals) {
  const std::vector<float> x = {1, 3, 3, 3, 4, NAN, 2, NAN};
  const Graph median = Ordering("f32", "2", R"("median", "args": {"self": "%x", "dim": 1})");
  EXPECT_EQ(Distances(median, x, {3, 3}, {1, 1}), (Doubles{0, 0}));
  EXPECT_EQ(Distances(median, x, {0, 1}, {1, 1}), (Doubles{-2, 0}));
}

TEST(PicksTest, WholeNumbersAreRankedToo) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 60;
  const Places x = {kLarge, kLarge + 1, kLarge, 7, 0, 1, 1, 1};
  const Graph sort = Ordering("i64", "2x4", R"("sort", "args": {"self": "%x"})");
  const Doubles expected = {3, 0, 2, 1, 0, 1, 2, 3};
  EXPECT_EQ(Distances(sort, x, {3, 2, 0, 1, 0, 3, 1, 2}, expected), (Doubles{0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Distances(sort, x, {3, 1, 2, 0, 0, 3, 1, 2}, expected), (Doubles{0, 1, 0, -1, 0, 0, 0, 0}))
      << "doubles do not tell these apart";
}

}  // namespace
}  // namespace hone
