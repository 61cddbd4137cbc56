// What resizing may be off by: places are rounded as PyTorch rounds them, and no more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "graph/testing/small_problem.h"
#include "oracle/compare.h"
#include "oracle/oracle.h"
#include "problem/generate.h"

namespace hone {
namespace {

using Floats = std::vector<float>;

struct Resized {
  Tensor output;
  Expected expected;
  std::int64_t Wrong(const Floats& got) const { return CompareOutput(output, got.data(), expected, 0x7fc1).wrong; }
};

// x [1, 1, in] to [1, 1, out].
Resized Resize(const std::string& op, const std::string& arguments, const Floats& x, std::size_t out) {
  const std::string sizes = "1x1x" + std::to_string(out);
  const Graph graph = testing::SmallGraph(
      "fp32", "x f32 1x1x" + std::to_string(x.size()), "y f32 " + sizes,
      R"([{"op": ")" + op + R"(", "args": {"self": "%x", )" + arguments + R"(}, "outputs": ["y"]}])");
  const auto oracle = Oracle::Compile(graph);
  EXPECT_TRUE(oracle) << oracle.error().message;
  auto made = oracle->Run({x.data()}, 1);
  EXPECT_TRUE(made) << made.error().message;
  return {*graph.problem().Outputs()[0], std::move(made->at(0))};
}

Floats Normals(std::size_t count) {
  Tensor tensor{.name = "x", .shape = {static_cast<std::int64_t>(count)}, .generator = Normal{}};
  Floats values(count);
  EXPECT_TRUE(Fill(tensor, 1, 0, {}, values.data()));
  return values;
}

// As PyTorch's kernels compute it.
Floats Linear(const Floats& x, std::size_t out, float step, bool align_corners) {
  Floats y;
  for (std::size_t i = 0; i < out; ++i) {
    const auto at = static_cast<float>(i);
    const float place = align_corners ? at * step : std::max(step * (at + 0.5f) - 0.5f, 0.0f);
    const auto first = static_cast<std::size_t>(place), second = std::min(first + 1, x.size() - 1);
    const float part = place - static_cast<float>(first);
    y.push_back((1 - part) * x[first] + part * x[second]);
  }
  return y;
}

TEST(InterpolationTest, APlaceThatPyTorchRoundsIsRight) {
  const Floats x = Normals(1000);
  const auto larger = Resize("upsample_linear1d", R"("output_size": [1333], "align_corners": false)", x, 1333);
  EXPECT_EQ(larger.Wrong(Linear(x, 1333, 1000.0f / 1333, false)), 0);
  const auto thrice = Resize("upsample_linear1d", R"("output_size": [3000], "align_corners": false)", x, 3000);
  EXPECT_EQ(thrice.Wrong(Linear(x, 3000, 1.0f / 3, false)), 0);
  const auto aligned = Resize("upsample_linear1d", R"("output_size": [1999], "align_corners": true)", x, 1999);
  EXPECT_EQ(aligned.Wrong(Linear(x, 1999, 999.0f / 1998, true)), 0);
}

TEST(InterpolationTest, APlaceThatIsMeantToBeExactMayComeOutBeforeIt) {
  // A third of 3 i + 1, halves away: what lies before may be large, and what lies there is nothing.
  Floats x(100);
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] = 1e3f;
  const auto thrice = Resize("upsample_linear1d", R"("output_size": [300], "align_corners": false)", x, 300);
  const float before = std::nextafter(1.0f / 3, 0.0f);
  EXPECT_EQ(thrice.Wrong(Linear(x, 300, before, false)), 0);
  EXPECT_GT(thrice.Wrong(Linear(x, 300, 1.0f / 3 - 1e-5f, false)), 0);
}

TEST(InterpolationTest, WhereAnElementLiesExactlyNotAnythingIsRight) {
  const Floats x = {1, 2, 4, 8, 16, 32, 64};
  const auto linear =
      Resize("upsample_linear1d", R"("output_size": [16], "align_corners": true, "scales": 2.3)", x, 16);
  Floats got = Linear(x, 16, 0.4f, true);
  EXPECT_EQ(linear.Wrong(got), 0);
  got[5] = 99;
  EXPECT_EQ(linear.Wrong(got), 1);
  const auto nearest = Resize("upsample_nearest1d", R"("output_size": [4], "scales": 0.6)", x, 4);
  EXPECT_EQ(nearest.Wrong({1, 2, 8, 32}), 0);
  EXPECT_EQ(nearest.Wrong({1, 2, 8, 16}), 0) << "5 may come out as less";
  EXPECT_EQ(nearest.Wrong({1, 2, 8, 123}), 1);
  EXPECT_EQ(nearest.Wrong({1, 1, 8, 32}), 1) << "1.67 is not near a whole number";
}

}  // namespace
}  // namespace hone
