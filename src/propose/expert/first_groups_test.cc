// Where the first elements of a product are found in groups, and what stays as it is.
#include "propose/expert/first_groups.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/beginnings.h"
#include "propose/expert/cost.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

// The first `count` of the scores of `rows` with `columns` documents, of which `scored` makes %scores of %mm.
struct Search {
  std::int64_t rows = 1000, columns = 1000000, depth = 128, count = 10;
  std::string type = "bf16", largest = "true", scored = "", outputs = R"("v", "y")";
};
Graph GraphOf(const Search& one) {
  const std::string drawn = R"("generator": {"kind": "uniform", "low": 0, "high": 1})";
  const auto output = [&](const std::string& name, const std::string& type) {
    if (one.outputs.find(name) == std::string::npos) return std::string();
    return fmt::format(R"(, {{"name": "{}", "shape": [{}, {}], "dtype": "{}", "role": "output"}})", name, one.rows,
                       one.count, type);
  };
  const auto problem = ParseProblem(
      fmt::format(R"({{"hone_problem": 1, "name": "search", "tensors": [
  {{"name": "q", "shape": [{0}, {2}], "dtype": "{4}", "role": "input", {6}}},
  {{"name": "d", "shape": [{1}, {2}], "dtype": "{4}", "role": "parameter", {6}}},
  {{"name": "of_rows", "shape": [{0}, 1], "dtype": "{4}", "role": "input", {6}}},
  {{"name": "of_columns", "shape": [{1}], "dtype": "{4}", "role": "parameter", {6}}}{7}{8}],
 "graph": [{{"op": "aten.permute.default", "args": {{"self": "%d", "dims": [1, 0]}}, "outputs": ["t"]}},
  {{"op": "aten.mm.default", "args": {{"self": "%q", "mat2": "%t"}}, "outputs": ["mm"]}}, {9}
  {{"op": "aten.topk.default", "args": {{"self": "%{10}", "k": {3}, "largest": {5}}}, "outputs": ["v", "y"]}}]}})",
                  one.rows, one.columns, one.depth, one.count, one.type, one.largest, drawn, output("v", one.type),
                  output("y", "i64"), one.scored, one.scored.empty() ? "mm" : "scores"),
      "test");
  EXPECT_TRUE(problem) << problem.error().message;
  auto graph = Graph::Create(*problem);
  EXPECT_TRUE(graph) << graph.error().message;
  return std::move(*graph);
}
const std::string kDistances = R"(
  {"op": "aten.mul.Tensor", "args": {"self": "%mm", "other": -2}, "outputs": ["twice"]},
  {"op": "aten.add.Tensor", "args": {"self": "%twice", "other": "%of_rows"}, "outputs": ["nearly"]},
  {"op": "aten.add.Tensor", "args": {"self": "%nearly", "other": "%of_columns"}, "outputs": ["squares"]},
  {"op": "aten.relu.default", "args": {"self": "%squares"}, "outputs": ["positive"]},
  {"op": "aten.sqrt.default", "args": {"self": "%positive"}, "outputs": ["scores"]},)";

// The fastest beginning, by what is predicted, and how much faster than the plain one it is.
struct Fastest {
  std::string text;
  double gain = 1;
};
Fastest FastestOf(const Search& search, const DeviceModel& device = TypicalDevice()) {
  const Graph graph = GraphOf(search);
  Fastest fastest;
  double least = INFINITY, plain = 0;
  for (const Beginning& one : BeginningsIn(graph, device)) {
    const double time = Predict(one.kernels, device);
    if (one.words == "everything fused") plain = time;
    if (time >= least) continue;
    least = time;
    fastest.text = dsl::Print(one.program);
  }
  fastest.gain = plain / least;
  return fastest;
}
bool InGroups(const std::string& text) { return text.find("matmul_reduce") != std::string::npos; }

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(FirstGroupsTest, ScoresOfManyDocumentsAreNotWritten) {
  const auto [text, gain] = FastestOf({});
  EXPECT_HAS(text, "mm_best = matmul_reduce max(q, d_view) by {group: 64}\n");
  EXPECT_HAS(text, "near = order descending(mm_best) over [1] by {count: 10}\n");
  EXPECT_HAS(text, "sorted = order ascending(near) over [1] by {count: 10}\n  also groups = it\n");
  EXPECT_HAS(text,
             "candidates: [1000, 640] = nest [i < 1000, j < 10, k < 64] (sum [l < 128] (q[i, l] * d_view[l, groups[i, "
             "j] * 64 + k]))\n");
  EXPECT_HAS(text, "first = order descending(candidates) over [1] by {count: 10}\n  also v = it\n");
  EXPECT_HAS(text, "y = nest [i < 1000, j < 10] (groups[i, floordiv(first[i, j], 64)] * 64 + mod(first[i, j], 64))");
  EXPECT_EQ(text.find("= matmul("), std::string::npos) << text;
  EXPECT_GT(gain, 1.5);
}

TEST(FirstGroupsTest, TheCostSaysOfHowManyColumns) {
  // Rows that stay in L2 are looked up at no cost; of longer ones so many are as many bytes as the scores.
  EXPECT_TRUE(InGroups(FastestOf({.rows = 4096, .columns = 65536, .depth = 64, .count = 16, .type = "f32"}).text));
  EXPECT_FALSE(InGroups(FastestOf({.rows = 4096, .columns = 65536, .depth = 256, .count = 16, .type = "f32"}).text));
  EXPECT_TRUE(InGroups(FastestOf({.rows = 512, .columns = 1000000, .depth = 256, .count = 20}).text));
  // A router: of 256 experts eight groups of eight are a quarter. Few scores are written sooner than kernels begin.
  EXPECT_FALSE(InGroups(FastestOf({.rows = 8192, .columns = 256, .depth = 2048, .count = 8}).text));
  EXPECT_FALSE(InGroups(FastestOf({.rows = 64, .columns = 4096, .depth = 64, .count = 4}).text));
  EXPECT_TRUE(InGroups(FastestOf({}, DeviceModel{}).text));  // a processor
}

TEST(FirstGroupsTest, WhatIsBehindTheProductGoesAlong) {
  const std::string text = FastestOf({.type = "f16", .largest = "false", .scored = kDistances}).text;
  EXPECT_HAS(text, "= matmul_reduce min(q, d_view) by {group: 64}\n");
  EXPECT_HAS(text, "let score = select(isnan(it * -2 + of_rows + of_columns), inf, ");
  EXPECT_HAS(text, "= order ascending(scores_best)");
  EXPECT_HAS(text, "+ of_rows[i, 0] + of_columns[groups[i, j] * 64 + k])))");
}

TEST(FirstGroupsTest, OfARowThatIsNoMultipleTheLastGroupIsCutOff) {
  const std::string text = FastestOf({.columns = 999999}).text;
  EXPECT_HAS(text,
             "(select(groups[i, j] * 64 + k < 999999, sum [l < 128] (q[i, l] * d_view[l, min(groups[i, j] * 64 + "
             "k, 999998)]), -inf))");
}

TEST(FirstGroupsTest, WhatNobodyWantsIsNotMade) {
  const std::string values = FastestOf({.outputs = R"("v")"}).text, places = FastestOf({.outputs = R"("y")"}).text;
  EXPECT_HAS(values, "also v = it");
  EXPECT_EQ(values.find("floordiv"), std::string::npos) << values;
  EXPECT_HAS(places, "floordiv");
  EXPECT_EQ(places.find("also v"), std::string::npos) << places;
  EXPECT_EQ(FastestOf({.count = 1}).text.find("sorted"), std::string::npos);
}

TEST(FirstGroupsTest, WhatBatchesChooseIsNotFoldedInGroups) {
  const auto in_groups = [](const std::string& w, const std::string& operands) {
    const auto program = dsl::Parse("program p\ninput x: bf16[4, 64, 128]\ninput w: bf16" + w +
                                    "\ninput which: i64[4]\noutput y: i64[4, 64, 10]\ns: bf16 = matmul(" + operands +
                                    ")\ny = order descending(s) over [2] by {count: 10}");
    const auto& parsed = std::get<dsl::Program>(program);
    const auto checked = dsl::Check(parsed, nullptr, TypicalDevice());
    return WithFirstGroups(parsed, std::get<dsl::KernelProgram>(checked), 64).has_value();
  };
  EXPECT_TRUE(in_groups("[4, 128, 100000]", "x, w"));
  EXPECT_FALSE(in_groups("[8, 128, 100000]", "x, w, which"));
}

TEST(FirstGroupsTest, ScoresThatAreWantedThemselvesAreWritten) {
  EXPECT_FALSE(InGroups(FastestOf({.rows = 64, .columns = 100000, .outputs = R"("mm", "v", "y")"}).text));
}

}  // namespace
}  // namespace hone::expert
