// Bags of rows, one behind the other, which a search among their ends numbers: what the expert makes of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// Rows that are looked up, the bag of each, by `search`, and what `nodes` make of that.
std::string Bags(std::string_view search, std::string_view nodes) {
  return fmt::format(R"({{"hone_problem": 1, "name": "bags", "tensors": [
  {{"name": "ends", "shape": [255], "dtype": "i64", "role": "input", "generator": {{"kind": "integer", "low": 0, "high": 4000}}}},
  {{"name": "at", "shape": [4096], "dtype": "i64", "role": "input", "generator": {{"kind": "integer", "low": 0, "high": 1000}}}},
  {{"name": "table", "shape": [1000, 64], "dtype": "f32", "role": "parameter", "generator": {{"kind": "normal", "mean": 0, "deviation": 1}}}},
  {{"name": "y", "shape": [256, 64], "dtype": "f32", "role": "output"}}],
 "graph": [{{"op": "aten.arange.start_step", "args": {{"start": 0, "end": 4096}}, "outputs": ["rows"]}},
  {{"op": "aten.embedding.default", "args": {{"weight": "%table", "indices": "%at"}}, "outputs": ["found"]}},
  {{"op": "aten.full.default", "args": {{"size": [256, 64], "fill_value": 0.0, "dtype": "f32"}}, "outputs": ["none"]}},
  {},
  {}]}})",
                     search, nodes);
}
constexpr std::string_view kSearch =
    R"({"op": "aten.searchsorted.Tensor", "args": {"sorted_sequence": "%ends", "self": "%rows", "right": true}, "outputs": ["bag"]})";
// The same numbers where the ends are in order, but nothing says that they are.
constexpr std::string_view kCounted =
    R"({"op": "aten.unsqueeze.default", "args": {"self": "%rows", "dim": 1}, "outputs": ["column"]},
  {"op": "aten.le.Tensor", "args": {"self": "%ends", "other": "%column"}, "outputs": ["passed"]},
  {"op": "aten.sum.dim_IntList", "args": {"self": "%passed", "dim": [1]}, "outputs": ["bag"]})";
constexpr std::string_view kSum =
    R"({"op": "aten.index_add.default", "args": {"self": "%none", "dim": 0, "index": "%bag", "source": "%found"}, "outputs": ["y"]})";
constexpr std::string_view kMean =
    R"({"op": "aten.index_add.default", "args": {"self": "%none", "dim": 0, "index": "%bag", "source": "%found"}, "outputs": ["sums"]},
  {"op": "aten.full.default", "args": {"size": [256], "fill_value": 0, "dtype": "i64"}, "outputs": ["zeros"]},
  {"op": "aten.full.default", "args": {"size": [4096], "fill_value": 1, "dtype": "i64"}, "outputs": ["ones"]},
  {"op": "aten.scatter_add.default", "args": {"self": "%zeros", "dim": 0, "index": "%bag", "src": "%ones"}, "outputs": ["sizes"]},
  {"op": "aten.clamp.default", "args": {"self": "%sizes", "min": 1}, "outputs": ["some"]},
  {"op": "aten.unsqueeze.default", "args": {"self": "%some", "dim": 1}, "outputs": ["by"]},
  {"op": "aten.div.Tensor", "args": {"self": "%sums", "other": "%by"}, "outputs": ["y"]})";
constexpr std::string_view kMax =
    R"({"op": "aten.unsqueeze.default", "args": {"self": "%bag", "dim": 1}, "outputs": ["column_of_bags"]},
  {"op": "aten.expand.default", "args": {"self": "%column_of_bags", "size": [4096, 64]}, "outputs": ["bags"]},
  {"op": "aten.scatter_reduce.two", "args": {"self": "%none", "dim": 0, "index": "%bags", "src": "%found", "reduce": "amax", "include_self": false}, "outputs": ["y"]})";

TEST(FuseSegmentsTest, ABagIsSummedFromItsBeginToItsEndInOneKernel) {
  const std::string program = WrittenText(Bags(kSearch, kSum));
  EXPECT_NE(program.find("\ny = nest [i < 256, j < 64] (0 + sum [k < 4096] (select(and(select(i == 0, 0, ends[i - 1]) "
                         "<= k, k < select(i < 255, ends[i], 4096)), table[at[k], j], 0)))"),
            std::string::npos)
      << program;
  EXPECT_EQ(program.find("reduce"), std::string::npos) << "nobody searches\n" << program;
}

TEST(FuseSegmentsTest, HowManyRowsABagHasIsKnownFromItsEnds) {
  const std::string program = WrittenText(Bags(kSearch, kMean));
  EXPECT_NE(program.find("/ real(max(max(min(select(i < 255, ends[i], 4096), 4096) - max(select(i == 0, 0, ends[i - "
                         "1]), 0), 0), 1)))"),
            std::string::npos)
      << program;
  EXPECT_EQ(program.find(" = "), program.find(" = nest")) << "one kernel\n" << program;
}

TEST(FuseSegmentsTest, TheLargestOfABagIsLookedForInItsRange) {
  const std::string program = WrittenText(Bags(kSearch, kMax));
  EXPECT_NE(program.find("max [k < 4096] (select(and(select(i == 0, 0, ends[i - 1]) <= k, k < select(i < 255, "
                         "ends[i], 4096)), "),
            std::string::npos)
      << program;
  EXPECT_EQ(program.find("any ["), std::string::npos) << program;
}

// A count of ends that are not in order numbers no segments.
TEST(FuseSegmentsTest, WhatCountsEndsInAnyOrderStaysACount) {
  const std::string program = WrittenText(Bags(kCounted, kSum));
  EXPECT_NE(program.find("== i, table[at[k], j], 0)"), std::string::npos) << program;
}

}  // namespace
}  // namespace hone::expert
