// Which products of segments of terms become segment_matmul.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// The weights' gradient of experts whose rows, 100 in all, end where data says.
std::string Gradient(const std::string& type) {
  const std::string drawn = R"("generator": {"kind": "uniform", "low": 0, "high": 1})";
  return fmt::format(R"({{"hone_problem": 1, "name": "experts", "tensors": [
  {{"name": "x", "shape": [100, 64], "dtype": "{0}", "role": "input", {1}}},
  {{"name": "z", "shape": [100, 96], "dtype": "{0}", "role": "input", {1}}},
  {{"name": "ends", "shape": [6], "dtype": "i32", "role": "input", "generator": {{"kind": "integer", "low": 0, "high": 100}}}},
  {{"name": "y", "shape": [6, 64, 96], "dtype": "{0}", "role": "output"}}],
 "graph": [{{"op": "aten.permute.default", "args": {{"self": "%x", "dims": [1, 0]}}, "outputs": ["xt"]}},
  {{"op": "aten._grouped_mm.default", "args": {{"self": "%xt", "mat2": "%z", "offs": "%ends"}}, "outputs": ["made"]}},
  {{"op": "aten.relu.default", "args": {{"self": "%made"}}, "outputs": ["y"]}}]}})",
                     type, drawn);
}

TEST(SegmentProductTest, TermsOfEachExpertAreOneStatement) {
  const std::string program = WrittenText(Gradient("bf16"));
  EXPECT_NE(program.find("y = segment_matmul(x_view, z, ends)"), std::string::npos) << program;
  EXPECT_NE(program.find("-> relu(it)"), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
}

TEST(SegmentProductTest, AProcessorHasThemInAnyType) {
  for (const char* type : {"f32", "bf16"}) {
    const std::string program = WrittenText(Gradient(type), {}, DeviceModel{});
    EXPECT_NE(program.find("y = segment_matmul(x_view, z, ends)"), std::string::npos) << program;
  }
}

TEST(SegmentProductTest, WhatNoKernelMakesIsANest) {
  const std::string program = WrittenText(Gradient("f32"));
  EXPECT_EQ(program.find("segment_matmul"), std::string::npos) << program;
  EXPECT_NE(program.find("nest"), std::string::npos) << program;
}

}  // namespace
}  // namespace hone::expert
