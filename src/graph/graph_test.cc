#include "graph/graph.h"

#include <gtest/gtest.h>

#include "graph/testing/small_problem.h"

namespace hone {
namespace {

using testing::SmallGraph;
using testing::SmallProblem;

std::string Complaint(const std::string& inputs, const std::string& outputs, const std::string& nodes) {
  const auto graph = Graph::Create(SmallProblem("fp32", inputs, outputs, nodes));
  if (graph) return "";
  EXPECT_EQ(graph.error().kind, ErrorKind::kUsage);
  return graph.error().message;
}

TEST(GraphTest, StagesComeInAnOrderInWhichTheyRun) {
  const Graph graph = SmallGraph("fp32", "x f32 4x8", "y f32 4x8",
                                 R"([{"op": "aten.exp.default", "args": {"self": "%x"}, "outputs": ["t"]},
                                     {"op": "aten._softmax.default", "args": {"self": "%t", "dim": -1}, "outputs": ["y"]}])");
  for (std::size_t s = 0; s < graph.stages().size(); ++s) {
    Visit(graph.stages()[s].value, [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad) return;
      EXPECT_LT(graph.buffers()[static_cast<std::size_t>(node.buffer)].stage, static_cast<int>(s));
    });
  }
  EXPECT_EQ(graph.buffers()[static_cast<std::size_t>(graph.Output(0))].name, "y");
}

TEST(GraphTest, NumbersAreNotConcatenatedAndRealsHaveNoBits) {
  EXPECT_EQ(Complaint("x f32 4x6", "y f32 4",
                      R"([{"op": "sum", "args": {"self": "%x"}, "outputs": ["s"]},
                          {"op": "cat", "args": {"tensors": ["%s", "%s"], "dim": 0}, "outputs": ["y"]}])"),
            "/graph/1 (cat): needs tensors of at least one dimension");
  EXPECT_EQ(Complaint("x f32 4", "y f32 4",
                      R"([{"op": "bitwise_and", "args": {"self": "%x", "other": "%x"}, "outputs": ["y"]}])"),
            "/graph/0 (bitwise_and): reals have no bits to combine: cast them first");
  EXPECT_EQ(Complaint("x f32 4, i f32 2", "y f32 2",
                      R"([{"op": "index_select", "args": {"self": "%x", "dim": 0, "index": "%i"}, "outputs": ["y"]}])"),
            "/graph/0 (index_select): indices have to be whole numbers (i64, i32): cast them first");
}

TEST(GraphTest, AnUnknownOperatorIsNamedWithItsNode) {
  EXPECT_EQ(
      Complaint("x f32 4", "y f32 4", R"([{"op": "aten.frobnicate", "args": {"self": "%x"}, "outputs": ["y"]}])"),
      "/graph/0 (aten.frobnicate): hone does not know this operator; `hone graph --ops` lists those that it does");
  Problem imported = testing::SmallProblem("fp32", "x f32 4", "y f32 4", R"([
      {"op": "aten.exp", "args": {"self": "%x"}, "outputs": ["t"]},
      {"op": "aten.frobnicate", "args": {"self": "%t"}, "outputs": ["y"]}])");
  imported.provenance = {{"source", "models/model.py"}, {"lines", "8 12"}};
  EXPECT_EQ(Graph::Create(imported).error().message,
            "/graph/1 (aten.frobnicate, model.py:12): hone does not know this operator; `hone graph --ops` lists those "
            "that it does");
}

TEST(GraphTest, ABadArgumentIsNamedWithItsNode) {
  EXPECT_EQ(
      Complaint(
          "x f32 4", "y f32 4",
          R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["t"]}, {"op": "exp", "args": {}, "outputs": ["y"]}])"),
      "/graph/1 (exp): argument 'self' is missing");
  EXPECT_EQ(Complaint("x f32 4", "y f32 4", R"([{"op": "sum", "args": {"self": "%x", "dim": [3]}, "outputs": ["y"]}])"),
            "/graph/0 (sum): dimension 3 is out of range for 1 dimensions");
  EXPECT_EQ(Complaint("x f32 4, z f32 5", "y f32 4",
                      R"([{"op": "add", "args": {"self": "%x", "other": "%z"}, "outputs": ["y"]}])"),
            "/graph/0 (add): shapes [4] and [5] do not broadcast");
  EXPECT_EQ(Complaint("x f32 4", "y f32 4",
                      R"([{"op": "gelu", "args": {"self": "%x", "approximate": 3}, "outputs": ["y"]}])"),
            "/graph/0 (gelu): argument 'approximate' has to be a string");
}

TEST(GraphTest, AnArgumentThatTheOperatorDoesNotHaveIsNamedWithTheNearestOrAll) {
  const auto of = [](const std::string& op, const std::string& more) {
    return Complaint("x f32 4", "y f32 4",
                     R"([{"op": ")" + op + R"(", "args": {"self": "%x", )" + more + R"(}, "outputs": ["y"]}])");
  };
  EXPECT_EQ(of("_softmax", R"("dim": 0, "half_to_flot": false)"),
            "/graph/0/args/half_to_flot (_softmax): the operator has no such argument; did you mean 'half_to_float'?");
  EXPECT_EQ(of("clamp", R"("minimum": 0, "max": 1)"),
            "/graph/0/args/minimum (clamp): the operator has no such argument; there are max, min, self");
  EXPECT_EQ(of("clamp", R"("minimum": null, "max": 1)"), "");  // None is absent
  EXPECT_EQ(of("clone", R"("memory_format": "torch.contiguous_format")"), "");
}

TEST(GraphTest, WhatWasTracedHasArgumentsThatPyTorchKnows) {
  Problem problem = testing::SmallProblem("torch", "x f32 4", "y f32 4",
                                          R"([{"op": "exp", "args": {"self": "%x", "more": 1}, "outputs": ["y"]}])");
  EXPECT_FALSE(Graph::Create(problem));
  problem.provenance["importer"] = "kernelbench_py";
  EXPECT_TRUE(Graph::Create(problem));
}

TEST(GraphTest, AnOutputOfAnotherShapeOrTypeIsRefused) {
  EXPECT_EQ(Complaint("x f32 4", "y f32 5", R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["y"]}])"),
            "/tensors/1: output 'y' is declared f32[5] but the graph makes f32[4]");
  EXPECT_EQ(Complaint("x f32 4", "y f64 4", R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["y"]}])"),
            "/tensors/1: output 'y' is declared f64[4] but the graph makes f32[4]");
}

TEST(GraphTest, AnInputHandedThroughIsCopied) {
  const Graph graph =
      SmallGraph("fp32", "x f32 4", "y f32 4", R"([{"op": "alias", "args": {"self": "%x"}, "outputs": ["y"]}])");
  EXPECT_GE(graph.buffers()[static_cast<std::size_t>(graph.Output(0))].stage, 0);
}

TEST(GraphTest, MoreResultsThanTheOperatorMakesAreRefused) {
  EXPECT_EQ(
      Complaint("x f32 4", "y f32 4, z f32 4", R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["y", "z"]}])"),
      "/graph/0 (exp): makes 1 results but 2 are named");
}

TEST(GraphTest, AReshapeSaysWhoseElementsItHas) {
  const Graph graph =
      SmallGraph("fp32", "x f32 4x6", "y f32 24",
                 R"([{"op": "aten.view.default", "args": {"self": "%x", "size": [2, 12]}, "outputs": ["v"]},
                                     {"op": "aten.view.default", "args": {"self": "%v", "size": [-1]}, "outputs": ["w"]},
                                     {"op": "exp", "args": {"self": "%w"}, "outputs": ["y"]}])");
  EXPECT_EQ(graph.stages()[0].reshape_of, 0);
  EXPECT_EQ(graph.stages()[1].reshape_of, graph.stages()[0].buffer);
}

TEST(GraphTest, ASequenceLivesOrDiesAsOne) {
  const std::string nodes = R"([{"op": "cummax", "args": {"self": "%x", "dim": 1}, "outputs": ["v", "y"]}])";
  const Graph used = SmallGraph("fp32", "x f32 4x8", "y i64 4x8", nodes);
  EXPECT_EQ(LiveStages(used), (std::vector<bool>{true, true}));
  EXPECT_EQ(SequenceEnd(used, 0), 2u);
  const Graph unused =
      SmallGraph("fp32", "x f32 4x8", "z f32 4x8",
                 nodes.substr(0, nodes.size() - 1) + R"(, {"op": "exp", "args": {"self": "%x"}, "outputs": ["z"]}])");
  EXPECT_EQ(LiveStages(unused), (std::vector<bool>{false, false, true}));
}

// The shape of what an overwriting operator looks up: the last source of each place.
Shape ShapeOfLast(const Graph& graph) {
  for (const Buffer& buffer : graph.buffers()) {
    if (buffer.name.find("last") != std::string::npos) return buffer.shape;
  }
  return {-1};
}

TEST(GraphTest, WhatIsWrittenToWholeRowsIsLookedUpOnceARow) {
  const auto shape = [](const std::string& inputs, const std::string& node) {
    return ShapeOfLast(testing::SmallGraph("fp32", "x f32 2x3x8x4, " + inputs, "y f32 2x3x8x4", "[" + node + "]"));
  };
  EXPECT_EQ(
      shape(
          "i i64 2, s f32 2x3x2x4",
          R"({"op": "index_copy", "args": {"self": "%x", "dim": 2, "index": "%i", "source": "%s"}, "outputs": ["y"]})"),
      Shape({8}));
  EXPECT_EQ(
      shape(
          "i i64 2, j i64 2, s f32 2x3x4",
          R"({"op": "index_put", "args": {"self": "%x", "indices": ["%i", null, "%j"], "values": "%s"}, "outputs": ["y"]})"),
      Shape({2, 8}));
  EXPECT_EQ(
      shape("i i64 2x3x8x4, s f32 2x3x8x4",
            R"({"op": "scatter", "args": {"self": "%x", "dim": 2, "index": "%i", "src": "%s"}, "outputs": ["y"]})"),
      Shape({2, 3, 8, 4}));
}

}  // namespace
}  // namespace hone
