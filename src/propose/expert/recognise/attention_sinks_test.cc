// Attention whose softmax has a sink beside the scores of a row, and softmaxes of rows that are shifted before.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// 2 sequences of 6 heads, 32 queries of 48 keys; BESIDE makes the columns of the softmax, of `scores` and `sinks`, and
// CUT what the values are multiplied with.
std::string Sinks(std::string_view beside, std::string_view cut) {
  std::string text = R"({"hone_problem": 1, "name": "sinks", "tensors": [
  {"name": "q", "shape": [2, 6, 32, 64], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "k", "shape": [2, 6, 48, 64], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "v", "shape": [2, 6, 48, 64], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "sink", "shape": [6], "dtype": "f16", "role": "parameter", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [2, 6, 32, 64], "dtype": "f16", "role": "output"}],
 "graph": [{"op": "aten.permute.default", "args": {"self": "%k", "dims": [0, 1, 3, 2]}, "outputs": ["kt"]},
  {"op": "aten.view.default", "args": {"self": "%q", "size": [12, 32, 64]}, "outputs": ["qs"]},
  {"op": "aten.view.default", "args": {"self": "%kt", "size": [12, 64, 48]}, "outputs": ["ks"]},
  {"op": "aten.bmm.default", "args": {"self": "%qs", "mat2": "%ks"}, "outputs": ["bmm"]},
  {"op": "aten.view.default", "args": {"self": "%bmm", "size": [2, 6, 32, 48]}, "outputs": ["products"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%products", "other": 0.125}, "outputs": ["scores"]},
  {"op": "aten.view.default", "args": {"self": "%sink", "size": [1, -1, 1, 1]}, "outputs": ["heads"]},
  {"op": "aten.expand.default", "args": {"self": "%heads", "size": [2, 6, 32, 1]}, "outputs": ["sinks"]},
  BESIDE,
  {"op": "aten._softmax.default", "args": {"self": "%c", "dim": -1, "half_to_float": false}, "outputs": ["p"]},
  CUT,
  {"op": "aten.view.default", "args": {"self": "%cut", "size": [12, 32, 48]}, "outputs": ["ps"]},
  {"op": "aten.view.default", "args": {"self": "%v", "size": [12, 48, 64]}, "outputs": ["vs"]},
  {"op": "aten.bmm.default", "args": {"self": "%ps", "mat2": "%vs"}, "outputs": ["o"]},
  {"op": "aten.view.default", "args": {"self": "%o", "size": [2, 6, 32, 64]}, "outputs": ["y"]}]})";
  text.replace(text.find("BESIDE"), 6, beside);
  text.replace(text.find("CUT"), 3, cut);
  return text;
}

constexpr std::string_view kBehind =
    R"({"op": "aten.cat.default", "args": {"dim": -1, "tensors": ["%scores", "%sinks"]}, "outputs": ["c"]})";
constexpr std::string_view kAllButLast =
    R"({"op": "aten.slice.Tensor", "args": {"self": "%p", "dim": 3, "start": 0, "end": -1}, "outputs": ["cut"]})";
constexpr std::string_view kWithSinks =
    "y = attention(q, k, v) by {safe: 1}\n  let score = it * 0.125\n  -> it * sigmoid(lse() - sink_view)\n";

TEST(AttentionSinksTest, AColumnThatNoValueBelongsToTakesItsPartAtTheEnd) {
  const std::string program = WrittenText(Sinks(kBehind, kAllButLast));
  EXPECT_NE(program.find(kWithSinks), std::string::npos) << program;
  EXPECT_NE(program.find("view sink_view = sink: [6, 1, 1] strides [1, 0, 0]"), std::string::npos) << program;
}

TEST(AttentionSinksTest, TheColumnMayBeTheFirst) {
  const std::string program = WrittenText(
      Sinks(R"({"op": "aten.cat.default", "args": {"dim": -1, "tensors": ["%sinks", "%scores"]}, "outputs": ["c"]})",
            R"({"op": "aten.slice.Tensor", "args": {"self": "%p", "dim": 3, "start": 1}, "outputs": ["cut"]})"));
  EXPECT_NE(program.find(kWithSinks), std::string::npos) << program;
}

TEST(AttentionSinksTest, WhatIsSubtractedFromARowBeforeChangesNothing) {
  const std::string program = WrittenText(Sinks(
      R"({"op": "aten.cat.default", "args": {"dim": -1, "tensors": ["%scores", "%sinks"]}, "outputs": ["cat"]},
  {"op": "aten.amax.default", "args": {"self": "%cat", "dim": [-1], "keepdim": true}, "outputs": ["max"]},
  {"op": "aten.sub.Tensor", "args": {"self": "%cat", "other": "%max"}, "outputs": ["c"]})",
      kAllButLast));
  EXPECT_NE(program.find(kWithSinks), std::string::npos) << program;
}

// Without the operator: `row` makes `most` and `total` of the scores, and `end` the result, of `weights` and `whole`,
// their product with the values.
std::string InSteps(std::string_view row, std::string_view cut, std::string_view end) {
  std::string text = Sinks(row, cut);
  const auto replace = [&](std::string_view what, std::string_view with) {
    text.replace(text.find(what), what.size(), with);
  };
  replace(
      R"(  {"op": "aten._softmax.default", "args": {"self": "%c", "dim": -1, "half_to_float": false}, "outputs": ["p"]},
)",
      "");
  if (end.empty()) return text;
  replace(R"("size": [2, 6, 32, 64]}, "outputs": ["y"]})", R"("size": [2, 6, 32, 64]}, "outputs": ["whole"]},
  )" + std::string(end));
  return text;
}

constexpr std::string_view kSinkInSum =
    R"({"op": "aten.amax.default", "args": {"self": "%scores", "dim": [-1], "keepdim": true}, "outputs": ["top"]},
  {"op": "aten.maximum.default", "args": {"self": "%top", "other": "%heads"}, "outputs": ["most"]},
  {"op": "aten.sub.Tensor", "args": {"self": "%scores", "other": "%most"}, "outputs": ["over"]},
  {"op": "aten.exp.default", "args": {"self": "%over"}, "outputs": ["weights"]},
  {"op": "aten.sum.dim_IntList", "args": {"self": "%weights", "dim": [-1], "keepdim": true}, "outputs": ["sum"]},
  {"op": "aten.sub.Tensor", "args": {"self": "%heads", "other": "%most"}, "outputs": ["under"]},
  {"op": "aten.exp.default", "args": {"self": "%under"}, "outputs": ["part"]},
  {"op": "aten.add.Tensor", "args": {"self": "%sum", "other": "%part"}, "outputs": ["total"]})";
constexpr std::string_view kAsTheyAre =
    R"({"op": "aten.clone.default", "args": {"self": "%weights"}, "outputs": ["cut"]})";
constexpr std::string_view kDividedAfter =
    R"({"op": "aten.div.Tensor", "args": {"self": "%whole", "other": "%total"}, "outputs": ["y"]})";

TEST(AttentionSinksTest, ASinkMayBeInTheSumOfARowAlone) {
  for (const bool after : {false, true}) {
    const std::string program =
        after ? WrittenText(InSteps(kSinkInSum, kAsTheyAre, kDividedAfter))
              : WrittenText(InSteps(
                    kSinkInSum,
                    R"({"op": "aten.div.Tensor", "args": {"self": "%weights", "other": "%total"}, "outputs": ["cut"]})",
                    ""));
    EXPECT_NE(program.find("= attention("), std::string::npos) << program;
    EXPECT_NE(program.find("by {safe: 1}"), std::string::npos) << program;
    EXPECT_NE(program.find("-> it * sigmoid(lse() - sink_view)"), std::string::npos) << program;
    EXPECT_EQ(program.find("exp("), std::string::npos) << program;
  }
}

TEST(AttentionSinksTest, WeightsMayBeDividedByTheirSumBehindTheValues) {
  constexpr std::string_view kRow =
      R"({"op": "aten.amax.default", "args": {"self": "%scores", "dim": [-1], "keepdim": true}, "outputs": ["most"]},
  {"op": "aten.sub.Tensor", "args": {"self": "%scores", "other": "%most"}, "outputs": ["over"]},
  {"op": "aten.exp.default", "args": {"self": "%over"}, "outputs": ["weights"]},
  {"op": "aten.sum.dim_IntList", "args": {"self": "%weights", "dim": [-1], "keepdim": true}, "outputs": ["total"]})";
  const std::string program = WrittenText(InSteps(kRow, kAsTheyAre, kDividedAfter));
  EXPECT_NE(program.find("= attention("), std::string::npos) << program;
  EXPECT_EQ(program.find("exp("), std::string::npos) << program;
  EXPECT_EQ(program.find("sigmoid("), std::string::npos) << program;
}

// As a kernel that gives the logarithm of the sum beside its result is corrected.
TEST(AttentionSinksTest, TheLogarithmOfTheRowsOwnSumIsMadeByTheKernel) {
  const auto corrected = [](std::string_view of) {
    return WrittenText(InSteps(
        R"({"op": "aten._softmax.default", "args": {"self": "%scores", "dim": -1, "half_to_float": false}, "outputs": ["cut"]})",
        R"({"op": "aten.logsumexp.default", "args": {"self": ")" + std::string(of) +
            R"(", "dim": [-1], "keepdim": true}, "outputs": ["lse"]},
  {"op": "aten.sub.Tensor", "args": {"self": "%lse", "other": "%heads"}, "outputs": ["over"]},
  {"op": "aten.sigmoid.default", "args": {"self": "%over"}, "outputs": ["part"]})",
        R"({"op": "aten.mul.Tensor", "args": {"self": "%whole", "other": "%part"}, "outputs": ["y"]})"));
  };
  const std::string program = corrected("%scores");
  EXPECT_NE(program.find("let score = it * 0.125\n  -> it * sigmoid(lse() - sink_view)\n"), std::string::npos)
      << program;
  EXPECT_EQ(program.find("reduce"), std::string::npos) << program;
  // Of other rows it is a value of its own.
  EXPECT_EQ(corrected("%products").find("lse()"), std::string::npos) << corrected("%products");
}

TEST(AttentionSinksTest, AColumnAmongTheCutOnesThatIsAScoreIsNoSink) {
  // The first key's probability is left out, and the sink's is multiplied with the last value.
  const std::string program = WrittenText(Sinks(
      kBehind, R"({"op": "aten.slice.Tensor", "args": {"self": "%p", "dim": 3, "start": 1}, "outputs": ["cut"]})"));
  EXPECT_EQ(program.find("attention("), std::string::npos) << program;
  EXPECT_NE(program.find("softmax("), std::string::npos) << program;
}

TEST(AttentionSinksTest, AttentionOfShiftedScoresIsAttention) {
  const std::string program = WrittenText(Sinks(
      R"({"op": "aten.amax.default", "args": {"self": "%scores", "dim": [-1], "keepdim": true}, "outputs": ["max"]},
  {"op": "aten.sub.Tensor", "args": {"self": "%scores", "other": "%max"}, "outputs": ["c"]})",
      R"({"op": "aten.clone.default", "args": {"self": "%p"}, "outputs": ["cut"]})"));
  EXPECT_NE(program.find(" = attention(q_view, k_view, v_view)\n  let score = it * 0.125\n"), std::string::npos)
      << program;
}

std::string Shifted(std::string_view by) {
  std::string text = R"({"hone_problem": 1, "name": "shifted", "tensors": [
  {"name": "x", "shape": [64, 100], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "r", "shape": [64, 1], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [64, 100], "dtype": "f32", "role": "output"}],
 "graph": [BY,
  {"op": "aten.sub.Tensor", "args": {"self": "%x", "other": "%by"}, "outputs": ["shifted"]},
  {"op": "aten._softmax.default", "args": {"self": "%shifted", "dim": -1, "half_to_float": false}, "outputs": ["y"]}]})";
  text.replace(text.find("BY"), 2, by);
  return text;
}

TEST(AttentionSinksTest, ASoftmaxOfAShiftedRowIsThatOfTheRow) {
  for (const std::string_view fold : {"amax", "mean"}) {
    const std::string program =
        WrittenText(Shifted(R"({"op": "aten.)" + std::string(fold) + (fold == "mean" ? ".dim" : ".default") +
                            R"(", "args": {"self": "%x", "dim": [-1], "keepdim": true}, "outputs": ["by"]})"));
    EXPECT_NE(program.find("y = softmax(x) over [1]\n"), std::string::npos) << program;
  }
}

}  // namespace
}  // namespace hone::expert
