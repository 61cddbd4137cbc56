// Which maps a norm makes beside its own result.
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

std::string Graph(const std::string& outputs, const std::string& nodes) {
  const auto tensor = [](const std::string& name, const std::string& shape, const std::string& rest) {
    return R"({"name": ")" + name + R"(", "shape": )" + shape + R"(, "dtype": "bf16", )" + rest + "}";
  };
  const std::string drawn = R"("role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1})";
  std::string tensors;
  for (const std::string name : {"x", "r", "z"}) tensors += tensor(name, "[4, 64, 256]", drawn) + ", ";
  tensors += tensor("w", "[256, 256]", drawn);
  for (const char output : outputs)
    tensors += ", " + tensor(std::string(1, output), "[4, 64, 256]", R"("role": "output")");
  return R"({"hone_problem": 1, "name": "n", "tensors": [)" + tensors + R"(], "graph": [)" + nodes + "]}";
}

constexpr char kNorm[] =
    R"({"op": "add", "args": {"self": "%x", "other": "%r"}, "outputs": ["s"]},
       {"op": "layer_norm", "args": {"input": "%s", "normalized_shape": [256]}, "outputs": ["y"]})";

std::size_t Statements(const std::string& text) {
  const auto parsed = dsl::Parse(text);
  return std::get<dsl::Program>(parsed).statements.size();
}

TEST(NormTest, ASumAndItsNormAreOneStatement) {
  for (const DeviceModel& device : {TypicalDevice(), DeviceModel{}}) {
    const std::string text = WrittenText(Graph("ys", kNorm), {}, device);
    EXPECT_EQ(Statements(text), 1u) << text;
    EXPECT_NE(text.find("also s: [4, 64, 256] = x_view + r_view"), std::string::npos) << text;
  }
}

TEST(NormTest, WhatALaterStatementReadsIsMadeBesideItToo) {
  const std::string text = WrittenText(Graph("yo", std::string(kNorm) +
                                                       R"(, {"op": "linear", "args": {"input": "%s", "weight": "%w",
                                                           "bias": null}, "outputs": ["o"]})"));
  EXPECT_EQ(Statements(text), 2u) << text;
  EXPECT_NE(text.find("also s: bf16 = x_view + r_view"), std::string::npos) << text;
  EXPECT_LT(text.find("also s"), text.find("matmul(s")) << text;
}

TEST(NormTest, OfSumsThatAreNoneOfARowItIsOneAllTheSame) {
  const std::string text = WrittenText(R"({"hone_problem": 1, "name": "n", "tensors": [
  {"name": "x", "shape": [64, 2, 256], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [64, 256], "dtype": "bf16", "role": "output"}],
 "graph": [{"op": "sum", "args": {"self": "%x", "dim": [1]}, "outputs": ["s"]},
  {"op": "rms_norm", "args": {"input": "%s", "normalized_shape": [256], "eps": 1e-5}, "outputs": ["y"]}]})");
  EXPECT_NE(text.find("s: bf16 = reduce sum(x) over [1]"), std::string::npos) << text;
  EXPECT_NE(text.find("y = norm(s) over [1]"), std::string::npos) << text;
}

// By a product and by who looks up rows, of which the second cannot read the norm's own dimensions.
TEST(NormTest, WhatIsRoundedForSeveralIsWrittenOnce) {
  const std::string text = WrittenText(R"({"hone_problem": 1, "name": "n", "tensors": [
  {"name": "x", "shape": [2, 128, 256], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "g", "shape": [256], "dtype": "f32", "role": "parameter", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "w", "shape": [256, 64], "dtype": "bf16", "role": "parameter", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "c", "shape": [512], "dtype": "i64", "role": "input", "generator": {"kind": "integer", "low": 0, "high": 256}},
  {"name": "y", "shape": [256, 64], "dtype": "bf16", "role": "output"},
  {"name": "z", "shape": [512, 256], "dtype": "bf16", "role": "output"}],
 "graph": [{"op": "_to_copy", "args": {"self": "%x", "dtype": "f32"}, "outputs": ["f"]},
  {"op": "rms_norm", "args": {"input": "%f", "normalized_shape": [256], "weight": "%g", "eps": 1e-5}, "outputs": ["n"]},
  {"op": "_to_copy", "args": {"self": "%n", "dtype": "bf16"}, "outputs": ["h"]},
  {"op": "aten.view.default", "args": {"self": "%h", "size": [256, 256]}, "outputs": ["rows"]},
  {"op": "aten.mm.default", "args": {"self": "%rows", "mat2": "%w"}, "outputs": ["y"]},
  {"op": "aten.index.Tensor", "args": {"self": "%rows", "indices": ["%c"]}, "outputs": ["z"]}]})");
  EXPECT_NE(text.find("h: bf16 = norm("), std::string::npos) << text;
  EXPECT_EQ(Statements(text), 3u) << text;
}

TEST(NormTest, WhatARowHasOneOfIsMadeBesideItsElements) {
  const auto written = [](const std::string& outputs, const std::string& nodes, const DeviceModel& device) {
    return WrittenText(R"({"hone_problem": 1, "name": "n", "tensors": [
      {"name": "x", "shape": [64, 256], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
      {"name": "g", "shape": [64, 256], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}}, )" +
                           outputs + R"(], "graph": [)" + nodes + "]}",
                       {}, device);
  };
  const std::string quantized = R"({"op": "_to_copy", "args": {"self": "%x", "dtype": "f32"}, "outputs": ["f"]},
      {"op": "abs", "args": {"self": "%f"}, "outputs": ["a"]},
      {"op": "amax", "args": {"self": "%a", "dim": [-1], "keepdim": true}, "outputs": ["m"]},
      {"op": "div.Scalar", "args": {"self": "%m", "other": 127}, "outputs": ["s"]},
      {"op": "div.Tensor", "args": {"self": "%f", "other": "%s"}, "outputs": ["d"]},
      {"op": "round", "args": {"self": "%d"}, "outputs": ["n"]},
      {"op": "_to_copy", "args": {"self": "%n", "dtype": "i8"}, "outputs": ["q"]})";
  const std::string of_rows = R"({"op": "_to_copy", "args": {"self": "%x", "dtype": "f32"}, "outputs": ["f"]},
      {"op": "mean.dim", "args": {"self": "%f", "dim": [-1], "keepdim": true}, "outputs": ["m"]},
      {"op": "sub.Tensor", "args": {"self": "%f", "other": "%m"}, "outputs": ["y"]},
      {"op": "mul.Tensor", "args": {"self": "%g", "other": "%m"}, "outputs": ["h"]},
      {"op": "sum.dim_IntList", "args": {"self": "%h", "dim": [0]}, "outputs": ["c"]})";
  std::string of_rows_turned = of_rows;
  of_rows_turned.replace(of_rows_turned.find(R"(["y"]})"), 6, R"(["d"]},
      {"op": "view", "args": {"self": "%d", "size": [16, 4, 256]}, "outputs": ["v"]},
      {"op": "transpose.int", "args": {"self": "%v", "dim0": 0, "dim1": 1}, "outputs": ["t"]},
      {"op": "clone", "args": {"self": "%t"}, "outputs": ["y"]})");
  for (const DeviceModel& device : {TypicalDevice(), DeviceModel{}}) {
    const std::string both = written(R"({"name": "q", "shape": [64, 256], "dtype": "i8", "role": "output"},
                                        {"name": "s", "shape": [64, 1], "dtype": "f32", "role": "output"})",
                                     quantized, device);
    EXPECT_EQ(Statements(both), 1u) << both;
    EXPECT_NE(both.find("also s: [64, 1] = "), std::string::npos) << both;
    // What only others read, behind it.
    const std::string read = written(R"({"name": "y", "shape": [64, 256], "dtype": "f32", "role": "output"},
                                        {"name": "c", "shape": [256], "dtype": "f32", "role": "output"})",
                                     of_rows, device);
    EXPECT_EQ(Statements(read), 2u) << read;
    EXPECT_NE(read.find("also m_2: [64] = m"), std::string::npos) << read;
    // Rows whose map has them in another order than who reads what is stored.
    const std::string turned = written(R"({"name": "y", "shape": [4, 16, 256], "dtype": "f32", "role": "output"},
                                          {"name": "c", "shape": [256], "dtype": "f32", "role": "output"})",
                                       of_rows_turned, device);
    EXPECT_EQ(turned.find("also"), std::string::npos) << turned;
  }
}

TEST(NormTest, OtherMapsStayApart) {
  // One that reads more than the norm does.
  const std::string more = WrittenText(
      Graph("yo", std::string(kNorm) + R"(, {"op": "mul", "args": {"self": "%s", "other": "%z"}, "outputs": ["o"]})"));
  EXPECT_EQ(more.find("also"), std::string::npos) << more;
  // One that the norm has to wait for: a product reads it, and the norm that product.
  const std::string waits =
      WrittenText(Graph("ys", R"({"op": "add", "args": {"self": "%x", "other": "%r"}, "outputs": ["s"]},
                     {"op": "linear", "args": {"input": "%s", "weight": "%w", "bias": null}, "outputs": ["p"]},
                     {"op": "softmax", "args": {"self": "%p", "dim": -1}, "outputs": ["q"]},
                     {"op": "add", "args": {"self": "%q", "other": "%x"}, "outputs": ["t"]},
                     {"op": "add", "args": {"self": "%t", "other": "%r"}, "outputs": ["u"]},
                     {"op": "layer_norm", "args": {"input": "%u", "normalized_shape": [256]}, "outputs": ["y"]})"));
  EXPECT_EQ(waits.find("also"), std::string::npos) << waits;
  const std::string taken_back = WrittenText(Graph("ys", kNorm), {.maps = false, .norms = false});
  EXPECT_EQ(taken_back.find("also"), std::string::npos) << taken_back;
}

}  // namespace
}  // namespace hone::expert
