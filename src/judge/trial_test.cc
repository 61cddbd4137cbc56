#include "judge/trial.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

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
