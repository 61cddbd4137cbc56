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

// As hashes have them: the numbers of the language are reals of 53 bits.
TEST(WholeNumbersTest, LargeNumbersAreWrittenToTheirLastBit) {
  const std::string program = WrittenText(R"({"hone_problem": 1, "name": "hash", "tensors": [
  {"name": "a", "shape": [64], "dtype": "i64", "role": "input", "generator": {"kind": "integer", "low": 0, "high": 9}},
  {"name": "y", "shape": [64], "dtype": "i64", "role": "output"}],
 "graph": [{"op": "aten.mul.Tensor", "args": {"self": "%a", "other": 6364136223846793005}, "outputs": ["b"]},
  {"op": "aten.add.Tensor", "args": {"self": "%b", "other": -9223372036854775807}, "outputs": ["y"]}]})");
  EXPECT_NE(program.find("y = map(a * (int(1481765933) * int(4294967296) + int(1284865837)) + "
                         "(int(-2147483648) * int(4294967296) + 1))"),
            std::string::npos)
      << program;
}

TEST(WholeNumbersTest, OnesThatAreAddedUpInRealsNeedNoRounding) {
  const std::string program = WrittenText(R"({"hone_problem": 1, "name": "histogram", "tensors": [
  {"name": "x", "shape": [64, 32], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [8], "dtype": "f32", "role": "output"}],
 "graph": [{"op": "aten.histc.default", "args": {"self": "%x", "bins": 8, "max": 1}, "outputs": ["y"]}]})");
  EXPECT_NE(program.find("y = nest [i < 8] (sum ["), std::string::npos) << program;
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

// x quantized to 8 bits, or given so, times w of 8 bits.
std::string Product(bool quantized, std::string_view product, std::string_view made = "bf16") {
  return fmt::format(
      R"({{"hone_problem": 1, "name": "wholes", "tensors": [
  {{"name": "x", "shape": [768, 1024], "dtype": "{}", "role": "input", "generator": {{"kind": "{}", "low": 0, "high": 1}}}},
  {{"name": "w", "shape": [512, 1024], "dtype": "i8", "role": "parameter", "generator": {{"kind": "integer", "low": -128, "high": 128}}}},
  {{"name": "s", "shape": [512], "dtype": "f32", "role": "parameter", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "y", "shape": [768, 512], "dtype": "{}", "role": "output"}}],
 "graph": [{}{{"op": "aten.permute.default", "args": {{"self": "%w", "dims": [1, 0]}}, "outputs": ["wt"]}},
  {}]}})",
      quantized ? "bf16" : "i8", quantized ? "uniform" : "integer", made,
      quantized ? R"({"op": "aten.round.default", "args": {"self": "%x"}, "outputs": ["r"]},
  {"op": "aten._to_copy.default", "args": {"self": "%r", "dtype": "i8"}, "outputs": ["x8"]}, )"
                : R"({"op": "aten.view.default", "args": {"self": "%x", "size": [768, 1024]}, "outputs": ["x8"]}, )",
      product);
}
constexpr std::string_view kScaled =
    R"({"op": "aten.mul.Tensor", "args": {"self": "%p", "other": "%s"}, "outputs": ["q"]},
  {"op": "aten._to_copy.default", "args": {"self": "%q", "dtype": "bf16"}, "outputs": ["y"]})";

TEST(WholeNumbersTest, ProductsOfThemAreExactOnes) {
  const std::string product =
      R"({"op": "aten._int_mm.default", "args": {"self": "%x8", "mat2": "%wt"}, "outputs": ["p"]}, )";
  const std::string program = WrittenText(Product(false, product + std::string(kScaled)));
  EXPECT_NE(program.find("y = matmul(x, w_view)"), std::string::npos) << program;
  EXPECT_NE(program.find("-> real(it) * s"), std::string::npos) << program;
  const std::string quantized = WrittenText(Product(true, product + std::string(kScaled)));
  EXPECT_NE(quantized.find("x8: i8 = map("), std::string::npos) << quantized;
  EXPECT_NE(quantized.find("y = matmul(x8_view, w_view)"), std::string::npos) << quantized;
  const std::string as_it_is = WrittenText(Product(
      false, R"({"op": "aten._int_mm.default", "args": {"self": "%x8", "mat2": "%wt"}, "outputs": ["y"]})", "i32"));
  EXPECT_NE(as_it_is.find("y = matmul(x, w_view)"), std::string::npos) << as_it_is;
}

TEST(WholeNumbersTest, ProductsInRealsOfThemAreExactOnes) {
  const std::string product =
      R"({"op": "aten._to_copy.default", "args": {"self": "%x8", "dtype": "f32"}, "outputs": ["xf"]},
  {"op": "aten._to_copy.default", "args": {"self": "%wt", "dtype": "f32"}, "outputs": ["wf"]},
  {"op": "aten.mm.default", "args": {"self": "%xf", "mat2": "%wf"}, "outputs": ["p"]}, )";
  for (const bool quantized : {false, true}) {
    const std::string program = WrittenText(Product(quantized, product + std::string(kScaled)), {.weights = true});
    EXPECT_NE(program.find("y = matmul(x"), std::string::npos) << program;
    EXPECT_NE(program.find("-> real(it) * s"), std::string::npos) << program;
  }
}

// Where each element of a large tensor asks what is written to it, as a scatter of full rank has it.
TEST(WholeNumbersTest, ManyPlacesOfSourcesHaveFourBytes) {
  const auto last = [](int rows) {
    return WrittenText(fmt::format(R"({{"hone_problem": 1, "name": "scattered", "tensors": [
  {{"name": "x", "shape": [{0}, 512], "dtype": "f32", "role": "input", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "i", "shape": [{0}, 16], "dtype": "i64", "role": "input", "generator": {{"kind": "integer", "low": 0, "high": 512}}}},
  {{"name": "s", "shape": [{0}, 16], "dtype": "f32", "role": "input", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "y", "shape": [{0}, 512], "dtype": "f32", "role": "output"}}],
 "graph": [{{"op": "aten.scatter.src", "args": {{"self": "%x", "dim": 1, "index": "%i", "src": "%s"}}, "outputs": ["y"]}}]}})",
                                   rows));
  };
  EXPECT_NE(last(128).find("_last: i32 = nest"), std::string::npos) << last(128);
  EXPECT_EQ(last(8).find("i32 = nest"), std::string::npos) << last(8);
}

}  // namespace
}  // namespace hone::expert
