// Where maps become one, what was between them is what its type would have held.
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

// y, i32[64] or as wide as said, of x by `op` of it and a number, in x's type.
std::string Wide(const std::string& type, const std::string& op, const std::string& number,
                 const std::string& high = "100", const std::string& made = "i32") {
  return testing::WrittenText(R"({"hone_problem": 1, "name": "wide", "tensors": [
    {"name": "x", "shape": [64], "dtype": ")" +
                              type + R"(", "role": "input", "generator": {"kind": "integer", "low": 0, "high": )" +
                              high + R"(}},
    {"name": "y", "shape": [64], "dtype": ")" +
                              made + R"(", "role": "output"}], "graph": [
    {"op": "aten.)" + op + R"(", "args": {"self": "%x", "other": )" +
                              number + R"(}, "outputs": ["s"]},
    {"op": "aten._to_copy.default", "args": {"self": "%s", "dtype": ")" +
                              made + R"("}, "outputs": ["y"]}]})");
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

TEST(WrappedTest, WholeNumbersOf32BitsWrapWhereTheyGoOnWiderAlone) {
  const std::string wide = Wide("i32", "mul.Tensor", "50000", "100000", "i64");
  EXPECT_NE(wide.find("mod(x * 50000 + int(2147483648), int(4294967296)) - int(2147483648)"), std::string::npos)
      << wide;
  const std::string fits = Wide("i32", "mul.Tensor", "50000", "100", "i64");
  EXPECT_NE(fits.find("map(x * 50000)"), std::string::npos) << "of what is drawn: " << fits;
  const std::string narrow = Wide("i32", "mul.Tensor", "50000", "100000", "u8");
  EXPECT_NE(narrow.find("map(x * 50000)"), std::string::npos) << "the lowest bits are the same: " << narrow;
}

TEST(WrappedTest, OfWhatAMaskLeavesOnlyTheLowestBitsAreMade) {
  const auto masked = [](const std::string& mask) {
    return testing::WrittenText(R"({"hone_problem": 1, "name": "masked", "tensors": [
      {"name": "x", "shape": [64], "dtype": "i32", "role": "input", "generator": {"kind": "integer", "low": -9999, "high": 9999}},
      {"name": "y", "shape": [64], "dtype": "i32", "role": "output"}], "graph": [
      {"op": "aten._to_copy.default", "args": {"self": "%x", "dtype": "i8"}, "outputs": ["s"]},
      {"op": "aten._to_copy.default", "args": {"self": "%s", "dtype": "i32"}, "outputs": ["t"]},
      {"op": "aten.bitwise_and.Scalar", "args": {"self": "%t", "other": )" +
                                mask + R"(}, "outputs": ["y"]}]})");
  };
  EXPECT_NE(masked("15").find("map(and(x, 15))"), std::string::npos) << masked("15");
  EXPECT_NE(masked("255").find("map(and(x, 255))"), std::string::npos) << masked("255");
  EXPECT_NE(masked("256").find("mod("), std::string::npos) << "its sign fills more bits: " << masked("256");
  EXPECT_NE(masked("-2").find("mod("), std::string::npos) << masked("-2");
}

// y, f32[64], of x in f32 by a number, in f8 in between.
std::string Rounded(const std::string& type, const std::string& op, const std::string& number) {
  return testing::WrittenText(R"({"hone_problem": 1, "name": "rounded", "tensors": [
    {"name": "x", "shape": [64], "dtype": "f16", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "y", "shape": [64], "dtype": "f32", "role": "output"}], "graph": [
    {"op": "aten.)" + op + R"(", "args": {"self": "%x"}, "outputs": ["s"]},
    {"op": "aten._to_copy.default", "args": {"self": "%s", "dtype": ")" +
                              type + R"("}, "outputs": ["r"]},
    {"op": "aten._to_copy.default", "args": {"self": "%r", "dtype": "f32"}, "outputs": ["f"]},
    {"op": "aten.mul.Tensor", "args": {"self": "%f", "other": )" +
                              number + R"(}, "outputs": ["y"]}]})");
}

TEST(WrappedTest, RealsBeyondATypeWithoutInfinitiesAreItsLargest) {
  EXPECT_NE(Rounded("f8e4m3", "exp.default", "2").find("map(min(max(exp(x), -448), 448) * 2)"), std::string::npos)
      << Rounded("f8e4m3", "exp.default", "2");
  EXPECT_NE(Rounded("f8e4m3", "tanh.default", "2").find("map(tanh(x) * 2)"), std::string::npos) << "it is within";
  EXPECT_NE(Rounded("f8e5m2", "exp.default", "2").find("map(exp(x) * 2)"), std::string::npos)
      << "from an infinity on any number is as good";
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
