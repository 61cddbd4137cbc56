// Numbers below all scores that stand for -inf, in the spellings in which masks have them.
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// 48 queries and keys of that type; `masked` makes %masked of the scores %scaled, and may read how far a key is %ahead
// of its query, and its place %column. What follows `attention(q, k, v)`, up to the end.
std::string Attended(const std::string& type, const std::string& masked) {
  std::string tensors;
  for (const std::string name : {"q", "k", "v"}) {
    tensors += R"({"name": ")" + name + R"(", "shape": [2, 48, 64], "dtype": ")" + type +
               R"(", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},)";
  }
  const std::string program = WrittenText(
      R"({"hone_problem": 1, "name": "masked", "tensors": [)" + tensors +
      R"({"name": "at", "shape": [1], "dtype": "i64", "role": "input", "generator": {"kind": "integer", "low": 0, "high": 9}},
  {"name": "y", "shape": [2, 48, 64], "dtype": ")" +
      type + R"(", "role": "output"}],
 "graph": [{"op": "aten.permute.default", "args": {"self": "%k", "dims": [0, 2, 1]}, "outputs": ["kt"]},
  {"op": "aten.bmm.default", "args": {"self": "%q", "mat2": "%kt"}, "outputs": ["scores"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%scores", "other": 0.125}, "outputs": ["scaled"]},
  {"op": "aten.arange.start_step", "args": {"start": 0, "end": 48}, "outputs": ["arange"]},
  {"op": "aten.unsqueeze.default", "args": {"self": "%arange", "dim": 0}, "outputs": ["column"]},
  {"op": "aten.unsqueeze.default", "args": {"self": "%arange", "dim": 1}, "outputs": ["row"]},
  {"op": "aten.sub.Tensor", "args": {"self": "%column", "other": "%row"}, "outputs": ["ahead"]},
  )" + masked +
      R"(,
  {"op": "aten._softmax.default", "args": {"self": "%masked", "dim": -1, "half_to_float": false}, "outputs": ["weights"]},
  {"op": "aten.bmm.default", "args": {"self": "%weights", "mat2": "%v"}, "outputs": ["y"]}]})");
  const std::string head = "y = attention(q, k, v)";
  const auto at = program.find(head);
  EXPECT_NE(at, std::string::npos) << program;
  return at == std::string::npos ? "" : program.substr(at + head.size());
}

// Scores filled with a number where a key is further ahead of its query than `most`.
std::string Filled(const std::string& type, const std::string& number, const std::string& most = "0") {
  return Attended(type, R"({"op": "aten.gt.Scalar", "args": {"self": "%ahead", "other": )" + most +
                            R"(}, "outputs": ["hidden"]},
  {"op": "aten.masked_fill.Scalar", "args": {"self": "%scaled", "mask": "%hidden", "value": )" +
                            number + R"(}, "outputs": ["masked"]})");
}

constexpr char kCausal[] = " by {causal: 1}\n  let score = it * 0.125\n";

TEST(AttentionLeastTest, WhatNoScoreComesNearHides) {
  for (const std::string type : {"f32", "bf16", "f16"}) {
    EXPECT_EQ(Filled(type, "-1e9"), kCausal) << type;
    EXPECT_EQ(Filled(type, "-999292928"), kCausal) << type;
  }
  EXPECT_EQ(Filled("f16", "-65504"), kCausal);
}

TEST(AttentionLeastTest, WhatScoresMayBeIsAScore) {
  EXPECT_EQ(Filled("bf16", "-65504"), "\n  let score = select(0 < key() - query(), -65504, it * 0.125)\n");
  EXPECT_EQ(Filled("f32", "-10000"), "\n  let score = select(0 < key() - query(), -10000, it * 0.125)\n");
  EXPECT_EQ(Filled("f16", "-10000"), "\n  let score = select(0 < key() - query(), -10000, it * 0.125)\n");
}

TEST(AttentionLeastTest, KeysAreHiddenWhereEachQuerySeesOne) {
  EXPECT_EQ(Filled("f32", "-1e9", "7"), "\n  let score = select(7 < key() - query(), -inf, it * 0.125)\n");
  // The first query sees none, and all of them then.
  EXPECT_EQ(Filled("f32", "-1e9", "-1"), "\n  let score = select(-1 < key() - query(), -1000000000, it * 0.125)\n");
  EXPECT_EQ(
      Attended("f32", R"({"op": "aten.lt.Tensor", "args": {"self": "%at", "other": "%column"}, "outputs": ["hidden"]},
  {"op": "aten.masked_fill.Scalar", "args": {"self": "%scaled", "mask": "%hidden", "value": -1e9}, "outputs": ["masked"]})"),
      "\n  let score = select(at < key(), -1000000000, it * 0.125)\n");
}

TEST(AttentionLeastTest, AChoiceOfNumbersMayBeMadeOfOthers) {
  // (1 - tril(ones)) * -1e9 is added.
  EXPECT_EQ(Attended("f32", R"({"op": "aten.le.Scalar", "args": {"self": "%ahead", "other": 0}, "outputs": ["seen"]},
  {"op": "aten._to_copy.default", "args": {"self": "%seen", "dtype": "f32"}, "outputs": ["ones"]},
  {"op": "aten.rsub.Scalar", "args": {"self": "%ones", "other": 1}, "outputs": ["hidden"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%hidden", "other": -1e9}, "outputs": ["least"]},
  {"op": "aten.add.Tensor", "args": {"self": "%scaled", "other": "%least"}, "outputs": ["masked"]})"),
            kCausal);
  // Filled where a mask of numbers is below another one.
  EXPECT_EQ(
      Attended(
          "f32",
          R"({"op": "aten.full.default", "args": {"dtype": "f32", "fill_value": -3e38, "size": [48, 48]}, "outputs": ["full"]},
  {"op": "aten.triu.default", "args": {"self": "%full", "diagonal": 1}, "outputs": ["triangle"]},
  {"op": "aten.lt.Scalar", "args": {"self": "%triangle", "other": -1}, "outputs": ["hidden"]},
  {"op": "aten.masked_fill.Scalar", "args": {"self": "%scaled", "mask": "%hidden", "value": -3e38}, "outputs": ["masked"]})"),
      kCausal);
}

}  // namespace
}  // namespace hone::expert
