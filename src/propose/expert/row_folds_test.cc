// Sums over rows of which they read the softmax: no softmax is written, where what is summed comes apart.
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// Tensors x and z [64, 128, 300], an output [64, 128] or of one element.
std::string Graph(const std::string& nodes, const std::string& shape = "[64, 128]") {
  const std::string drawn = R"("role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1})";
  std::string tensors;
  for (const std::string name : {"x", "z"})
    tensors += R"({"name": ")" + name + R"(", "shape": [64, 128, 300], "dtype": "f32", )" + drawn + "}, ";
  return R"({"hone_problem": 1, "name": "n", "tensors": [)" + tensors + R"({"name": "y", "shape": )" + shape +
         R"(, "dtype": "f32", "role": "output"}], "graph": [)" + nodes + "]}";
}
std::string Node(const std::string& op, const std::string& args, const std::string& output) {
  return R"({"op": ")" + op + R"(", "args": {)" + args + R"(}, "outputs": [")" + output + R"("]})";
}
const std::string kP = Node("softmax", R"("self": "%x", "dim": -1)", "p");
const std::string kLogQ = Node("log_softmax", R"("self": "%z", "dim": -1)", "lq");
const std::string kSum = Node("sum", R"("self": "%t", "dim": [-1])", "y");

std::size_t Statements(const std::string& text) {
  const auto parsed = dsl::Parse(text);
  return std::get<dsl::Program>(parsed).statements.size();
}

TEST(RowFoldsTest, ACrossEntropyOfTwoRowsIsOneStatement) {
  const std::string text =
      WrittenText(Graph(kP + "," + kLogQ + "," + Node("mul", R"("self": "%p", "other": "%lq")", "t") + "," + kSum));
  EXPECT_EQ(Statements(text), 1u) << text;
  EXPECT_EQ(text.find("softmax"), std::string::npos) << text;
  EXPECT_NE(text.find("reduce max("), std::string::npos) << text;
}

TEST(RowFoldsTest, TheSumOfAllRowsIsAStatementBehind) {
  const std::string text =
      WrittenText(Graph(kP + "," + kLogQ + "," + Node("mul", R"("self": "%p", "other": "%lq")", "t") + "," +
                            Node("sum", R"("self": "%t", "dim": [0, 1, 2])", "y"),
                        "[]"));
  EXPECT_EQ(Statements(text), 2u) << text;
  EXPECT_EQ(text.find("softmax"), std::string::npos) << text;
}

TEST(RowFoldsTest, TheDivergenceFromALogarithmComesApart) {
  // exp(lq) * (lq - log p) where both are log_softmax.
  const std::string text = WrittenText(Graph(Node("log_softmax", R"("self": "%x", "dim": -1)", "lp") + "," + kLogQ +
                                             "," + Node("exp", R"("self": "%lq")", "q") + "," +
                                             Node("sub", R"("self": "%lq", "other": "%lp")", "d") + "," +
                                             Node("mul", R"("self": "%q", "other": "%d")", "t") + "," + kSum));
  EXPECT_EQ(Statements(text), 1u) << text;
}

TEST(RowFoldsTest, OneElementOfMoreDimensionsThanARowHasEndsIt) {
  std::string graph =
      Graph(Node("sum", R"("self": "%x", "dim": [-1])", "t") + "," + Node("sub", R"("self": "%t", "other": "%b")", "y"),
            "[1, 1, 64, 128]");
  graph.insert(graph.find(R"({"name": "y")"), R"({"name": "b", "shape": [1, 1, 1, 1], "dtype": "f32",
      "role": "parameter", "generator": {"kind": "uniform", "low": 0, "high": 1}}, )");
  const std::string text = WrittenText(graph);
  EXPECT_EQ(Statements(text), 1u) << text;
  EXPECT_NE(text.find("reduce sum("), std::string::npos) << text;
}

TEST(RowFoldsTest, WhatDoesNotComeApartIsWritten) {
  // A logarithm of a softmax that may be zero is not what a difference is.
  const std::string logarithm = WrittenText(Graph(kP + "," + Node("log", R"("self": "%p")", "l") + "," +
                                                  Node("mul", R"("self": "%p", "other": "%l")", "t") + "," + kSum));
  EXPECT_NE(logarithm.find("softmax"), std::string::npos) << logarithm;
  // A sine reads the sum in another way.
  const std::string sine = WrittenText(Graph(kP + "," + Node("sin", R"("self": "%p")", "l") + "," +
                                             Node("mul", R"("self": "%p", "other": "%l")", "t") + "," + kSum));
  EXPECT_NE(sine.find("softmax"), std::string::npos) << sine;
  const std::string taken_back =
      WrittenText(Graph(kP + "," + kLogQ + "," + Node("mul", R"("self": "%p", "other": "%lq")", "t") + "," + kSum),
                  {.norms = false});
  EXPECT_GT(Statements(taken_back), 1u) << taken_back;
}

}  // namespace
}  // namespace hone::expert
