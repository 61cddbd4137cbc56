#include "candidate/plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

namespace hone {

extern const std::string_view kPlanSchema;  // docs/plan.schema.json

namespace {

constexpr char kPlan[] = R"({
 "hone_plan": 1,
 "sources": [{"name": "a.cu", "text": ["line one", "line two"], "flags": ["-use_fast_math"]}, {"name": "b.cu", "text": "x"}],
 "buffers": [{"name": "part", "dtype": "f32", "shape": [132, 2]}],
 "prepare": [{"do": "memset", "buffer": "part", "byte": 255}],
 "steps": [{"do": "launch", "kernel": "rows<float, 4>", "source": "b.cu", "grid": [128, 2], "block": [256], "cluster": [2],
   "shared": 65536, "together": 8, "arguments": [
     {"kind": "buffer", "name": "x"}, {"kind": "buffer", "name": "part", "offset": 2},
     {"kind": "i32", "value": -5}, {"kind": "u64", "value": 18446744073709551615}, {"kind": "f32", "value": "-inf"},
     {"kind": "tensor_map", "buffer": "x", "shape": [8, 64], "strides": [64, 1], "box": [8, 32], "swizzle": 128},
     {"kind": "tensor_map", "buffer": "x", "shape": [8, 64], "strides": [64, 1], "box": [8, 32], "promote": 128},
     {"kind": "tensor_map", "buffer": "x", "shape": [2, 4, 4, 16], "strides": [256, 64, 16, 1], "box": [64, 16],
      "tf32": true, "pixels": {"lower": [-1, -1], "upper": [-1, -1], "stride": [1, 2]}}]}]
})";

Plan Parsed(std::string_view text) {
  auto parsed = ParsePlan(text);
  if (const auto* issue = std::get_if<PlanIssue>(&parsed)) {
    ADD_FAILURE() << issue->where << ": " << issue->message;
    return {};
  }
  return std::get<Plan>(std::move(parsed));
}

// "where: message" of a plan with `from` in place of `what`.
std::string Issue(std::string_view what, std::string_view from) {
  std::string text = kPlan;
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  text.replace(at, what.size(), from);
  const auto parsed = ParsePlan(text);
  const auto* issue = std::get_if<PlanIssue>(&parsed);
  return issue ? issue->where + ": " + issue->message : "accepted";
}

TEST(PlanTest, TheSchemaKnowsTheElementTypesOfTheTable) {
  auto known = nlohmann::json::array();
  for (const auto& row : kDTypes) known.push_back(row.name);
  const auto schema = nlohmann::json::parse(kPlanSchema);
  EXPECT_EQ(schema["$defs"]["buffer"]["properties"]["dtype"]["enum"], known);
}

TEST(PlanTest, APlanIsReadAsWritten) {
  const Plan plan = Parsed(kPlan);
  EXPECT_EQ(plan.arch, "");  // of the device that it is built for
  ASSERT_EQ(plan.sources.size(), 2u);
  EXPECT_EQ(plan.sources[0].text, "line one\nline two\n");
  EXPECT_EQ(std::get<MemsetStep>(plan.prepare.at(0)).byte, 255);
  const auto& launch = std::get<LaunchStep>(plan.steps.at(0));
  EXPECT_EQ(launch.source, 1u);
  EXPECT_EQ(launch.grid, (std::array<std::int64_t, 3>{128, 2, 1}));
  EXPECT_EQ(launch.cluster, (std::array<std::int64_t, 3>{2, 1, 1}));
  EXPECT_EQ(launch.together, 8);
  ASSERT_EQ(launch.arguments.size(), 8u);
  const auto& pixels = std::get<TensorMapArgument>(launch.arguments[7]);
  ASSERT_TRUE(pixels.tf32 && pixels.pixels);
  EXPECT_EQ(pixels.pixels->stride, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(std::get<BufferArgument>(launch.arguments[1]).offset, 2);
  EXPECT_EQ(std::get<std::int64_t>(std::get<NumberArgument>(launch.arguments[2]).value), -5);
  EXPECT_EQ(std::get<std::uint64_t>(std::get<NumberArgument>(launch.arguments[3]).value), UINT64_MAX);
  EXPECT_EQ(std::get<double>(std::get<NumberArgument>(launch.arguments[4]).value), -HUGE_VAL);
  EXPECT_EQ(std::get<TensorMapArgument>(launch.arguments[5]).swizzle, 128);
  EXPECT_EQ(std::get<TensorMapArgument>(launch.arguments[5]).promote, 256);
  EXPECT_EQ(std::get<TensorMapArgument>(launch.arguments[6]).promote, 128);
}

constexpr char kCalls[] = R"({
 "hone_plan": 1, "sources": [],
 "buffers": [{"name": "ws", "dtype": "u8", "shape": [4096]}],
 "steps": [
   {"do": "cublaslt_matmul", "m": 8, "n": 16, "k": 32, "batch": 2, "compute": "tf32", "activation": "relu",
    "a": {"buffer": "x", "strides": [32, 1], "batch_stride": 256}, "b": {"buffer": "w", "offset": 4, "strides": [1, 32]},
    "c": {"buffer": "r", "strides": [16, 1]}, "beta": 0.5, "d": {"buffer": "y", "strides": [16, 1], "batch_stride": 128},
    "bias": {"buffer": "b"}, "algorithm": 3, "workspace": "ws"},
   {"do": "cudnn_convolution", "x": {"buffer": "x", "shape": [2, 4, 9]}, "w": {"buffer": "w", "shape": [6, 2, 3]},
    "y": {"buffer": "y", "shape": [2, 6, 9], "strides": [54, 1, 6]}, "padding": [1], "groups": 2}]
})";

TEST(PlanTest, CallsOfLibrariesAreReadAsWritten) {
  const Plan plan = Parsed(kCalls);
  EXPECT_TRUE(CallsLibraries(plan));
  EXPECT_FALSE(CallsLibraries(Parsed(kPlan)));
  const auto& matmul = std::get<MatmulStep>(plan.steps.at(0));
  EXPECT_EQ(matmul.batch, 2);
  EXPECT_EQ(matmul.compute, LibraryCompute::kTf32);
  EXPECT_EQ(matmul.activation, Activation::kRelu);
  EXPECT_EQ(matmul.b.strides, (std::array<std::int64_t, 2>{1, 32}));
  EXPECT_EQ(matmul.b.offset, 4);
  EXPECT_EQ(matmul.beta, 0.5);
  EXPECT_EQ(matmul.workspace, "ws");
  const auto& convolution = std::get<ConvolutionStep>(plan.steps.at(1));
  EXPECT_EQ(convolution.x.strides, (std::vector<std::int64_t>{36, 9, 1}));
  EXPECT_EQ(convolution.y.strides, (std::vector<std::int64_t>{54, 1, 6}));
  EXPECT_EQ(convolution.stride, std::vector<std::int64_t>{1});
  EXPECT_EQ(convolution.groups, 2);
  EXPECT_EQ(ToJson(Parsed(ToJson(plan))), ToJson(plan));
}

TEST(PlanTest, CallsThatSayHalfAreRefused) {
  const auto issue = [](std::string_view what, std::string_view with) {
    std::string text = kCalls;
    text.replace(text.find(what), what.size(), with);
    const auto parsed = ParsePlan(text);
    const auto* found = std::get_if<PlanIssue>(&parsed);
    return found ? found->where + ": " + found->message : "accepted";
  };
  EXPECT_EQ(issue(R"("beta": 0.5, )", ""), R"(/steps/0: with "c" goes a "beta" that is not 0)");
  EXPECT_EQ(issue(R"("padding": [1])", R"("padding": [1, 1])"),
            "/steps/1: padding has 2 numbers for 1 spatial dimensions");
  EXPECT_NE(issue(R"("compute": "tf32")", R"("compute": "tf23")"), "accepted");
  EXPECT_NE(issue(R"("m": 8, )", ""), "accepted");
}

TEST(PlanTest, WhatIsWrittenIsReadAgain) {
  const std::string once = ToJson(Parsed(kPlan));
  EXPECT_EQ(ToJson(Parsed(once)), once);
}

TEST(PlanTest, AMistakeIsNamedWithItsPlace) {
  EXPECT_EQ(Issue("\"i32\", \"value\": -5", "\"u8\", \"value\": 256"), "/steps/0/arguments/2: 256 is no u8");
  EXPECT_EQ(Issue("\"i32\", \"value\": -5", "\"i8\", \"value\": 128"), "/steps/0/arguments/2: 128 is no i8");
  EXPECT_EQ(Issue("\"source\": \"b.cu\"", "\"source\": \"c.cu\""), "/steps/0: there is no source 'c.cu'");
  EXPECT_EQ(Issue("\"source\": \"b.cu\", ", ""), "/steps/0: which source is 'rows<float, 4>' in? Add \"source\"");
  EXPECT_EQ(Issue("\"name\": \"b.cu\"", "\"name\": \"a.cu\""),
            "/sources/1: two sources are called 'a.cu': give each its own name");
  EXPECT_EQ(Issue("\"cluster\": [2]", "\"cluster\": [3]"),
            "/steps/0: a grid of 128 blocks does not divide into clusters of 3");
  EXPECT_EQ(Issue("\"together\": 8", "\"together\": 257"),
            "/steps/0: 257 blocks that wait for each other, in a grid of fewer");
  EXPECT_EQ(Issue("\"strides\": [64, 1]", "\"strides\": [64]"),
            "/steps/0/arguments/5: 2 extents, 1 strides and 2 box extents: give one a dimension");
  EXPECT_EQ(Issue("\"box\": [64, 16]", "\"box\": [1, 1, 64, 16]"),
            "/steps/0/arguments/7: 4 strides and 4 box extents: give 4 strides, and pixels x channels");
  EXPECT_EQ(Issue("\"stride\": [1, 2]", "\"stride\": [1]"),
            "/steps/0/arguments/7: pixels of a tensor [n, spatial.., channels] of 4 dimensions: give lower, upper and "
            "stride one number a spatial dimension, one to three");
  EXPECT_NE(Issue("\"stride\": [1, 2]", "\"stride\": [1, 9]"), "accepted");
  EXPECT_NE(Issue("\"do\": \"launch\"", "\"do\": \"lunch\""), "accepted");
  EXPECT_NE(Issue("\"shared\": 65536", "\"shared\": -1"), "accepted");
  EXPECT_TRUE(Issue("\"hone_plan\": 1,", "\"hone_plan\": 1").starts_with("byte ")) << Issue("\"hone_plan\": 1,", "");
}

TEST(PlanTest, DeepBracketsAreRefusedWithoutRecursion) {
  const auto parsed = ParsePlan(std::string(100000, '['));
  EXPECT_TRUE(std::holds_alternative<PlanIssue>(parsed));
}

}  // namespace
}  // namespace hone
