// What is looked up for folds, and folds of folds: nests whose terms are never in memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// Rows of a table, chosen by places of [rows, 7, 5], added up by fives, and the largest of seven such sums.
std::string Bags(std::int64_t rows) {
  return fmt::format(R"({{"hone_problem": 1, "name": "bags", "tensors": [
  {{"name": "t", "shape": [100, 64], "dtype": "f32", "role": "input", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "c", "shape": [{0}, 7, 5], "dtype": "i64", "role": "input", "generator": {{"kind": "integer", "low": 0, "high": 100}}}},
  {{"name": "y", "shape": [{0}, 64], "dtype": "f32", "role": "output"}}],
 "graph": [{{"op": "aten.embedding.default", "args": {{"weight": "%t", "indices": "%c"}}, "outputs": ["rows"]}},
  {{"op": "aten.sum.dim_IntList", "args": {{"self": "%rows", "dim": [2]}}, "outputs": ["sums"]}},
  {{"op": "aten.amax.default", "args": {{"self": "%sums", "dim": [1]}}, "outputs": ["y"]}}]}})",
                     rows);
}

TEST(NestedFoldsTest, RowsAreLookedUpInTheFoldOfTheirFolds) {
  const std::string program = WrittenText(Bags(2000));
  EXPECT_NE(program.find("y = nest [i < 2000, j < 64] (max [k < 7] (sum [l < 5] (t["), std::string::npos) << program;
  EXPECT_EQ(program.find("sums"), std::string::npos) << program;
}

TEST(NestedFoldsTest, FewResultsLeaveTheFoldAroundThemApart) {
  const std::string program = WrittenText(Bags(200));
  EXPECT_NE(program.find("sums = nest [i < 1400, j < 64] (sum [k < 5] (t["), std::string::npos) << program;
  EXPECT_NE(program.find("y = reduce max("), std::string::npos) << program;
}

TEST(NestedFoldsTest, TakenBackRowsAreCopied) {
  const std::string program = WrittenText(Bags(2000), {.maps = false});
  EXPECT_NE(program.find("rows = nest"), std::string::npos) << program;
}

}  // namespace
}  // namespace hone::expert
