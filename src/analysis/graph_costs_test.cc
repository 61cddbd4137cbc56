#include "analysis/graph_costs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "analysis/collapse.h"
#include "graph/testing/small_problem.h"

namespace hone {
namespace {

using testing::SmallGraph;

// Two products without anything between them, which can be made the other way round.
Graph Chain(int rows) {
  return SmallGraph("fp32", fmt::format("a f32 {}x64, b f32 64x64, c f32 64x2", rows), fmt::format("y f32 {}x2", rows),
                    R"([{"op": "mm", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["t"]},
                        {"op": "mm", "args": {"self": "%t", "mat2": "%c"}, "outputs": ["y"]}])");
}
void ExpectCostsOf(const Graph& graph) {
  const GraphCosts costs = CostsOf(graph);
  EXPECT_EQ(costs.written.flops(), GraphCost(graph).flops());
  EXPECT_EQ(costs.written.bytes(), GraphCost(graph).bytes());
  EXPECT_EQ(costs.sure.bytes(), GraphCost(graph, Which::kSure).bytes());
  EXPECT_EQ(costs.least.flops(), GraphCost(graph, Which::kLeast).flops());
  EXPECT_EQ(costs.saved_flops, SavedFlops(graph));
}

TEST(GraphCostsTest, TheyAreTheGraphs) {
  ASSERT_GT(SavedFlops(Chain(8)), 0);
  for (const int rows : {8, 16, 8}) ExpectCostsOf(Chain(rows));
}

TEST(GraphCostsTest, ManyMayAskAtOnceAndOfMoreProblemsThanAreKept) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int rows = 1; rows < 40; ++rows) ExpectCostsOf(Chain(rows));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hone
