// Which maps become one of several results.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

std::string Op(const std::string& op, const std::string& a, const std::string& b, const std::string& made) {
  return fmt::format(R"({{"op": "{}", "args": {{"self": "%{}", "other": {}}}, "outputs": ["{}"]}})", op, a,
                     b[0] >= '0' && b[0] <= '9' ? b : "\"%" + b + "\"", made);
}
std::string Of(const std::string& op, const std::string& a, const std::string& made) {
  return fmt::format(R"({{"op": "{}", "args": {{"self": "%{}"}}, "outputs": ["{}"]}})", op, a, made);
}
const std::string kLinear =
    R"({"op": "linear", "args": {"input": "%s", "weight": "%w", "bias": null}, "outputs": ["o"]})";

struct Tensors {
  std::vector<std::string> inputs, outputs;
  std::string shape = "[64, 256]";
};
std::string Graph(const Tensors& tensors, const std::vector<std::string>& nodes) {
  std::string text;
  const auto tensor = [&](const std::string& name, const std::string& shape, const std::string& rest) {
    text += fmt::format(R"({}{{"name": "{}", "shape": {}, "dtype": "bf16", {}}})", text.empty() ? "" : ", ", name,
                        shape, rest);
  };
  const std::string drawn = R"("generator": {"kind": "uniform", "low": 0, "high": 1})";
  for (const auto& name : tensors.inputs) tensor(name, tensors.shape, R"("role": "input", )" + drawn);
  tensor("w", "[256, 256]", R"("role": "parameter", )" + drawn);
  tensor("b", "[256]", R"("role": "input", )" + drawn);
  for (const auto& name : tensors.outputs) tensor(name, tensors.shape, R"("role": "output")");
  return fmt::format(R"({{"hone_problem": 1, "name": "n", "tensors": [{}], "graph": [{}]}})", text,
                     fmt::join(nodes, ", "));
}

std::size_t StatementsIn(const std::string& text) {
  const auto parsed = dsl::Parse(text);
  return std::get<dsl::Program>(parsed).statements.size();
}
std::size_t Further(const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find("\n  also ", at)) != std::string::npos; ++at) ++count;
  return count;
}

// The graph on a device and on a processor.
void ExpectWritten(const std::string& graph, std::size_t statements, std::size_t further) {
  for (const DeviceModel& device : {TypicalDevice(), DeviceModel{}}) {
    const std::string text = WrittenText(graph, {}, device);
    EXPECT_EQ(StatementsIn(text), statements) << text;
    EXPECT_EQ(Further(text), further) << text;
  }
}

TEST(FuseResultsTest, AnOptimizersStepIsOneMap) {
  ExpectWritten(
      Graph({.inputs = {"p", "g", "m", "v"}, .outputs = {"n", "u", "q"}},
            {Op("mul", "m", "0.9", "a"), Op("mul", "g", "0.1", "c"), Op("add", "a", "c", "n"), Op("mul", "g", "g", "h"),
             Op("mul", "v", "0.99", "d"), Op("add", "d", "h", "u"), Of("sqrt", "u", "s"), Op("add", "s", "0.001", "e"),
             Op("div.Tensor", "n", "e", "f"), Op("sub.Tensor", "p", "f", "q")}),
      1, 2);
}

TEST(FuseResultsTest, GradientsOfBothFactorsAreOneMap) {
  ExpectWritten(
      Graph({.inputs = {"g", "x", "y"}, .outputs = {"p", "q"}}, {Op("mul", "g", "y", "p"), Op("mul", "g", "x", "q")}),
      1, 1);
}

TEST(FuseResultsTest, ASumAndWhatIsMadeOfItAreOneMap) {
  for (const std::string of : {"relu", "tanh"}) {
    ExpectWritten(Graph({.inputs = {"x", "r"}, .outputs = {"s", "y"}}, {Op("add", "x", "r", "s"), Of(of, "s", "y")}), 1,
                  1);
  }
  // What takes its time is made once, too, for whoever reads it at its own place.
  const std::string graph = Graph({.inputs = {"x", "r"}, .outputs = {"s", "y"}},
                                  {Of("tanh", "x", "s"), Op("mul", "s", "r", "h"), Op("add", "h", "s", "y")});
  ExpectWritten(graph, 1, 1);
}

TEST(FuseResultsTest, WhatAnotherResultAloneReadsIsNotWritten) {
  ExpectWritten(Graph({.inputs = {"x", "r"}, .outputs = {"y"}},
                      {Of("tanh", "x", "s"), Op("mul", "s", "r", "h"), Op("add", "h", "s", "y")}),
                1, 0);
}

// As blocks of diffusion models have it: x + gate of the sample * linear(y).
TEST(FuseResultsTest, AProductEndsWithWhatEachSampleHas) {
  const auto written = [](int samples, int rows) {
    const auto tensor = [](std::string_view name, std::string_view shape, std::string_view role) {
      return fmt::format(R"({{"name": "{}", "shape": {}, "dtype": "bf16", "role": "{}"{}}})", name, shape, role,
                         role == "output" ? "" : R"(, "generator": {"kind": "uniform", "low": 0, "high": 1})");
    };
    const std::string whole = fmt::format("[{}, {}, 256]", samples, rows),
                      flat = fmt::format("[{}, 256]", samples * rows);
    return WrittenText(fmt::format(
        R"({{"hone_problem": 1, "name": "n", "tensors": [{}, {}, {}, {}, {}], "graph": [
  {{"op": "view", "args": {{"self": "%y", "size": {}}}, "outputs": ["f"]}},
  {{"op": "mm", "args": {{"self": "%f", "mat2": "%w"}}, "outputs": ["p"]}},
  {{"op": "view", "args": {{"self": "%p", "size": {}}}, "outputs": ["q"]}},
  {{"op": "mul", "args": {{"self": "%g", "other": "%q"}}, "outputs": ["m"]}},
  {{"op": "add", "args": {{"self": "%x", "other": "%m"}}, "outputs": ["z"]}}]}})",
        tensor("x", whole, "input"), tensor("y", whole, "input"),
        tensor("g", fmt::format("[{}, 1, 256]", samples), "input"), tensor("w", "[256, 256]", "parameter"),
        tensor("z", whole, "output"), flat, whole));
  };
  const std::string apart = written(4, 256);
  EXPECT_EQ(apart.find("map("), std::string::npos) << apart;
  EXPECT_NE(apart.find("z = matmul("), std::string::npos) << apart;
  // Tiles of few rows each would be mostly empty.
  EXPECT_NE(written(256, 4).find("map("), std::string::npos);
}

TEST(FuseResultsTest, WhatAProductReadsIsMadeBesideAnotherResult) {
  const std::string text = WrittenText(
      Graph({.inputs = {"x", "r"}, .outputs = {"y", "o"}}, {Op("add", "x", "r", "s"), Of("relu", "s", "y"), kLinear}));
  EXPECT_EQ(StatementsIn(text), 2u) << text;
  EXPECT_EQ(Further(text), 1u) << text;
}

TEST(FuseResultsTest, WhatANormReadsGoesBesideTheNorm) {
  const std::string text = WrittenText(
      Graph({.inputs = {"x", "r"}, .outputs = {"s", "y", "z"}},
            {Op("add", "x", "r", "s"), Op("mul", "x", "r", "z"),
             R"({"op": "layer_norm", "args": {"input": "%s", "normalized_shape": [256]}, "outputs": ["y"]})"}));
  EXPECT_EQ(StatementsIn(text), 1u) << text;
  EXPECT_NE(text.find("norm("), std::string::npos) << text;
  EXPECT_EQ(Further(text), 2u) << text;
}

// As a norm in training keeps the mean and the variance of each row.
TEST(FuseResultsTest, ANormStoresAVarianceThatOthersReadToo) {
  const std::string text = WrittenText(R"({"hone_problem": 1, "name": "n", "tensors": [
      {"name": "x", "shape": [64, 256], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
      {"name": "m", "shape": [64, 1], "dtype": "f32", "role": "output"},
      {"name": "k", "shape": [64, 1], "dtype": "f32", "role": "output"},
      {"name": "y", "shape": [64, 256], "dtype": "f32", "role": "output"}], "graph": [
      {"op": "mean.dim", "args": {"self": "%x", "dim": [1], "keepdim": true}, "outputs": ["m"]},)" +
                                       Op("sub.Tensor", "x", "m", "c") + ", " + Op("mul", "c", "c", "s") +
                                       R"(, {"op": "mean.dim", "args": {"self": "%s", "dim": [1], "keepdim": true},
       "outputs": ["v"]}, )" + Op("add", "v", "0.001", "e") +
                                       ", " + Of("rsqrt", "e", "r") + ", " + Op("mul", "c", "r", "y") + ", " +
                                       Op("mul", "v", "0.1", "k") + "]}");
  EXPECT_LE(StatementsIn(text), 2u) << text;
  EXPECT_EQ(text.find("reduce"), std::string::npos) << text;
  EXPECT_EQ(Further(text), 2u) << text;
}

TEST(FuseResultsTest, NumbersAloneAreOfTheTypeThatTheGraphHas) {
  const std::string whole = R"({"hone_problem": 1, "name": "n", "tensors": [
      {"name": "x", "shape": [64], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
      {"name": "y", "shape": [64], "dtype": "f32", "role": "output"},
      {"name": "n", "shape": [64], "dtype": "i64", "role": "output"}], "graph": [)" +
                            Of("exp", "x", "y") + ", " + Op("gt", "x", "0.5", "c") +
                            R"(, {"op": "_to_copy", "args": {"self": "%c", "dtype": "i64"}, "outputs": ["n"]}]})";
  ExpectWritten(whole, 1, 1);
}

TEST(FuseResultsTest, OthersStayApart) {
  // A row that is small beside what they read else.
  ExpectWritten(
      Graph({.inputs = {"x", "r"}, .outputs = {"p", "q"}}, {Op("add", "x", "b", "p"), Op("add", "r", "b", "q")}), 2, 0);
  // Half of neither is read by the other.
  ExpectWritten(
      Graph({.inputs = {"x", "r", "s", "t", "u"}, .outputs = {"p", "q"}},
            {Op("mul", "x", "r", "c"), Op("mul", "c", "s", "p"), Op("mul", "x", "t", "d"), Op("mul", "d", "u", "q")}),
      2, 0);
  // The same elements at other places.
  ExpectWritten(Graph({.inputs = {"x"}, .outputs = {"p", "q"}, .shape = "[256, 256]"},
                      {Of("relu", "x", "p"),
                       R"({"op": "transpose.int", "args": {"self": "%x", "dim0": 0, "dim1": 1}, "outputs": ["t"]})",
                       Of("exp", "t", "q")}),
                2, 0);
  // One that has to wait: a product reads the first, and the other that product.
  const std::string waits = WrittenText(Graph(
      {.inputs = {"x", "r"}, .outputs = {"y"}},
      {Op("add", "x", "r", "s"), kLinear, R"({"op": "softmax", "args": {"self": "%o", "dim": -1}, "outputs": ["q"]})",
       Op("add", "q", "s", "t"), Of("tanh", "t", "y")}));
  EXPECT_EQ(Further(waits), 0u) << waits;
  // Of parameters alone.
  ExpectWritten(Graph({.inputs = {"x"}, .outputs = {"p", "q"}, .shape = "[256, 256]"},
                      {Of("exp", "w", "p"), Op("mul", "x", "w", "q")}),
                2, 0);
}

// Elements that are read across, in squares, which the dimensions of another map would cut; that is made beside what
// it reads.
TEST(FuseResultsTest, WhatIsReadInSquaresStillIs) {
  ExpectWritten(
      Graph({.inputs = {"x", "r"}, .outputs = {"p", "q"}, .shape = "[56, 56]"},
            {R"({"op": "view", "args": {"self": "%x", "size": [8, 8, 7, 7]}, "outputs": ["c"]})",
             R"({"op": "permute", "args": {"self": "%c", "dims": [0, 2, 1, 3]}, "outputs": ["d"]})",
             R"({"op": "reshape", "args": {"self": "%d", "shape": [56, 56]}, "outputs": ["e"]})", Of("exp", "e", "p"),
             R"({"op": "transpose.int", "args": {"self": "%r", "dim0": 0, "dim1": 1}, "outputs": ["t"]})",
             Op("mul", "p", "t", "q")}),
      2, 1);
}

TEST(FuseResultsTest, SoManyTensorsAreTooManyForOneKernel) {
  std::vector<std::string> inputs, nodes;
  std::string sum = "x0", product = "x0";
  inputs.push_back("x0");
  for (int i = 1; i < 11; ++i) {
    inputs.push_back(fmt::format("x{}", i));
    nodes.push_back(Op("add", sum, inputs.back(), i < 10 ? fmt::format("s{}", i) : "p"));
    nodes.push_back(Op("mul", product, inputs.back(), i < 10 ? fmt::format("m{}", i) : "q"));
    sum = fmt::format("s{}", i);
    product = fmt::format("m{}", i);
  }
  ExpectWritten(Graph({.inputs = inputs, .outputs = {"p", "q"}}, nodes), 2, 0);
}

TEST(FuseResultsTest, ItIsAChoiceThatTheSearchCanTakeBack) {
  const std::string text = WrittenText(
      Graph({.inputs = {"g", "x", "y"}, .outputs = {"p", "q"}}, {Op("mul", "g", "y", "p"), Op("mul", "g", "x", "q")}),
      {.maps = false});
  EXPECT_EQ(StatementsIn(text), 2u) << text;
}

}  // namespace
}  // namespace hone::expert
