// Whole values that are made of numbers alone, as a choice of 1 or 0 is, stay whole in the program.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// How many of `rows` places name each of 8 groups, and where groups end: what a mixture of experts counts.
std::string Counted(std::string_view more_tensors, std::string_view more_calls) {
  return fmt::format(R"({{"hone_problem": 1, "name": "counted", "tensors": [
  {{"name": "i", "shape": [512], "dtype": "i64", "role": "input", "generator": {{"kind": "integer", "low": 0, "high": 8}}}},
  {}],
 "graph": [{{"op": "aten.zeros.default", "args": {{"size": [8], "dtype": "i32"}}, "outputs": ["none"]}},
  {{"op": "aten.ones_like.default", "args": {{"self": "%i", "dtype": "i32"}}, "outputs": ["ones"]}},
  {{"op": "aten.scatter_add.default", "args": {{"self": "%none", "dim": 0, "index": "%i", "src": "%ones"}}, "outputs": ["counts"]}},
  {}]}})",
                     more_tensors, more_calls);
}

TEST(WholeNumbersTest, CountsAreWhole) {
  const std::string program = WrittenText(
      Counted(R"({"name": "ends", "shape": [8], "dtype": "i64", "role": "output"})",
              R"({"op": "aten.cumsum.default", "args": {"self": "%counts", "dim": 0}, "outputs": ["ends"]})"));
  EXPECT_NE(program.find("counts: i64 = nest [j < 8] (sum"), std::string::npos) << program;
  EXPECT_NE(program.find("ends = scan sum(counts) over [0]"), std::string::npos) << program;
}

TEST(WholeNumbersTest, GroupsEndWhereTheirCountsSay) {
  const std::string program = WrittenText(Counted(
      R"({"name": "a", "shape": [512, 64], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "b", "shape": [8, 64, 128], "dtype": "bf16", "role": "parameter", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [512, 128], "dtype": "bf16", "role": "output"})",
      R"({"op": "aten.cumsum.default", "args": {"self": "%counts", "dim": 0}, "outputs": ["sums"]},
  {"op": "aten._to_copy.default", "args": {"self": "%sums", "dtype": "i32"}, "outputs": ["ends"]},
  {"op": "aten._grouped_mm.default", "args": {"self": "%a", "mat2": "%b", "offs": "%ends"}, "outputs": ["y"]})"));
  EXPECT_NE(program.find("y = grouped_matmul(a, b, sums)"), std::string::npos) << program;
}

TEST(WholeNumbersTest, AChoiceOfNumbersThatOthersReadIsWhole) {
  const std::string program = WrittenText(R"({"hone_problem": 1, "name": "bits", "tensors": [
  {"name": "x", "shape": [64, 8], "dtype": "i64", "role": "input", "generator": {"kind": "integer", "low": 0, "high": 2}},
  {"name": "y", "shape": [64], "dtype": "i64", "role": "output"}],
 "graph": [{"op": "aten.arange.start_step", "args": {"start": 0, "end": 8}, "outputs": ["places"]},
  {"op": "aten.__lshift__.Scalar", "args": {"self": "%x", "other": 3}, "outputs": ["shifted"]},
  {"op": "aten.bitwise_left_shift.Scalar_Tensor", "args": {"self": 1, "other": "%places"}, "outputs": ["powers"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%shifted", "other": "%powers"}, "outputs": ["parts"]},
  {"op": "aten.sum.dim_IntList", "args": {"self": "%parts", "dim": [1]}, "outputs": ["y"]}]})");
  EXPECT_NE(program.find("powers: i64 = nest"), std::string::npos) << program;
}

}  // namespace
}  // namespace hone::expert
