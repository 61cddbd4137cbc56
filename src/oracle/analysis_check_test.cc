// What analysis/analysis.h says about problems, held against their values: the oracle's, for several draws. The
// examples, and the problem.json files of tests/data/flagged or of the folder that HONE_PROBLEMS names instead (a
// benchmark's problems in a reduced form).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "analysis/analysis.h"
#include "analysis/cost.h"
#include "graph/testing/small_problem.h"
#include "oracle/oracle.h"
#include "problem/generate.h"
#include "problem/import/import.h"

namespace hone {
namespace {

using testing::SmallProblem;

// More than this is not worked out in double precision in a test.
constexpr double kFlopsAtMost = 2e10, kBytesAtMost = 2e9;

// With the parameters of one seed and the inputs of another.
std::vector<Expected> Run(const Graph& graph, const Oracle& oracle, std::uint64_t parameters, std::uint64_t inputs,
                          const std::string& but_for = {}) {
  std::vector<std::vector<std::byte>> data;
  std::vector<const void*> pointers;
  std::uint64_t stream = 0;
  for (const Tensor* tensor : graph.problem().Inputs()) {
    auto& bytes = data.emplace_back(static_cast<std::size_t>(tensor->bytes()) + 1);
    const bool again = but_for.empty() ? tensor->role == Role::kInput : tensor->name == but_for;
    const auto filled = Fill(*tensor, again ? inputs : parameters, stream++, {}, bytes.data(), graph.problem().folder);
    EXPECT_TRUE(filled) << filled.error().message;
  }
  for (const auto& bytes : data) pointers.push_back(bytes.data());
  auto expected = oracle.Run(pointers, 2);
  EXPECT_TRUE(expected) << expected.error().message;
  return expected ? std::move(*expected) : std::vector<Expected>{};
}

std::size_t OutputIndex(const Graph& graph, const std::string& name) {
  const auto outputs = graph.problem().Outputs();
  const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const Tensor* t) { return t->name == name; });
  return static_cast<std::size_t>(found - outputs.begin());
}

// What is zero in exact arithmetic is small beside what was computed on the way: within the budget that a candidate
// has.
void ExpectNumber(const Expected& values, double number) {
  for (std::size_t i = 0; i < values.value.size(); ++i) {
    ASSERT_LE(std::abs(values.value[i] - number), std::max(values.budget[i], 1e-12)) << "element " << i;
  }
}

void Check(const Graph& graph, const Oracle& oracle, const Flag& flag) {
  SCOPED_TRACE(graph.problem().name + ": " + Sentence(flag));
  switch (flag.kind) {
    case FlagKind::kZero:
    case FlagKind::kConstant:
      for (std::uint64_t seed = 1; seed <= 4; ++seed)
        ExpectNumber(Run(graph, oracle, seed, seed)[OutputIndex(graph, flag.output)], flag.value);
      return;
    case FlagKind::kNotFinite:
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const auto outputs = Run(graph, oracle, seed, seed);
        for (const double value : outputs[OutputIndex(graph, flag.output)].value) ASSERT_FALSE(std::isfinite(value));
      }
      return;
    case FlagKind::kIgnoresAll: {
      const auto first = Run(graph, oracle, 1, 1);
      for (std::uint64_t seed = 2; seed <= 4; ++seed) {
        const std::size_t o = OutputIndex(graph, flag.output);
        const auto other = Run(graph, oracle, 1, seed);
        for (std::size_t i = 0; i < first[o].value.size(); ++i)
          ASSERT_LE(std::abs(first[o].value[i] - other[o].value[i]), first[o].budget[i]);
      }
      return;
    }
    case FlagKind::kIgnoresInput: {
      const auto first = Run(graph, oracle, 1, 1);
      for (const std::string& input : flag.inputs) {
        const auto other = Run(graph, oracle, 1, 2, input);
        for (std::size_t o = 0; o < first.size(); ++o) {
          for (std::size_t i = 0; i < first[o].value.size(); ++i)
            ASSERT_LE(std::abs(first[o].value[i] - other[o].value[i]), first[o].budget[i]) << input;
        }
      }
      return;
    }
    case FlagKind::kNearlyZero:
    case FlagKind::kNearlyConstant:
      for (std::uint64_t parameters = 1; parameters <= 2; ++parameters) {
        const std::size_t o = OutputIndex(graph, flag.output);
        const double tolerance = CommonTolerance(graph.problem().Outputs()[o]->dtype);
        std::vector<double> low, high;
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
          const auto values = Run(graph, oracle, parameters, seed)[o].value;
          if (seed == 1) low = high = values;
          for (std::size_t i = 0; i < values.size(); ++i) {
            low[i] = std::min(low[i], values[i]);
            high[i] = std::max(high[i], values[i]);
          }
        }
        for (std::size_t i = 0; i < low.size(); ++i) {
          const double middle = flag.kind == FlagKind::kNearlyZero ? 0 : (low[i] + high[i]) / 2;
          ASSERT_LE(high[i] - middle, tolerance * (1 + std::abs(middle)));
          ASSERT_LE(middle - low[i], tolerance * (1 + std::abs(middle)));
        }
      }
      return;
    case FlagKind::kCollapsible: return;  // of work and not of values: analysis/analysis_test.cc computes the forms
  }
}

// True if there was something to check and it was.
bool CheckAll(const Graph& graph) {
  std::vector<Flag> flags = Analyze(graph);
  std::erase_if(flags, [](const Flag& flag) { return flag.kind == FlagKind::kCollapsible; });
  if (flags.empty()) return false;
  const Cost cost = GraphCost(graph);
  if (cost.flops() > kFlopsAtMost || cost.bytes() > kBytesAtMost) return false;
  const auto oracle = Oracle::Compile(graph);
  EXPECT_TRUE(oracle) << oracle.error().message;
  if (!oracle) return false;
  for (const Flag& flag : flags) Check(graph, *oracle, flag);
  return true;
}

TEST(AnalysisCheckTest, ClaimsAboutSmallProblemsHold) {
  const auto holds = [](const char* inputs, const char* outputs, const char* nodes, const char* kinds) {
    const auto graph = Graph::Create(SmallProblem("fp32", inputs, outputs, nodes));
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_EQ(Names(Analyze(*graph)), kinds);
    EXPECT_TRUE(CheckAll(*graph));
  };
  holds("x f32 6x40, z f32 4", "y f32 6x1, s f32 6, c f32 6x40, e f32 6x40", R"([
    {"op": "amax", "args": {"self": "%x", "dim": [1], "keepdim": true}, "outputs": ["m"]},
    {"op": "mean", "args": {"self": "%m", "dim": [1], "keepdim": true}, "outputs": ["a"]},
    {"op": "sub", "args": {"self": "%m", "other": "%a"}, "outputs": ["d"]},
    {"op": "gelu", "args": {"self": "%d"}, "outputs": ["y"]},
    {"op": "_softmax", "args": {"self": "%x", "dim": 1}, "outputs": ["p"]},
    {"op": "sum", "args": {"self": "%p", "dim": [1]}, "outputs": ["s"]},
    {"op": "clamp", "args": {"self": "%x", "min": 2.0, "max": 2.0}, "outputs": ["c"]},
    {"op": "exp", "args": {"self": "%x"}, "outputs": ["e"]}])",
        "zero, constant, ignores-input");
  holds("x f32 3x6x5x5", "y f32 3", R"([
    {"op": "native_group_norm", "args": {"input": "%x", "N": 3, "C": 6, "HxW": 25, "group": 3, "eps": 1e-5},
     "outputs": ["n", "", ""]},
    {"op": "mean", "args": {"self": "%n", "dim": [1, 2, 3]}, "outputs": ["y"]}])",
        "zero");
  holds("x f32 2x300000", "y f32 2x300000",
        R"([{"op": "_softmax", "args": {"self": "%x", "dim": 1}, "outputs": ["p"]},
            {"op": "mul", "args": {"self": "%p", "other": 1e-4}, "outputs": ["y"]}])",
        "nearly-zero");
}

TEST(AnalysisCheckTest, ADeepNetworkForgetsItsInput) {
  constexpr int kDepth = 12, kWidth = 48;
  std::string inputs = "x f32 8x48", nodes;
  for (int i = 0; i < kDepth; ++i) {
    const std::string n = std::to_string(i);
    inputs += ", w" + n + ":parameter f32 48x48, b" + n + ":parameter f32 48";
    nodes += R"({"op": "linear", "args": {"input": "%)" + (i == 0 ? "x" : "r" + std::to_string(i - 1)) +
             R"(", "weight": "%w)" + n + R"(", "bias": "%b)" + n + R"("}, "outputs": ["l)" + n +
             R"("]}, {"op": "relu", "args": {"self": "%l)" + n + R"("}, "outputs": ["r)" + n + R"("]})" +
             (i + 1 < kDepth ? "," : "");
  }
  Problem problem = SmallProblem("fp32", inputs, "r11 f32 8x48", "[" + nodes + "]");
  for (auto& tensor : problem.tensors) {
    if (tensor.role == Role::kParameter)
      tensor.generator = Uniform{-1 / std::sqrt(1.0 * kWidth), 1 / std::sqrt(1.0 * kWidth)};
    if (tensor.role == Role::kInput) tensor.generator = Uniform{0, 1};
  }
  const auto graph = Graph::Create(problem);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(Names(Analyze(*graph)), "nearly-constant");
  EXPECT_TRUE(CheckAll(*graph));
}

TEST(AnalysisCheckTest, ClaimsAboutTheExamplesHold) {
  const char* source = std::getenv("HONE_SOURCE");
  if (!source) GTEST_SKIP() << "HONE_SOURCE is not set";
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(source) + "/examples/problems")) {
    // Importing takes seconds a file: all of them only when there is time.
    const std::string name = entry.path().stem().string();
    if (!std::getenv("HONE_THOROUGH") && name != "linear_collapse" && name != "group_norm" && name != "scaled_row_sum")
      continue;
    const auto problem = Import(entry.path().string());
    if (!problem && entry.path().extension() == ".py" && seen == 0)
      GTEST_SKIP() << "no PyTorch to import with: " << problem.error().message;
    ASSERT_TRUE(problem) << problem.error().message;
    const auto graph = Graph::Create(*problem);
    ASSERT_TRUE(graph) << graph.error().message;
    CheckAll(*graph);
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

// A problem's provenance may say which flags it has to get.
TEST(AnalysisCheckTest, ClaimsAboutGivenProblemsHold) {
  const char* source = std::getenv("HONE_SOURCE");
  const char* given = std::getenv("HONE_PROBLEMS");
  const std::string folder = given ? given : std::string(source ? source : ".") + "/tests/data/flagged";
  int flagged = 0, checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const auto problem = LoadProblem(entry.path().string());
    ASSERT_TRUE(problem) << problem.error().message;
    const auto graph = Graph::Create(*problem);
    if (!graph && given) continue;  // whose operators are not all known
    ASSERT_TRUE(graph) << graph.error().message;
    const auto flags = Analyze(*graph);
    if (const auto said = problem->provenance.find("flags"); said != problem->provenance.end()) {
      EXPECT_EQ(Names(flags), said->second) << entry.path();
    }
    flagged += !flags.empty();
    checked += CheckAll(*graph);
    for (const Flag& flag : flags) std::cout << problem->name << ": " << Sentence(flag) << "\n";
  }
  std::cout << flagged << " flagged, " << checked << " of them small enough to be worked out\n";
  EXPECT_GT(checked, 0);
}

}  // namespace
}  // namespace hone
