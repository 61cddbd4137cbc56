// What goes by slabs, what that saves, and that it changes no bit.
#include "oracle/slabs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "graph/testing/small_problem.h"
#include "oracle/testing/nest_module.h"

namespace hone {
namespace {

using testing::SmallGraph;

std::string Op(const std::string& op, const std::string& args, const std::string& made) {
  return R"({"op": ")" + op + R"(", "args": {)" + args + R"(}, "outputs": [")" + made + "\"]}";
}
// softmax(q @ k.transpose(-1, -2) + mask) @ v, `made` of what has `from` before its names
std::string Attention(const std::string& q, const std::string& k, const std::string& v, const std::string& made) {
  return Op("transpose.int", R"("self": "%)" + k + R"(", "dim0": -1, "dim1": -2)", made + "_t") + ", " +
         Op("matmul", R"("self": "%)" + q + R"(", "other": "%)" + made + "_t\"", made + "_s") + ", " +
         Op("exp", R"("self": "%m")", made + "_e") + ", " +
         Op("add.Tensor", R"("self": "%)" + made + R"(_s", "other": "%)" + made + "_e\"", made + "_a") + ", " +
         Op("_softmax", R"("self": "%)" + made + R"(_a", "dim": -1)", made + "_p") + ", " +
         Op("matmul", R"("self": "%)" + made + R"(_p", "other": "%)" + v + "\"", made);
}
// As large as products that are made by tiles have to be.
Graph Heads() {
  const std::string rows = "2x2x130x40";
  return SmallGraph("fp32", "q f32 " + rows + ", k f32 " + rows + ", v f32 " + rows + ", m f32 130x130",
                    "y f32 " + rows, "[" + Attention("q", "k", "v", "y") + "]");
}

std::vector<std::vector<float>> Drawn(const Graph& graph) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> drawn;
  for (const Tensor* input : graph.problem().Inputs()) {
    drawn.emplace_back(static_cast<std::size_t>(ElementCount(input->shape)));
    std::ranges::generate(drawn.back(), [&] { return normal(random); });
  }
  return drawn;
}
void ExpectTheSameBits(const Graph& graph, std::int64_t most_bytes) {
  const auto nests = WriteCudaNests(graph);
  const auto drawn = Drawn(graph);
  std::vector<const void*> inputs;
  for (const auto& one : drawn) inputs.push_back(one.data());
  const auto whole = testing::Emulated(nests, graph, inputs);
  const auto slabs = testing::EmulatedNests(nests, most_bytes).Run(graph, inputs);
  EXPECT_EQ(whole.value, slabs.value);
  EXPECT_EQ(whole.scale, slabs.scale);
  EXPECT_EQ(whole.honest, slabs.honest);
}

TEST(SlabsTest, WhatFitsGoesAtOnce) {
  const auto nests = WriteCudaNests(Heads());
  const auto plan = PlanSlabs(nests);
  EXPECT_EQ(plan.groups.size(), nests.runs.size());
  EXPECT_EQ(plan.peak_bytes, 16 * (2 * 4 + 1) * 130 * 130) << "scores, those with the mask, and the mask";
  for (const auto& group : plan.groups) EXPECT_EQ(group.Slabs(), 1);
}

TEST(SlabsTest, AttentionGoesByHeads) {
  const auto nests = WriteCudaNests(Heads());
  const auto plan = PlanSlabs(nests, 0);
  const auto by_slabs = std::ranges::find_if(plan.groups, [](const SlabGroup& group) { return group.parts > 1; });
  ASSERT_NE(by_slabs, plan.groups.end());
  EXPECT_EQ(by_slabs->parts, 4);
  EXPECT_EQ(by_slabs->each, 1);
  EXPECT_GE(by_slabs->runs.size(), 4u);
  EXPECT_LT(plan.peak_bytes, PlanSlabs(nests).peak_bytes / 2);
  ExpectTheSameBits(Heads(), 0);
}

TEST(SlabsTest, SlabsAreAsLargeAsFit) {
  const auto nests = WriteCudaNests(Heads());
  const std::int64_t whole = PlanSlabs(nests).peak_bytes;
  for (const std::int64_t most : {whole - 1, whole * 2 / 3, whole / 2}) {
    const auto plan = PlanSlabs(nests, most);
    EXPECT_LE(plan.peak_bytes, most);
    EXPECT_GT(plan.peak_bytes, most - whole / 4);
    std::size_t runs = 0;
    for (const auto& group : plan.groups) runs += group.runs.size();
    EXPECT_EQ(runs, nests.runs.size());
    ExpectTheSameBits(Heads(), most);
  }
}

TEST(SlabsTest, EachOfSeveralLayersGoesByItsHeads) {
  const auto graph =
      SmallGraph("fp32", "q f32 4x130x40, k f32 4x130x40, v f32 4x130x40, m f32 130x130", "y f32 4x130x40",
                 "[" + Attention("q", "k", "v", "a") + ", " + Attention("a", "k", "a", "y") + "]");
  const auto nests = WriteCudaNests(graph);
  const auto plan = PlanSlabs(nests, 0);
  EXPECT_LT(plan.peak_bytes, PlanSlabs(nests).peak_bytes / 2);
  ExpectTheSameBits(graph, 0);
}

TEST(SlabsTest, WhatReadsAllPartsGoesAtOnce) {
  // A softmax over the batches, and sums over them.
  const auto graph =
      SmallGraph("fp32", "x f32 6x50x40", "y f32 50x40",
                 "[" + Op("exp", R"("self": "%x")", "e") + ", " + Op("_softmax", R"("self": "%e", "dim": 0)", "s") +
                     ", " + Op("sum.dim_IntList", R"("self": "%s", "dim": [0])", "y") + "]");
  for (const auto& group : PlanSlabs(WriteCudaNests(graph), 0).groups) EXPECT_NE(group.parts, 6);
  ExpectTheSameBits(graph, 0);
}

}  // namespace
}  // namespace hone
