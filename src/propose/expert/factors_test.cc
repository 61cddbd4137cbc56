// Numbers that scaled factors of products go behind them.
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// h = x * `number`, of one type, and y = h @ h.t() in `result`.
std::string OfItself(const std::string& type, const std::string& number, const std::string& result) {
  const bool reals = type[0] != 'i';
  const std::string generator =
      reals ? R"({"kind": "uniform", "low": 0, "high": 1})" : R"({"kind": "integer", "low": -9, "high": 9})";
  return WrittenText(R"({"hone_problem": 1, "name": "product", "contract": "torch", "tensors": [
    {"name": "x", "shape": [48, 64], "dtype": ")" +
                     type + R"(", "role": "input", "generator": )" + generator + R"(},
    {"name": "y", "shape": [48, 48], "dtype": ")" +
                     result + R"(", "role": "output"}], "graph": [
    {"op": "aten.mul.Tensor", "args": {"self": "%x", "other": )" +
                     number + R"(}, "outputs": ["s"]},
    {"op": "aten._to_copy.default", "args": {"self": "%s", "dtype": ")" +
                     result + R"("}, "outputs": ["h"]},
    {"op": "aten.permute.default", "args": {"self": "%h", "dims": [1, 0]}, "outputs": ["t"]},
    {"op": "aten.mm.default", "args": {"self": "%h", "mat2": "%t"}, "outputs": ["y"]}]})");
}

TEST(FactorsTest, ANumberOfBothFactorsThatAreOneGoesBehindTwice) {
  const std::string program = OfItself("bf16", "0.5", "bf16");
  EXPECT_NE(program.find("y = matmul(x, x_view) -> it * 0.5 * 0.5\n"), std::string::npos) << program;
}

// x is in 32 bits, what is multiplied in 16: hardswish ends so, and a product of f32 would take three of halves.
TEST(FactorsTest, WhatIsRoundedToFewerBitsThenStaysBefore) {
  const std::string program = WrittenText(R"({"hone_problem": 1, "name": "product", "contract": "torch", "tensors": [
    {"name": "x", "shape": [48, 64], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
    {"name": "y", "shape": [48, 48], "dtype": "bf16", "role": "output"}], "graph": [
    {"op": "aten.div.Tensor", "args": {"self": "%x", "other": 6}, "outputs": ["s"]},
    {"op": "aten._to_copy.default", "args": {"self": "%s", "dtype": "bf16"}, "outputs": ["h"]},
    {"op": "aten.permute.default", "args": {"self": "%h", "dims": [1, 0]}, "outputs": ["t"]},
    {"op": "aten.mm.default", "args": {"self": "%h", "mat2": "%t"}, "outputs": ["y"]}]})");
  EXPECT_NE(program.find(": bf16 = map(x_view / 6)"), std::string::npos) << program;
  EXPECT_EQ(program.find("-> it"), std::string::npos) << program;
}

TEST(FactorsTest, WhatTheirTypeDoesNotHoldStaysBefore) {
  const auto is_before = [](const std::string& program) {
    return program.find("map(") != std::string::npos && program.find("-> it") == std::string::npos;
  };
  EXPECT_TRUE(is_before(OfItself("i8", "20", "i32"))) << OfItself("i8", "20", "i32");
  EXPECT_TRUE(is_before(OfItself("i32", "1000", "i64"))) << OfItself("i32", "1000", "i64");
  EXPECT_TRUE(is_before(OfItself("f16", "512", "f32"))) << OfItself("f16", "512", "f32");
  EXPECT_FALSE(is_before(OfItself("f16", "0.5", "f16"))) << OfItself("f16", "0.5", "f16");
}

}  // namespace
}  // namespace hone::expert
