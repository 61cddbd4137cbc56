// Products of matrices that are spelled out as sums.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "propose/expert/testing/computed.h"
#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::Computed;
using testing::WrittenText;

std::string Drawn(const std::string& name, const std::string& shape) {
  return fmt::format(
      R"({{"name": "{}", "shape": {}, "dtype": "f32", "role": "input", "generator": {{"kind": "uniform", "low": -1, "high": 1}}}},)",
      name, shape);
}

// (a[:, :, None] * b[:, None]).sum(-1) of [2, rows, 4, 16] and [2, 32, 4, 16]: [2, rows, 32, 4], heads last.
std::string Spelled(int rows, const std::string& tensors, const std::string& rest, const std::string& made) {
  return R"({"hone_problem": 1, "name": "n", "tensors": [)" + Drawn("a", fmt::format("[2, {}, 4, 16]", rows)) +
         Drawn("b", "[2, 32, 4, 16]") + tensors + R"(], "graph": [
    {"op": "unsqueeze", "args": {"self": "%a", "dim": 2}, "outputs": ["rows"]},
    {"op": "unsqueeze", "args": {"self": "%b", "dim": 1}, "outputs": ["columns"]},
    {"op": "mul.Tensor", "args": {"self": "%rows", "other": "%columns"}, "outputs": ["both"]},
    {"op": "sum.dim_IntList", "args": {"self": "%both", "dim": [-1]}, "outputs": [")" +
         made + R"("]})" + rest + "]}";
}

void ExpectTheSame(const std::string& graph, std::size_t elements) {
  const auto got = Computed(graph, {}, "y"), want = Computed(graph, {.maps = false, .products = false}, "y");
  ASSERT_EQ(got.size(), elements);
  ASSERT_EQ(want.size(), elements);
  for (std::size_t i = 0; i < elements; ++i) ASSERT_NEAR(got[i], want[i], 1e-4 * std::fabs(want[i]) + 1e-4) << i;
}

std::size_t CountOf(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(SpelledProductTest, IsAMatmulWhereverItsBatchesLieAndWhatIsMadeOfItLiesAsItDoes) {
  const std::string graph =
      Spelled(48,
              Drawn("m", "[2, 48, 32, 4]") + Drawn("x", "[2, 32, 4, 24]") +
                  R"({"name": "y", "shape": [2, 48, 4, 24], "dtype": "f32", "role": "output"})",
              R"(, {"op": "mul.Tensor", "args": {"self": "%scores", "other": "%m"}, "outputs": ["weights"]},
    {"op": "unsqueeze", "args": {"self": "%weights", "dim": 4}, "outputs": ["w"]},
    {"op": "unsqueeze", "args": {"self": "%x", "dim": 1}, "outputs": ["v"]},
    {"op": "mul.Tensor", "args": {"self": "%w", "other": "%v"}, "outputs": ["weighed"]},
    {"op": "sum.dim_IntList", "args": {"self": "%weighed", "dim": [2]}, "outputs": ["s"]},
    {"op": "relu", "args": {"self": "%s"}, "outputs": ["y"]})",
              "scores");
  const std::string program = WrittenText(graph, {.attention = false});
  EXPECT_EQ(CountOf(program, "= matmul("), 2u) << program;
  EXPECT_EQ(CountOf(program, "reduce"), 0u) << program;
  EXPECT_NE(program.find(" -> it * m_view\n"), std::string::npos) << program;
  EXPECT_EQ(CountOf(program, " map("), 1u) << program;  // the output, whose heads lie before its columns
  ExpectTheSame(graph, 2 * 48 * 4 * 24);
}

TEST(SpelledProductTest, IsTurnedForAnOutputAndLeftAloneWhereRowsAreFew) {
  const auto output = [](int rows) {
    return fmt::format(R"({{"name": "y", "shape": [2, {}, 32, 4], "dtype": "f32", "role": "output"}})", rows);
  };
  const std::string many = Spelled(48, output(48), "", "y"), few = Spelled(3, output(3), "", "y");
  EXPECT_EQ(CountOf(WrittenText(many), "= matmul("), 1u) << WrittenText(many);
  EXPECT_EQ(CountOf(WrittenText(few), "= matmul("), 0u) << WrittenText(few);
  ExpectTheSame(many, 2 * 48 * 32 * 4);
  ExpectTheSame(few, 2 * 3 * 32 * 4);
}

}  // namespace
}  // namespace hone::expert
