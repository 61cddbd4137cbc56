// Which products become one statement.
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

}  // namespace
}  // namespace hone::expert
