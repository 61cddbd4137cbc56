// Whole numbers of few bits wrap around where maps become one, too.
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

// y, i32[64], of x by `op` of it and a number, in x's type.
std::string Wide(const std::string& type, const std::string& op, const std::string& number) {
  return testing::WrittenText(R"({"hone_problem": 1, "name": "wide", "tensors": [
    {"name": "x", "shape": [64], "dtype": ")" +
                              type + R"(", "role": "input", "generator": {"kind": "integer", "low": 0, "high": 100}},
    {"name": "y", "shape": [64], "dtype": "i32", "role": "output"}], "graph": [
    {"op": "aten.)" + op + R"(", "args": {"self": "%x", "other": )" +
                              number + R"(}, "outputs": ["s"]},
    {"op": "aten._to_copy.default", "args": {"self": "%s", "dtype": "i32"}, "outputs": ["y"]}]})");
}

TEST(WrappedTest, WhatDoesNotFitWrapsInBetween) {
  const auto makes = [](const std::string& program, const std::string& what) {
    return program.find("y = map(" + what + ")") != std::string::npos;
  };
  EXPECT_TRUE(makes(Wide("i8", "mul.Tensor", "20"), "mod(x * 20 + 128, 256) - 128")) << Wide("i8", "mul.Tensor", "20");
  EXPECT_TRUE(makes(Wide("u8", "sub.Tensor", "8"), "mod(x - 8, 256)")) << Wide("u8", "sub.Tensor", "8");
  EXPECT_TRUE(makes(Wide("u8", "bitwise_and.Scalar", "15"), "and(x, 15)")) << Wide("u8", "bitwise_and.Scalar", "15");
  EXPECT_TRUE(makes(Wide("i32", "mul.Tensor", "20"), "x * 20")) << Wide("i32", "mul.Tensor", "20");
}

TEST(WrappedTest, WhatTurnsOutToFitDoesNotWrap) {
  const std::string program = testing::WrittenText(R"({"hone_problem": 1, "name": "halves", "tensors": [
    {"name": "x", "shape": [64], "dtype": "u8", "role": "input", "generator": {"kind": "integer", "low": 0, "high": 100}},
    {"name": "y", "shape": [64], "dtype": "i32", "role": "output"}], "graph": [
    {"op": "aten.bitwise_and.Scalar", "args": {"self": "%x", "other": 15}, "outputs": ["a"]},
    {"op": "aten._to_copy.default", "args": {"self": "%a", "dtype": "i8"}, "outputs": ["s"]},
    {"op": "aten.sub.Tensor", "args": {"self": "%s", "other": 8}, "outputs": ["d"]},
    {"op": "aten._to_copy.default", "args": {"self": "%d", "dtype": "i32"}, "outputs": ["y"]}]})");
  EXPECT_NE(program.find("y = map(and(x, 15) - 8)"), std::string::npos) << program;
}

}  // namespace
}  // namespace hone::expert
