// What is scattered is looked up where it is added, and what nobody reads of the result is not made.
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

std::string Tensor(const std::string& name, const std::string& shape, const std::string& type,
                   const std::string& role) {
  const std::string generator =
      type == "f32" ? R"({"kind": "uniform", "low": 0, "high": 1})" : R"({"kind": "integer", "low": 0, "high": 20})";
  return R"({"name": ")" + name + R"(", "shape": )" + shape + R"(, "dtype": ")" + type + R"(", "role": ")" + role +
         "\"" + (role == "output" ? "" : ", \"generator\": " + generator) + "}";
}

// Scores of 4 queries of 10 blocks each, of 8 postings; `taken` of the 21 documents are looked at.
std::string Scores(const std::string& taken, const std::string& reader) {
  const std::string scores = reader == "y" ? "s" : "y";
  return R"({"hone_problem": 1, "name": "scores", "contract": "fp32", "tensors": [)" +
         Tensor("blocks", "[4, 10]", "i64", "input") + ", " + Tensor("asked", "[4, 10, 1]", "f32", "input") + ", " +
         Tensor("ids", "[20, 8]", "i64", "parameter") + ", " + Tensor("weights", "[20, 8]", "f32", "parameter") + ", " +
         Tensor("y", reader == "y" ? "[4, " + taken + "]" : "[4, 21]", "f32", "output") + R"(], "graph": [
    {"op": "index.Tensor", "args": {"self": "%ids", "indices": ["%blocks"]}, "outputs": ["d"]},
    {"op": "view", "args": {"self": "%d", "size": [4, 80]}, "outputs": ["k"]},
    {"op": "index.Tensor", "args": {"self": "%weights", "indices": ["%blocks"]}, "outputs": ["w"]},
    {"op": "mul", "args": {"self": "%w", "other": "%asked"}, "outputs": ["p"]},
    {"op": "view", "args": {"self": "%p", "size": [4, 80]}, "outputs": ["t"]},
    {"op": "full", "args": {"size": [4, 21], "fill_value": 0.0, "dtype": "f32"}, "outputs": ["z"]},
    {"op": "scatter_add", "args": {"self": "%z", "dim": 1, "index": "%k", "src": "%t"}, "outputs": [")" +
         scores + R"("]})" +
         (reader == "y" ? R"(, {"op": "slice.Tensor", "args": {"self": "%s", "dim": 1, "start": 0, "end": )" + taken +
                              R"(}, "outputs": ["y"]})"
                        : "") +
         "]}";
}

std::size_t Count(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(KeyedPiecesTest, WhatIsLookedUpIsAddedWithoutBeingWritten) {
  const std::string text = WrittenText(Scores("21", ""));
  EXPECT_EQ(Count(text, "nest ["), 1u) << text;
  EXPECT_NE(text.find("y = nest [i < 4, j < 21] (0 + sum [k < 10, l < 8] (select("), std::string::npos) << text;
}

TEST(KeyedPiecesTest, WhatNobodyReadsIsNotMade) {
  const std::string text = WrittenText(Scores("20", "y"));
  EXPECT_EQ(Count(text, "nest ["), 1u) << text;
  EXPECT_NE(text.find("y = nest [i < 4, j < 20] (0 + sum [k < 10, l < 8] (select("), std::string::npos) << text;
}

}  // namespace
}  // namespace hone::expert
