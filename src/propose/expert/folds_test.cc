// Folds of the same rows of which one reads the others: one kernel, whatever they share and however many they are.
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

std::string OverRows(const std::string& nodes) {
  return R"({"hone_problem": 1, "name": "folds", "tensors": [
  {"name": "p", "shape": [64, 500], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "t", "shape": [64, 500], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "m", "shape": [64, 500], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [64], "dtype": "f32", "role": "output"}],
 "graph": [{"op": "aten.mul.Tensor", "args": {"self": "%p", "other": "%m"}, "outputs": ["pm"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%t", "other": "%m"}, "outputs": ["tm"]},
  {"op": "aten.sum.dim_IntList", "args": {"self": "%m", "dim": [1]}, "outputs": ["count"]},
  {"op": "aten.sum.dim_IntList", "args": {"self": "%pm", "dim": [1]}, "outputs": ["ps"]},
  {"op": "aten.sum.dim_IntList", "args": {"self": "%tm", "dim": [1]}, "outputs": ["ts"]}, )" +
         nodes + "]}";
}

std::size_t Kernels(const std::string& program) {
  std::size_t kernels = 0;
  for (std::size_t at = 0; (at = program.find(" = reduce ", at)) != std::string::npos; ++at) ++kernels;
  return kernels;
}

// What is read, what is right, and how far they are apart, are each a sum over how many there are.
TEST(FoldsTest, SumsThatAreDividedByTheSameCountAreOneKernel) {
  const std::string program = WrittenText(OverRows(
      R"({"op": "aten.clamp.default", "args": {"self": "%count", "min": 1}, "outputs": ["some"]},
  {"op": "aten.div.Tensor", "args": {"self": "%ps", "other": "%some"}, "outputs": ["pa"]},
  {"op": "aten.div.Tensor", "args": {"self": "%ts", "other": "%some"}, "outputs": ["ta"]},
  {"op": "aten.sub.Tensor", "args": {"self": "%pa", "other": "%ta"}, "outputs": ["y"]})"));
  EXPECT_EQ(Kernels(program), 1U) << program;
  EXPECT_NE(program.find(" = max(sum(m), 1)\n"), std::string::npos) << program;
}

// A dice loss: twice what both have, over what they have together.
TEST(FoldsTest, OneThatAnotherHasJoinedJoinsAThird) {
  const std::string program = WrittenText(OverRows(
      R"({"op": "aten.add.Tensor", "args": {"self": "%ts", "other": "%count"}, "outputs": ["both"]},
  {"op": "aten.div.Tensor", "args": {"self": "%ps", "other": "%both"}, "outputs": ["y"]})"));
  EXPECT_EQ(Kernels(program), 1U) << program;
}

// The classes of a contrastive loss are 0, 1, 2 ..., none of which is left out.
TEST(FoldsTest, HowManyRowsCountIsANumberWhereAllDo) {
  const std::string program = WrittenText(OverRows(
      R"({"op": "aten.arange.start_step", "args": {"start": 0, "end": 64}, "outputs": ["classes"]},
  {"op": "aten.ne.Scalar", "args": {"self": "%classes", "other": -100}, "outputs": ["count_too"]},
  {"op": "aten.sum.dim_IntList", "args": {"self": "%count_too", "dim": []}, "outputs": ["counted"]},
  {"op": "aten._to_copy.default", "args": {"self": "%counted", "dtype": "f32"}, "outputs": ["rows"]},
  {"op": "aten.div.Tensor", "args": {"self": "%ps", "other": "%rows"}, "outputs": ["y"]})"));
  EXPECT_EQ(program.find("(1)"), std::string::npos) << program;
  EXPECT_NE(program.find(" / 64"), std::string::npos) << program;
}

// The largest of a row, which exponentials are less: those who read it before they fold go through the row again.
TEST(FoldsTest, WhatIsReadBeforeItIsFoldedIsNoEnd) {
  const std::string program = WrittenText(OverRows(
      R"({"op": "aten.unsqueeze.default", "args": {"self": "%ps", "dim": 1}, "outputs": ["column"]},
  {"op": "aten.sub.Tensor", "args": {"self": "%t", "other": "%column"}, "outputs": ["less"]},
  {"op": "aten.abs.default", "args": {"self": "%less"}, "outputs": ["far"]},
  {"op": "aten.sum.dim_IntList", "args": {"self": "%far", "dim": [1]}, "outputs": ["fars"]},
  {"op": "aten.div.Tensor", "args": {"self": "%fars", "other": "%ps"}, "outputs": ["y"]})"));
  EXPECT_EQ(Kernels(program), 2U) << program;
}

}  // namespace
}  // namespace hone::expert
