// Which products become one statement.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

using testing::Written;

constexpr char kGated[] = R"({"hone_problem": 1, "name": "gated", "tensors": [
  {"name": "x", "shape": [4, 512, 256], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "z", "shape": [4, 512, 256], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "g", "shape": [1024, 256], "dtype": "bf16", "role": "parameter", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "u", "shape": [1024, 256], "dtype": "bf16", "role": "parameter", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "b", "shape": [1024], "dtype": "bf16", "role": "parameter", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [4, 512, 1024], "dtype": "bf16", "role": "output"}],
 "graph": [{"op": "linear", "args": {"input": "%x", "weight": "%g", "bias": "%b"}, "outputs": ["h"]},
           {"op": "silu", "args": {"self": "%h"}, "outputs": ["s"]},
           {"op": "linear", "args": {"input": "%x", "weight": "%u", "bias": null}, "outputs": ["v"]},
           {"op": "mul", "args": {"self": "%s", "other": "%v"}, "outputs": ["y"]}]})";

std::string Replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

// How many statements there are, if all are matmuls, and how many of them have a let.
std::pair<std::size_t, std::size_t> Count(const std::optional<dsl::Program>& program) {
  std::pair<std::size_t, std::size_t> count = {0, 0};
  EXPECT_TRUE(program);
  for (const auto& statement : program->statements) {
    EXPECT_EQ(statement.family, "matmul") << dsl::Print(*program);
    count.first += 1;
    count.second += statement.lets.empty() ? 0 : 1;
  }
  return count;
}

using Counts = std::pair<std::size_t, std::size_t>;

TEST(ProductsTest, AGateAndWhatItGatesAreOneProductOfHalves) {
  const auto program = Written(kGated);
  ASSERT_EQ(Count(program), Counts(1, 1));
  const auto& statement = program->statements[0];
  EXPECT_EQ(dsl::Print(statement.lets[0].value), "product(u_view)");
  ASSERT_EQ(statement.epilogue.size(), 1u);
  // The gate's bias and function are at the end of both.
  const std::string end = dsl::Print(statement.epilogue[0]);
  for (const std::string& word : {std::string("b"), std::string("silu(it"), statement.lets[0].name}) {
    EXPECT_NE(end.find(word), std::string::npos) << end;
  }
  EXPECT_EQ(Count(Written(Replaced(kGated, "bf16", "f16"))), Counts(1, 1));
}

TEST(ProductsTest, OthersStayApart) {
  EXPECT_EQ(Count(Written(kGated, {.products = false})), Counts(2, 0));
  EXPECT_EQ(Count(Written(Replaced(kGated, "bf16", "f32"))), Counts(2, 0));
  EXPECT_EQ(Count(Written(Replaced(kGated, "bf16", "f32"), {}, DeviceModel{})), Counts(2, 0));
  // Of another left operand.
  EXPECT_EQ(Count(Written(Replaced(kGated, R"("%x", "weight": "%u")", R"("%z", "weight": "%u")"))), Counts(2, 0));
}

TEST(ProductsTest, AProductThatOthersReadIsAValue) {
  std::string both = Replaced(kGated, R"({"name": "y", "shape")",
                              R"({"name": "s", "shape": [4, 512, 1024], "dtype": "bf16", "role": "output"},
                                 {"name": "y", "shape")");
  EXPECT_EQ(Count(Written(both)), Counts(2, 0));
}

// One matrix for the gate and for what it gates.
constexpr char kSliced[] = R"({"hone_problem": 1, "name": "sliced", "tensors": [
  {"name": "x", "shape": [512, 256], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "w", "shape": [2048, 256], "dtype": "bf16", "role": "parameter", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "b", "shape": [2048], "dtype": "bf16", "role": "parameter", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [512, 1024], "dtype": "bf16", "role": "output"}],
 "graph": [{"op": "linear", "args": {"input": "%x", "weight": "%w", "bias": "%b"}, "outputs": ["h"]},
           {"op": "aten.slice.Tensor", "args": {"self": "%h", "dim": 1, "start": 0, "end": 1024}, "outputs": ["g"]},
           {"op": "silu", "args": {"self": "%g"}, "outputs": ["s"]},
           {"op": "aten.slice.Tensor", "args": {"self": "%h", "dim": 1, "start": 1024, "end": 2048}, "outputs": ["u"]},
           {"op": "mul", "args": {"self": "%s", "other": "%u"}, "outputs": ["y"]}]})";

TEST(ProductsTest, SlicesOfAProductThatGateOneAnotherAreProductsOfSlices) {
  const auto program = Written(kSliced);
  ASSERT_EQ(Count(program), Counts(1, 1));
  const std::string text = dsl::Print(*program);
  EXPECT_NE(text.find("= w: [256, 1024] strides [1, 256]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("= w: [256, 1024] strides [1, 256] offset 262144\n"), std::string::npos) << text;
  EXPECT_NE(text.find("= b: [1024] strides [1] offset 1024\n"), std::string::npos) << text;
  // One slice alone, and a product that others read, is read as it lies.
  const auto read = [](const std::string& changed) {
    return dsl::Print(*Written(changed)).find("= map(") != std::string::npos;
  };
  EXPECT_FALSE(read(kSliced));
  EXPECT_TRUE(read(Replaced(kSliced, R"("start": 1024, "end": 2048)", R"("start": 0, "end": 1024)")));
  EXPECT_TRUE(read(Replaced(kSliced, R"({"name": "y", "shape")",
                            R"({"name": "h", "shape": [512, 2048], "dtype": "bf16", "role": "output"},
                               {"name": "y", "shape")")));
}

TEST(ProductsTest, ASliceOfNearlyAllOfAProductIsTheProductOfThatSlice) {
  const auto written = [](int kept) {
    return Written(fmt::format(
        R"({{"hone_problem": 1, "name": "shifted", "tensors": [
  {{"name": "x", "shape": [4, 128, 256], "dtype": "bf16", "role": "input", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "w", "shape": [640, 256], "dtype": "bf16", "role": "parameter", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "y", "shape": [4, {0}, 640], "dtype": "f32", "role": "output"}}],
 "graph": [{{"op": "linear", "args": {{"input": "%x", "weight": "%w", "bias": null}}, "outputs": ["h"]}},
           {{"op": "aten.slice.Tensor", "args": {{"self": "%h", "dim": 1, "start": 0, "end": {0}}}, "outputs": ["s"]}},
           {{"op": "aten._to_copy.default", "args": {{"self": "%s", "dtype": "f32"}}, "outputs": ["y"]}}]}})",
        kept));
  };
  const auto program = written(127);
  ASSERT_EQ(Count(program), Counts(1, 0));
  const std::string text = dsl::Print(*program);
  EXPECT_NE(text.find("= x: [4, 127, 256] strides [32768, 256, 1]\n"), std::string::npos) << text;
  // Of half of it, too, but the bound counts the whole: what leaves much of the work out is not proposed.
  EXPECT_EQ(written(64)->statements.size(), 2u);
}

}  // namespace
}  // namespace hone::expert
