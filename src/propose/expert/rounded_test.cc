// Products of what was rounded to 16 bits: products of 16 bits, of maps that round.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/way.h"
#include "propose/expert/beginnings.h"
#include "propose/expert/cost.h"
#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

constexpr Fusion kRounded = {.rounded = true};

// `nodes` of x and w in f32, both rounded to bf16 as `a` and `b`, to y in bf16.
std::string Rounded(std::string_view nodes, std::string_view output = "[512, 256]", std::string_view role = "input",
                    int rows = 512) {
  return fmt::format(R"({{"hone_problem": 1, "name": "rounded", "contract": "torch", "tensors": [
  {{"name": "x", "shape": [{}, 256], "dtype": "f32", "role": "input", "generator": {{"kind": "normal", "mean": 0, "deviation": 1}}}},
  {{"name": "w", "shape": [256, 256], "dtype": "f32", "role": "{}", "generator": {{"kind": "normal", "mean": 0, "deviation": 1}}}},
  {{"name": "y", "shape": {}, "dtype": "bf16", "role": "output"}}],
 "graph": [{{"op": "aten._to_copy.default", "args": {{"self": "%x", "dtype": "bf16"}}, "outputs": ["a"]}},
  {{"op": "aten._to_copy.default", "args": {{"self": "%w", "dtype": "bf16"}}, "outputs": ["b"]}},
  {}]}})",
                     rows, role, output, nodes);
}

const std::string kProduct =
    R"({"op": "aten.permute.default", "args": {"self": "%b", "dims": [1, 0]}, "outputs": ["t"]},
  {"op": "aten.mm.default", "args": {"self": "%a", "mat2": "%t"}, "outputs": ["y"]})";

// Under autocast a network's products are of halves, and each is told from its neighbours, which could be attention
// without a softmax.
TEST(RoundedTest, TwoProductsInARowAreOfHalvesBoth) {
  const std::string program =
      WrittenText(Rounded(R"({"op": "aten.mm.default", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["h"]},
  {"op": "aten.gelu.default", "args": {"self": "%h"}, "outputs": ["g"]},
  {"op": "aten._to_copy.default", "args": {"self": "%w", "dtype": "bf16"}, "outputs": ["c"]},
  {"op": "aten.permute.default", "args": {"self": "%c", "dims": [1, 0]}, "outputs": ["t"]},
  {"op": "aten.mm.default", "args": {"self": "%g", "mat2": "%t"}, "outputs": ["y"]})"),
                  kRounded);
  EXPECT_NE(program.find("a: bf16 = map("), std::string::npos) << program;
  EXPECT_NE(program.find("b: bf16 = map("), std::string::npos) << program;
}

TEST(RoundedTest, WhatAProductReadsIsRoundedFirst) {
  const std::string program = WrittenText(Rounded(kProduct), kRounded);
  EXPECT_NE(program.find("a: bf16 = map("), std::string::npos) << program;
  EXPECT_NE(program.find("b: bf16 = map("), std::string::npos) << program;
  EXPECT_NE(program.find("= b: [256, 256] strides [1, 256]"), std::string::npos) << "turned by a view: " << program;
  EXPECT_EQ(WrittenText(Rounded(kProduct)).find("map("), std::string::npos);
}

TEST(RoundedTest, WhatNoProductReadsIsRoundedWhereItIsRead) {
  const std::string program =
      WrittenText(Rounded(R"({"op": "aten.relu.default", "args": {"self": "%a"}, "outputs": ["y"]})"), kRounded);
  EXPECT_EQ(program.find("a: bf16"), std::string::npos) << program;
}

TEST(RoundedTest, AProductWithOneOperandOfF32IsOneOfF32) {
  const std::string nodes =
      R"({"op": "aten._to_copy.default", "args": {"self": "%a", "dtype": "f32"}, "outputs": ["c"]},
  {"op": "aten.mm.default", "args": {"self": "%c", "mat2": "%w"}, "outputs": ["p"]},
  {"op": "aten._to_copy.default", "args": {"self": "%p", "dtype": "bf16"}, "outputs": ["y"]})";
  EXPECT_EQ(WrittenText(Rounded(nodes), kRounded).find("a: bf16"), std::string::npos);
}

TEST(RoundedTest, WhatIsRoundedTwiceIsRoundedOnce) {
  const std::string nodes =
      R"({"op": "aten._to_copy.default", "args": {"self": "%x", "dtype": "bf16"}, "outputs": ["c"]},
  {"op": "aten.mm.default", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["p"]},
  {"op": "aten.view.default", "args": {"self": "%c", "size": [2, 256, 256]}, "outputs": ["parts"]},
  {"op": "aten.view.default", "args": {"self": "%parts", "size": [512, 256]}, "outputs": ["d"]},
  {"op": "aten.permute.default", "args": {"self": "%d", "dims": [1, 0]}, "outputs": ["t"]},
  {"op": "aten.mm.default", "args": {"self": "%t", "mat2": "%p"}, "outputs": ["y"]})";
  const std::string program = WrittenText(Rounded(nodes, "[256, 256]"), kRounded);
  EXPECT_NE(program.find("a: bf16 = map("), std::string::npos) << program;
  EXPECT_EQ(program.find("c: bf16"), std::string::npos) << program;
}

TEST(RoundedTest, TheProductOf16BitsIsPredictedToBeFaster) {
  for (const char* const role : {"input", "parameter"}) {
    const auto problem = ParseProblem(Rounded(kProduct, "[65536, 256]", role, 65536), "test");
    ASSERT_TRUE(problem) << problem.error().message;
    const auto graph = Graph::Create(*problem);
    ASSERT_TRUE(graph) << graph.error().message;
    const auto beginnings = BeginningsIn(*graph, TypicalDevice());
    ASSERT_GE(beginnings.size(), 2u);
    EXPECT_EQ(beginnings[1].words, "everything fused, operands of products rounded first");
    EXPECT_EQ(beginnings[0].kernels.kernels[0].way->name, "f32x3");
    EXPECT_EQ(beginnings[1].kernels.kernels.back().way->name, "bf16");
    EXPECT_LT(Predict(beginnings[1].kernels, TypicalDevice()), Predict(beginnings[0].kernels, TypicalDevice())) << role;
  }
}

}  // namespace
}  // namespace hone::expert
