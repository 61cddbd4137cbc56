#include "judge/trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "graph/testing/small_problem.h"
#include "judge/host_trial.h"

namespace hone {
namespace {

// What an oracle would say does not matter here.
Result<HostTrial::Expect> NothingExpected(const Graph& graph) {
  const auto outputs = graph.problem().Outputs().size();
  return HostTrial::Expect([outputs](const std::vector<const void*>&, int) { return std::vector<Expected>(outputs); });
}

// The sum of so many inputs of 4096 elements, x0, x1 ..., each of which is between 1 and 2.
Graph SumOf(int inputs) {
  std::string tensors, nodes, last = "x0";
  for (int i = 0; i < inputs; ++i) {
    tensors += (i > 0 ? ", x" : "x") + std::to_string(i) + " f32 4096";
    if (i == 0) continue;
    const std::string to = i + 1 == inputs ? "y" : "t" + std::to_string(i);
    nodes += (i > 1 ? "," : "") + (R"({"op": "add", "args": {"self": "%)" + last) + R"(", "other": "%x)" +
             std::to_string(i) + R"("}, "outputs": [")" + to + R"("]})";
    last = to;
  }
  if (inputs == 1) nodes = R"({"op": "neg", "args": {"self": "%x0"}, "outputs": ["y"]})";
  Problem problem = testing::SmallProblem("fp32", tensors, "y f32 4096", "[" + nodes + "]");
  for (Tensor& tensor : problem.tensors) {
    if (tensor.role == Role::kInput) tensor.generator = Uniform{1, 2};
  }
  auto graph = Graph::Create(problem);
  EXPECT_TRUE(graph) << graph.error().message;
  return std::move(*graph);
}

// Which inputs of a draw have an element that is a thousand times larger than it was drawn.
std::vector<std::size_t> WithOutliers(Trial& trial, std::size_t which) {
  const auto drawn = trial.Draw(which);
  EXPECT_TRUE(drawn) << drawn.error().message;
  std::vector<std::size_t> with;
  for (std::size_t i = 0; i < trial.inputs(); ++i) {
    std::vector<float> values(4096);
    EXPECT_TRUE(trial.Read(**drawn, i, reinterpret_cast<std::byte*>(values.data())));
    bool any = false;
    for (const float value : values) any |= value >= 1000;
    if (any) with.push_back(i);
  }
  return with;
}

TEST(TrialTest, OutliersAreInOneInputADraw) {
  const Graph graph = SumOf(3);
  const auto trial = HostTrial::Create(graph, NothingExpected, 1, 1);
  ASSERT_TRUE(trial) << trial.error().message;
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE((*trial)->Has(kOutlierDraw + i));
    EXPECT_EQ(WithOutliers(**trial, kOutlierDraw + i), std::vector<std::size_t>{i});
    EXPECT_EQ((*(*trial)->Draw(kOutlierDraw + i))->name, "outliers in x" + std::to_string(i));
    EXPECT_TRUE((*(*trial)->Draw(kOutlierDraw + i))->outliers);
  }
  EXPECT_FALSE((*trial)->Has(kOutlierDraw + 3));
  EXPECT_TRUE((*trial)->Has(kWideDraw));
  EXPECT_EQ((*trial)->draws(), kDraws - 1);
  EXPECT_TRUE(WithOutliers(**trial, 0).empty());
}

TEST(TrialTest, WhereDrawsTakeLongTheMostTellingAreMade) {
  const Graph graph = SumOf(2);
  const auto trial = HostTrial::Create(graph, NothingExpected, 1, 1);
  ASSERT_TRUE(trial) << trial.error().message;
  EXPECT_EQ(TellingDraws(**trial, 0, 1), (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(TellingDraws(**trial, 0.01, 1).size(), 7u);
  EXPECT_EQ(TellingDraws(**trial, 0.25, 1), (std::vector<std::size_t>{0, 3, 4, kOutlierDraw}));
  EXPECT_EQ(TellingDraws(**trial, 60, 1), (std::vector<std::size_t>{0, 4, kOutlierDraw})) << "three at least";
}

TEST(TrialTest, OneInputHasOneDrawWithOutliers) {
  const Graph graph = SumOf(1);
  const auto trial = HostTrial::Create(graph, NothingExpected, 1, 1);
  ASSERT_TRUE(trial) << trial.error().message;
  EXPECT_EQ(WithOutliers(**trial, kOutlierDraw), std::vector<std::size_t>{0});
  EXPECT_EQ((*(*trial)->Draw(kOutlierDraw))->name, "outliers");
  EXPECT_FALSE((*trial)->Has(kOutlierDraw + 1));
}

TEST(TrialTest, ManyInputsShareTheDrawsWithOutliers) {
  const Graph graph = SumOf(6);
  const auto trial = HostTrial::Create(graph, NothingExpected, 1, 1);
  ASSERT_TRUE(trial) << trial.error().message;
  EXPECT_EQ(WithOutliers(**trial, kOutlierDraw), (std::vector<std::size_t>{0, 4}));
  EXPECT_EQ(WithOutliers(**trial, kOutlierDraw + 1), (std::vector<std::size_t>{1, 5}));
  EXPECT_EQ(WithOutliers(**trial, kOutlierDraw + 3), (std::vector<std::size_t>{3}));
  EXPECT_EQ((*(*trial)->Draw(kOutlierDraw))->name, "outliers in x0, x4");
}

// How many elements of an output of x [8], numbers from 0 to 3, are wrong, of values that are made of x.
template <class T>
std::int64_t Wrong(Problem problem, const IntegerRange& range, std::size_t output,
                   const std::function<std::vector<std::int64_t>(const std::vector<T>&)>& make) {
  problem.tensors[0].generator = range;
  const auto graph = Graph::Create(problem);
  EXPECT_TRUE(graph) << graph.error().message;
  const auto trial = HostTrial::Create(*graph, &HostTrial::CompileOracle, 1, 1);
  EXPECT_TRUE(trial) << trial.error().message;
  const auto drawn = (*trial)->Draw(0);
  EXPECT_TRUE(drawn) << drawn.error().message;
  std::vector<T> x(8);
  EXPECT_TRUE((*trial)->Read(**drawn, 0, reinterpret_cast<std::byte*>(x.data())));
  const auto made = make(x);
  const auto check = (*trial)->CompareValues(**drawn, output, reinterpret_cast<const std::byte*>(made.data()));
  EXPECT_TRUE(check) << check.error().message;
  return check->wrong;
}

TEST(TrialTest, WhoSortsMayOrderEqualsAsItLikesUnlessTheSortIsStable) {
  const auto wrong = [](const std::string& stable, bool all) {
    const Problem sort = testing::SmallProblem(
        "fp32", "x f32 8", "v f32 8, y i64 8",
        R"([{"op": "sort", "args": {"self": "%x", "stable": )" + stable + R"(}, "outputs": ["v", "y"]}])");
    return Wrong<float>(sort, {0, 3}, 1, [&](const std::vector<float>& x) {
      std::vector<std::int64_t> order(8);
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](auto a, auto b) { return x[a] != x[b] ? x[a] < x[b] : a > b; });
      if (!all) order[1] = order[0];
      return order;
    });
  };
  EXPECT_EQ(wrong("false", true), 0);
  EXPECT_GT(wrong("true", true), 0);
  EXPECT_GT(wrong("false", false), 0) << "a place that is given twice";
}

TEST(TrialTest, WholeNumbersThatNoDoubleHoldsAreComparedAsSuch) {
  const Problem more = testing::SmallProblem(
      "torch", "x i64 8", "y i64 8", R"([{"op": "add", "args": {"self": "%x", "other": 1}, "outputs": ["y"]}])");
  const auto wrong = [&](std::int64_t last) {
    constexpr std::int64_t kLarge = std::int64_t{1} << 61;
    return Wrong<std::int64_t>(more, {kLarge, 2 * kLarge}, 0, [&](const std::vector<std::int64_t>& x) {
      std::vector<std::int64_t> y = x;
      for (auto& one : y) ++one;
      y[7] += last;
      return y;
    });
  };
  EXPECT_EQ(wrong(0), 0);
  EXPECT_EQ(wrong(1), 1);
}

TEST(TrialTest, NoTwoDrawsAreOfTheSameNumbersUnlessOneIsTheOtherDisturbed) {
  for (std::size_t a = 0; a < kDraws; ++a) {
    for (std::size_t b = a + 1; b < kDraws; ++b) {
      if (DrawSpecOf(b).disturbed != 0) continue;
      EXPECT_NE(DrawSpecOf(a).seed, DrawSpecOf(b).seed) << a << ' ' << b;
    }
  }
}

}  // namespace
}  // namespace hone
