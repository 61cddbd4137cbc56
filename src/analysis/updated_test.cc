// What has to move where outputs are written into inputs.
#include "analysis/updated.h"

#include <gtest/gtest.h>

#include <string>

#include "analysis/cost.h"

namespace hone {
namespace {

// A cache of 8 rows of 100 places of 16 numbers, of which one is written, and the sums of what is there then.
Graph Cache(const std::string& nodes, const std::string& further_outputs = "") {
  auto problem = ParseProblem(R"({"hone_problem": 1, "name": "cache", "tensors": [
    {"name": "x", "shape": [8, 1, 16], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "at", "shape": [1], "dtype": "i64", "role": "input", "generator": {"kind": "integer", "low": 0, "high": 100}},
    {"name": "cache", "shape": [8, 100, 16], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "after", "shape": [8, 100, 16], "dtype": "f32", "role": "output", "updates": "cache"})" +
                                  further_outputs + R"(], "graph": [)" + nodes + "]}",
                              "test");
  EXPECT_TRUE(problem) << problem.error().message;
  auto graph = Graph::Create(*problem);
  EXPECT_TRUE(graph) << graph.error().message;
  return *graph;
}

constexpr double kRow = 8 * 16 * 4;  // bytes, of one place
const std::string kOne =
    R"({"op": "slice_scatter", "args": {"self": "%cache", "src": "%x", "dim": 1, "start": 40, "end": 41}, "outputs": ["after"]})";

TEST(UpdatedTest, OfACacheThatIsWrittenOnePlaceMoves) {
  for (const Which which : {Which::kWritten, Which::kSure, Which::kLeast}) {
    const Cost cost = GraphCost(Cache(kOne), which);
    EXPECT_DOUBLE_EQ(cost.bytes_written, kRow);
    EXPECT_DOUBLE_EQ(cost.bytes_read, kRow);
  }
}

TEST(UpdatedTest, WhoeverReadsItReadsTheOthersToo) {
  const Graph graph =
      Cache(kOne + R"(, {"op": "sum.dim_IntList", "args": {"self": "%after", "dim": [1, 2]}, "outputs": ["y"]})",
            R"(, {"name": "y", "shape": [8], "dtype": "f32", "role": "output"})");
  const Cost cost = GraphCost(graph, Which::kLeast);
  EXPECT_DOUBLE_EQ(cost.bytes_written, kRow + 8 * 4);
  EXPECT_NEAR(cost.bytes_read, 100 * kRow, 2 * kRow);
  EXPECT_LE(cost.bytes_read, 100 * kRow);
}

TEST(UpdatedTest, WhatDataChooseCountsOnlyAsItIsWritten) {
  const Graph graph = Cache(
      R"({"op": "index_copy", "args": {"self": "%cache", "dim": 1, "index": "%at", "source": "%x"}, "outputs": ["after"]})");
  EXPECT_EQ(GraphCost(graph, Which::kLeast).bytes_written, 0);
  EXPECT_EQ(GraphCost(graph, Which::kWritten).bytes_written, 100 * kRow);
}

TEST(UpdatedTest, AllOfItIsOtherWhereAllIsComputed) {
  const Graph graph = Cache(R"({"op": "add", "args": {"self": "%cache", "other": "%x"}, "outputs": ["after"]})");
  EXPECT_TRUE(ReplacedBy(graph, Which::kLeast).by_stage.empty());
  const Cost cost = GraphCost(graph, Which::kLeast);
  EXPECT_DOUBLE_EQ(cost.bytes_written, 100 * kRow);
  EXPECT_DOUBLE_EQ(cost.bytes_read, 101 * kRow);
}

}  // namespace
}  // namespace hone
