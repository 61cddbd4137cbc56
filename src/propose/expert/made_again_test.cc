// What several kernels read is made again in each of them, or once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

std::string GraphOfStream(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                          const std::vector<std::string>& nodes) {
  std::string text;
  const auto tensor = [&](const std::string& name, const std::string& rest) {
    text += fmt::format(R"({}{{"name": "{}", "shape": [256, 256], "dtype": "bf16", {}}})", text.empty() ? "" : ", ",
                        name, rest);
  };
  const std::string drawn = R"("generator": {"kind": "uniform", "low": 0, "high": 1})";
  for (const auto& name : inputs) tensor(name, R"("role": "input", )" + drawn);
  tensor("w", R"("role": "parameter", )" + drawn);
  for (const auto& name : outputs) tensor(name, R"("role": "output")");
  return fmt::format(R"({{"hone_problem": 1, "name": "n", "tensors": [{}], "graph": [{}]}})", text,
                     fmt::join(nodes, ", "));
}
std::string AddOf(const std::string& a, const std::string& b, const std::string& made) {
  return fmt::format(R"({{"op": "add", "args": {{"self": "%{}", "other": "%{}"}}, "outputs": ["{}"]}})", a, b, made);
}
std::string LinearOf(const std::string& x, const std::string& made) {
  return fmt::format(
      R"({{"op": "linear", "args": {{"input": "%{}", "weight": "%w", "bias": null}}, "outputs": ["{}"]}})", x, made);
}
std::string TurnOf(const std::string& x, const std::string& made) {
  return fmt::format(R"({{"op": "permute", "args": {{"self": "%{}", "dims": [1, 0]}}, "outputs": ["{}"]}})", x, made);
}
std::string NormOfRows(const std::string& x, const std::string& made) {
  return fmt::format(
      R"({{"op": "layer_norm", "args": {{"input": "%{}", "normalized_shape": [256]}}, "outputs": ["{}"]}})", x, made);
}

std::size_t SumsIn(const std::string& line) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = line.find(" + ", at)) != std::string::npos; ++at) ++count;
  return count;
}

// Each block's product reads the stream, and adds to it what lies across.
TEST(MadeAgainTest, AStreamThatAProductReadsTooIsReadByTheNextSum) {
  std::vector<std::string> nodes;
  std::string stream = "x";
  for (int block = 0; block < 5; ++block) {
    const std::string made = fmt::format("l{}", block), turned = fmt::format("t{}", block);
    const std::string next = block < 4 ? fmt::format("s{}", block) : "y";
    nodes.push_back(LinearOf(stream, made));
    nodes.push_back(TurnOf(made, turned));
    nodes.push_back(AddOf(stream, turned, next));
    stream = next;
  }
  for (const DeviceModel& device : {TypicalDevice(), DeviceModel{}}) {
    const std::string text = WrittenText(GraphOfStream({"x"}, {"y"}, nodes), {}, device);
    std::size_t sums = 0, begin = 0;
    while (begin < text.size()) {
      const std::size_t end = text.find('\n', begin);
      const std::string line = text.substr(begin, end - begin);
      EXPECT_LE(SumsIn(line), 1u) << line;
      sums += SumsIn(line);
      begin = end + 1;
    }
    EXPECT_EQ(sums, 5u) << text;
  }
}

// A norm and the product's end that adds to the same stream: three tensors, read twice, are more than their sum.
TEST(MadeAgainTest, ANormWritesASumOfManyThatOthersReadToo) {
  const std::vector<std::string> rest = {NormOfRows("s", "n"), LinearOf("n", "o"), AddOf("s", "o", "y")};
  std::vector<std::string> of_three = {AddOf("x", "a", "h"), AddOf("h", "b", "s")}, of_two = {AddOf("x", "a", "s")};
  of_three.insert(of_three.end(), rest.begin(), rest.end());
  of_two.insert(of_two.end(), rest.begin(), rest.end());
  for (const DeviceModel& device : {TypicalDevice(), DeviceModel{}}) {
    const std::string three = WrittenText(GraphOfStream({"x", "a", "b"}, {"y"}, of_three), {}, device);
    EXPECT_NE(three.find("  also s: bf16 = x + a + b\n"), std::string::npos) << three;
    EXPECT_NE(three.find("-> s + it\n"), std::string::npos) << three;
    const std::string two = WrittenText(GraphOfStream({"x", "a"}, {"y"}, of_two), {}, device);
    EXPECT_EQ(two.find("  also "), std::string::npos) << two;
  }
}

// Its statistics go through maps, as a mean of squares does: still one norm, and nobody else reads it.
TEST(MadeAgainTest, WhatOneNormReadsIsMadeInIt) {
  const std::string text = WrittenText(
      GraphOfStream({"x", "a", "b"}, {"y"},
                    {AddOf("x", "a", "h"), AddOf("h", "b", "s"),
                     R"({"op": "pow.Tensor_Scalar", "args": {"self": "%s", "exponent": 2}, "outputs": ["q"]})",
                     R"({"op": "mean.dim", "args": {"self": "%q", "dim": [1], "keepdim": true}, "outputs": ["m"]})",
                     R"({"op": "rsqrt", "args": {"self": "%m"}, "outputs": ["r"]})",
                     R"({"op": "mul", "args": {"self": "%s", "other": "%r"}, "outputs": ["y"]})"}));
  EXPECT_EQ(std::get<dsl::Program>(dsl::Parse(text)).statements.size(), 1u) << text;
  EXPECT_EQ(text.find("  also "), std::string::npos) << text;
}

}  // namespace
}  // namespace hone::expert
