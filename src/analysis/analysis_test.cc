#include "analysis/analysis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "analysis/collapse.h"
#include "analysis/symbolic.h"
#include "expr/fold.h"
#include "graph/testing/small_problem.h"

namespace hone {
namespace {

using testing::SmallGraph;
using testing::SmallProblem;

// Generators of the named tensors replaced: SmallProblem's are normal.
Graph WithGenerators(Problem problem, const std::map<std::string, Generator>& generators) {
  for (auto& tensor : problem.tensors) {
    if (const auto it = generators.find(tensor.name); it != generators.end()) tensor.generator = it->second;
  }
  auto graph = Graph::Create(std::move(problem));
  if (!graph) {
    ADD_FAILURE() << graph.error().message;
    std::abort();
  }
  return std::move(*graph);
}

std::string Said(const Graph& graph) {
  std::string all;
  for (const Flag& flag : Analyze(graph)) all += Sentence(flag) + "\n";
  return all;
}

std::string KindsOf(const std::string& inputs, const std::string& outputs, const std::string& nodes) {
  return Names(Analyze(SmallGraph("fp32", inputs, outputs, nodes)));
}

TEST(AnalysisTest, PlainProblemsAreNotFlagged) {
  EXPECT_EQ(KindsOf("x f32 4x8", "y f32 4x8", R"([{"op": "relu", "args": {"self": "%x"}, "outputs": ["y"]}])"), "");
  EXPECT_EQ(
      KindsOf("x f32 4x8", "y f32 4x8", R"([{"op": "_softmax", "args": {"self": "%x", "dim": 1}, "outputs": ["y"]}])"),
      "");
  EXPECT_EQ(KindsOf("a f32 4x8, b f32 8x5", "y f32 4x5",
                    R"([{"op": "mm", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["y"]}])"),
            "");
  EXPECT_EQ(KindsOf("x f32 4x8", "y f32 4x8", R"([
    {"op": "mean", "args": {"self": "%x", "dim": [1], "keepdim": true}, "outputs": ["m"]},
    {"op": "sub", "args": {"self": "%x", "other": "%m"}, "outputs": ["y"]}])"),
            "");
}

TEST(AnalysisTest, XMinusItsMeanOverOneElementIsZero) {
  const std::string said = Said(SmallGraph("fp32", "x f32 4x8", "y f32 4x1", R"([
    {"op": "amax", "args": {"self": "%x", "dim": [1], "keepdim": true}, "outputs": ["m"]},
    {"op": "mean", "args": {"self": "%m", "dim": [1], "keepdim": true}, "outputs": ["a"]},
    {"op": "sub", "args": {"self": "%m", "other": "%a"}, "outputs": ["s"]},
    {"op": "gelu", "args": {"self": "%s"}, "outputs": ["y"]}])"));
  EXPECT_EQ(said, "output y is zero: the terms of node 2 (sub) cancel, and what follows keeps it so\n");
}

TEST(AnalysisTest, AMeanOfWhatWasCentredIsZero) {
  const Problem problem = SmallProblem("fp32", "x f32 2x6x4x4, w:parameter f32 6, b:parameter f32 6", "y f32 2", R"([
    {"op": "native_group_norm", "args": {"input": "%x", "weight": "%w", "bias": "%b", "N": 2, "C": 6, "HxW": 16, "group": 3,
     "eps": 1e-5}, "outputs": ["n", "", ""]},
    {"op": "mean", "args": {"self": "%n", "dim": [1, 2, 3]}, "outputs": ["y"]}])");
  EXPECT_EQ(Said(WithGenerators(problem, {{"w", Constant{1}}, {"b", Constant{0}}})),
            "output y is zero: the terms of node 1 (mean) cancel\n");
  // A bias of its own, or a weight for each channel, and it is not.
  EXPECT_EQ(Said(WithGenerators(problem, {{"w", Constant{1}}, {"b", Constant{2}}})),
            "output y is the constant 2: the terms of node 1 (mean) cancel but for a number\n");
  EXPECT_EQ(Said(WithGenerators(problem, {{"b", Constant{0}}})), "");
}

TEST(AnalysisTest, ASoftmaxSumsToOne) {
  EXPECT_EQ(Said(SmallGraph("fp32", "x f32 4x8", "y f32 4", R"([
    {"op": "_softmax", "args": {"self": "%x", "dim": 1}, "outputs": ["s"]},
    {"op": "sum", "args": {"self": "%s", "dim": [1]}, "outputs": ["y"]}])")),
            "output y is the constant 1: the terms of node 1 (sum) cancel but for a number\n");
  EXPECT_EQ(
      KindsOf("x f32 4x1", "y f32 4x1", R"([{"op": "_softmax", "args": {"self": "%x", "dim": 1}, "outputs": ["y"]}])"),
      "constant");
  // Over another dimension it does not.
  EXPECT_EQ(KindsOf("x f32 4x8", "y f32 8", R"([
    {"op": "_softmax", "args": {"self": "%x", "dim": 1}, "outputs": ["s"]},
    {"op": "sum", "args": {"self": "%s", "dim": [0]}, "outputs": ["y"]}])"),
            "");
}

TEST(AnalysisTest, BoundsThatMeetMakeAConstant) {
  EXPECT_EQ(Said(SmallGraph("fp32", "x f32 4", "y f32 4", R"([
    {"op": "clamp_max", "args": {"self": "%x", "max": 0.0}, "outputs": ["t"]},
    {"op": "clamp", "args": {"self": "%t", "min": 0.0, "max": 1.0}, "outputs": ["y"]}])")),
            "output y is zero: node 1 (clamp) leaves nothing else of values between -8 and 0\n");
  EXPECT_EQ(KindsOf("x f32 4", "y f32 4",
                    R"([{"op": "clamp", "args": {"self": "%x", "min": 2.0, "max": 2.0}, "outputs": ["y"]}])"),
            "constant");
  EXPECT_EQ(KindsOf("x f32 4", "y f32 4", R"([
    {"op": "exp", "args": {"self": "%x"}, "outputs": ["e"]}, {"op": "neg", "args": {"self": "%e"}, "outputs": ["n"]},
    {"op": "relu", "args": {"self": "%n"}, "outputs": ["y"]}])"),
            "zero");
}

TEST(AnalysisTest, WhatIsNeverFiniteIsSaid) {
  EXPECT_EQ(Said(SmallGraph("fp32", "x f32 4", "y f32 4", R"([
    {"op": "exp", "args": {"self": "%x"}, "outputs": ["e"]}, {"op": "neg", "args": {"self": "%e"}, "outputs": ["n"]},
    {"op": "log", "args": {"self": "%n"}, "outputs": ["y"]}])")),
            "output y is never finite: node 2 (log) is NaN for all inputs\n");
  EXPECT_EQ(KindsOf("x f32 4", "y f32 4", R"([{"op": "log", "args": {"self": "%x"}, "outputs": ["y"]}])"), "");
}

TEST(AnalysisTest, InputsThatNothingHangsOnAreNamed) {
  EXPECT_EQ(Said(SmallGraph("fp32", "x f32 4, z f32 4", "y f32 4",
                            R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["y"]}])")),
            "nothing hangs on z: no output hangs on it\n");
  EXPECT_EQ(Said(SmallGraph("fp32", "x f32 4, w:parameter f32 4", "y f32 4",
                            R"([{"op": "exp", "args": {"self": "%w"}, "outputs": ["y"]}])")),
            "output y does not hang on any input (x): parameters alone reach it\n");
  EXPECT_EQ(Said(SmallGraph("fp32", "x f32 4, z f32 4", "y f32 4", R"([
    {"op": "sub", "args": {"self": "%z", "other": "%z"}, "outputs": ["d"]},
    {"op": "add", "args": {"self": "%x", "other": "%d"}, "outputs": ["y"]}])")),
            "nothing hangs on z: no output hangs on it\n");
}

TEST(AnalysisTest, AnInputThatIsANumberInTheFileIsNotIgnored) {
  const auto with = [](const std::string& nodes, double value) {
    return Said(WithGenerators(SmallProblem("fp32", "x f32 4, m f32 4", "y f32 4", nodes), {{"m", Constant{value}}}));
  };
  const std::string times = R"([{"op": "mul", "args": {"self": "%x", "other": "%m"}, "outputs": ["y"]}])";
  EXPECT_EQ(with(times, 1), "");
  EXPECT_EQ(with(times, 3), "");
  // As it is drawn, nothing is left of x.
  EXPECT_EQ(with(times, 0), "output y is zero: the terms of node 0 (mul) cancel\n");
  const std::string not_at_all = R"([
    {"op": "sub", "args": {"self": "%m", "other": "%m"}, "outputs": ["d"]},
    {"op": "add", "args": {"self": "%x", "other": "%d"}, "outputs": ["y"]}])";
  EXPECT_EQ(with(not_at_all, 1), "nothing hangs on m: no output hangs on it\n");
  const std::string below = R"([
    {"op": "lt", "args": {"self": "%i", "other": "%p"}, "outputs": ["b"]},
    {"op": "where", "args": {"condition": "%b", "self": "%x", "other": "%z"}, "outputs": ["y"]}])";
  EXPECT_EQ(Said(WithGenerators(SmallProblem("fp32", "x f32 4, z f32 4, i i64 4, p i64 1", "y f32 4", below),
                                {{"p", Constant{40}}, {"i", IntegerRange{0, 64}}})),
            "");
}

TEST(AnalysisTest, ASoftmaxOverVeryManyIsZeroToWithinTheTolerance) {
  const auto softmax = [](int n) {
    return WithGenerators(SmallProblem("fp32", "x f32 2x" + std::to_string(n), "y f32 2x" + std::to_string(n),
                                       R"([{"op": "_softmax", "args": {"self": "%x", "dim": 1}, "outputs": ["y"]}])"),
                          {{"x", Uniform{0, 1}}});
  };
  EXPECT_EQ(Names(Analyze(softmax(100000))), "nearly-zero");
  EXPECT_EQ(Names(Analyze(softmax(1000))), "");
}

TEST(AnalysisTest, ANormOfVeryManyIsToldFromItsMean) {
  const Graph graph = WithGenerators(SmallProblem("fp32", "x f32 2000x200000", "y f32 2000x200000", R"([
    {"op": "linalg_vector_norm", "args": {"self": "%x", "ord": 2}, "outputs": ["n"]},
    {"op": "div", "args": {"self": "%x", "other": "%n"}, "outputs": ["y"]}])"),
                                     {{"x", Uniform{0, 1}}});
  EXPECT_EQ(Names(Analyze(graph)), "nearly-zero");
}

// Linear layers as PyTorch draws them, with a relu between.
std::string Layers(int count, std::map<std::string, Generator>& generators, std::string& inputs, std::int64_t width) {
  std::string nodes;
  const double half = 1 / std::sqrt(static_cast<double>(width));
  std::string before = "x";
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i), w = std::to_string(width);
    inputs += ", w" + n + ":parameter f32 " + w + "x" + w + ", b" + n + ":parameter f32 " + w;
    generators["w" + n] = generators["b" + n] = Uniform{-half, half};
    nodes += (i == 0 ? "" : ",") + (R"({"op": "linear", "args": {"input": "%)" + before + R"(", "weight": "%w)" + n) +
             R"(", "bias": "%b)" + n + R"("}, "outputs": ["l)" + n + R"("]},)" +
             R"({"op": "relu", "args": {"self": "%l)" + n + R"("}, "outputs": ["r)" + n + R"("]})";
    before = "r" + n;
  }
  return nodes;
}

TEST(AnalysisTest, ADeepNetworkForgetsItsInput) {
  const auto names = [](int depth) {
    std::map<std::string, Generator> generators = {{"x", Uniform{0, 1}}};
    std::string inputs = "x f32 4x64";
    const std::string nodes = Layers(depth, generators, inputs, 64);
    return Names(Analyze(WithGenerators(
        SmallProblem("fp32", inputs, "r" + std::to_string(depth - 1) + " f32 4x64", "[" + nodes + "]"), generators)));
  };
  EXPECT_EQ(names(3), "");
  EXPECT_EQ(names(14), "nearly-constant");
}

// A row that an input names is another one in each draw, though the table stays.
TEST(AnalysisTest, ATableThatIsLookedUpIsNotConstant) {
  const std::map<std::string, Generator> generators = {{"x", IntegerRange{0, 100}}, {"t", Normal{0, 1}}};
  EXPECT_EQ(Names(Analyze(WithGenerators(
                SmallProblem("fp32", "x i64 8, t:parameter f32 100x16", "y f32 8x16",
                             R"([{"op": "embedding", "args": {"weight": "%t", "indices": "%x"}, "outputs": ["y"]}])"),
                generators))),
            "");
}

// --- Collapse ---

TEST(AnalysisTest, RowSumsOfAProductNeedNoProduct) {
  const Graph graph =
      SmallGraph("fp32", "x f32 64x512, w:parameter f32 256x512, b:parameter f32 256", "y f32 64x1", R"([
    {"op": "linear", "args": {"input": "%x", "weight": "%w", "bias": "%b"}, "outputs": ["l"]},
    {"op": "mul", "args": {"self": "%l", "other": 0.5}, "outputs": ["h"]},
    {"op": "sum", "args": {"self": "%h", "dim": [1], "keepdim": true}, "outputs": ["y"]}])");
  const auto flags = Analyze(graph);
  ASSERT_EQ(Names(flags), "collapsible");
  EXPECT_EQ(flags[0].reason,
            "the sum over 256 elements in node 2 (sum) reaches only w of the contraction in node 0 (linear)");
  EXPECT_NEAR(flags[0].flops_written, 2.0 * 64 * 512 * 256, 0.01 * flags[0].flops_written);
  EXPECT_NEAR(flags[0].flops_needed, 512 * 256 + 2 * 64 * 512, 2e3);
}

TEST(AnalysisTest, WorkForWhatNoOutputReadsIsNone) {
  const Graph graph = SmallGraph("fp32", "x f32 8x16x64, w:parameter f32 64x512", "y f32 8x512", R"([
    {"op": "view", "args": {"self": "%x", "size": [128, 64]}, "outputs": ["rows"]},
    {"op": "mm", "args": {"self": "%rows", "mat2": "%w"}, "outputs": ["flat"]},
    {"op": "view", "args": {"self": "%flat", "size": [8, 16, 512]}, "outputs": ["tokens"]},
    {"op": "select", "args": {"self": "%tokens", "dim": 1, "index": -1}, "outputs": ["y"]}])");
  const auto flags = Analyze(graph);
  ASSERT_EQ(Names(flags), "collapsible");
  EXPECT_EQ(Sentence(flags[0]),
            "524 kFLOP would do in place of 8.39 MFLOP: no output reads most of what node 1 (mm) makes");
}

TEST(AnalysisTest, AnInputThatReachesUnreadElementsAloneReachesNoOutput) {
  EXPECT_EQ(KindsOf("x f32 8x64, p:parameter f32 1x64", "y f32 64", R"([
    {"op": "cat", "args": {"tensors": ["%p", "%x"], "dim": 0}, "outputs": ["all"]},
    {"op": "exp", "args": {"self": "%all"}, "outputs": ["e"]},
    {"op": "select", "args": {"self": "%e", "dim": 0, "index": 0}, "outputs": ["y"]}])"),
            "ignores-all");
}

TEST(AnalysisTest, ASumOfWhatIsNotLinearIsLeftAlone) {
  EXPECT_EQ(KindsOf("x f32 64x512, w:parameter f32 256x512", "y f32 64", R"([
    {"op": "linear", "args": {"input": "%x", "weight": "%w"}, "outputs": ["l"]},
    {"op": "relu", "args": {"self": "%l"}, "outputs": ["h"]},
    {"op": "sum", "args": {"self": "%h", "dim": [1]}, "outputs": ["y"]}])"),
            "");
  EXPECT_EQ(KindsOf("x f32 64x512", "y f32 64x512", R"([
    {"op": "sigmoid", "args": {"self": "%x"}, "outputs": ["s"]},
    {"op": "mul", "args": {"self": "%x", "other": "%s"}, "outputs": ["y"]}])"),
            "");
  // Nor where the product itself is an output.
  EXPECT_EQ(KindsOf("x f32 64x512, w:parameter f32 256x512", "y f32 64, l f32 64x256", R"([
    {"op": "linear", "args": {"input": "%x", "weight": "%w"}, "outputs": ["l"]},
    {"op": "sum", "args": {"self": "%l", "dim": [1]}, "outputs": ["y"]}])"),
            "");
}

TEST(AnalysisTest, ProductsInARowAreTakenInTheCheaperOrder) {
  const std::string nodes = R"([
    {"op": "mm", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["t"]},
    {"op": "mm", "args": {"self": "%t", "mat2": "%c"}, "outputs": ["y"]}])";
  const auto flags = Analyze(SmallGraph("fp32", "a f32 512x16, b f32 16x512, c f32 512x16", "y f32 512x16", nodes));
  ASSERT_EQ(Names(flags), "collapsible");
  EXPECT_NEAR(flags[0].flops_needed, 2.0 * (16 * 512 * 16 + 512 * 16 * 16), 3e4);
  EXPECT_EQ(KindsOf("a f32 512x512, b f32 512x16, c f32 16x512", "y f32 512x512", nodes), "");
}

TEST(AnalysisTest, PoolingAfterAConvolutionCanGoFirst) {
  EXPECT_EQ(KindsOf("x f32 1x8x32x32, w:parameter f32 32x8x3x3", "y f32 1x32x7x7", R"([
    {"op": "convolution", "args": {"input": "%x", "weight": "%w", "bias": null, "stride": [1, 1], "padding": [0, 0],
     "dilation": [1, 1], "transposed": false, "output_padding": [0, 0], "groups": 1}, "outputs": ["c"]},
    {"op": "avg_pool2d", "args": {"self": "%c", "kernel_size": [4, 4]}, "outputs": ["y"]}])"),
            "collapsible");
}

TEST(AnalysisTest, APoolOverATransposedConvolutionIsAConvolution) {
  const auto flags = Analyze(SmallGraph("fp32", "x f32 1x8x32x32, w:parameter f32 8x32x3x3", "y f32 1x32x31x31", R"([
    {"op": "convolution", "args": {"input": "%x", "weight": "%w", "bias": null, "stride": [2, 2], "padding": [1, 1],
     "dilation": [1, 1], "transposed": true, "output_padding": [0, 0], "groups": 1}, "outputs": ["c"]},
    {"op": "avg_pool2d", "args": {"self": "%c", "kernel_size": [2, 2]}, "outputs": ["y"]}])"));
  ASSERT_EQ(Names(flags), "collapsible");
  EXPECT_EQ(
      flags[0].reason,
      "node 0 (convolution) and node 1 (avg_pool2d) are one linear map: with their parameters multiplied out each "
      "result sums fewer elements");
  // Four elements of each of eight channels instead of nine, and 32 x 8 x 9 x 4 products of parameters.
  EXPECT_NEAR(flags[0].flops_needed, 2.0 * 31 * 31 * 32 * 8 * 4 + 2.0 * 32 * 8 * 9 * 4, 1e4);
}

// --- The forms themselves, on numbers ---

double Number(const Graph& graph, const std::vector<std::vector<double>>& values, const Expr& e,
              std::map<int, std::int64_t>& at);

double SumOver(const Graph& graph, const std::vector<std::vector<double>>& values, const std::vector<IndexVar>& over,
               std::size_t next, std::map<int, std::int64_t>& at, const std::function<double()>& body) {
  if (next == over.size()) return body();
  double sum = 0;
  for (std::int64_t i = 0; i < over[next].extent; ++i) {
    at[over[next].id] = i;
    sum += SumOver(graph, values, over, next + 1, at, body);
  }
  return sum;
}

double Number(const Graph& graph, const std::vector<std::vector<double>>& values, const Expr& e,
              std::map<int, std::int64_t>& at) {
  switch (e->kind) {
    case Expr::Kind::kConst: return e->type == ScalarType::kReal ? e->real : static_cast<double>(e->whole);
    case Expr::Kind::kIndex: return static_cast<double>(at.at(e->index.id));
    case Expr::Kind::kLoad: {
      std::int64_t flat = 0;
      const auto buffer = static_cast<std::size_t>(e->buffer);
      for (std::size_t d = 0; d < e->operands.size(); ++d) {
        const auto i = static_cast<std::int64_t>(Number(graph, values, e->operands[d], at));
        const std::int64_t extent = graph.buffers()[buffer].shape[d];
        if (i < 0 || i >= extent) return 0;  // behind a truth value that is 0 there
        flat = flat * extent + i;
      }
      return values[buffer][static_cast<std::size_t>(flat)];
    }
    case Expr::Kind::kUnary: return ValueOf(e->unary, Number(graph, values, e->operands[0], at));
    case Expr::Kind::kBinary:
      return ValueOf(e->binary, Number(graph, values, e->operands[0], at), Number(graph, values, e->operands[1], at));
    case Expr::Kind::kSelect:
      return Number(graph, values, e->operands[Number(graph, values, e->operands[0], at) != 0 ? 1 : 2], at);
    case Expr::Kind::kCast: return Number(graph, values, e->operands[0], at);
    case Expr::Kind::kValue: break;
    case Expr::Kind::kReduce:
      EXPECT_EQ(e->reduce, ReduceOp::kSum);
      return SumOver(graph, values, e->over, 0, at, [&] { return Number(graph, values, e->operands[0], at); });
  }
  return 0;
}

// Every form that FindCollapses gives has the values of what it stands for.
void ExpectSameValues(const Graph& graph) {
  std::vector<std::vector<double>> values(graph.buffers().size());
  std::uint64_t state = 7;
  for (std::size_t b = 0; b < values.size(); ++b) {
    const Buffer& buffer = graph.buffers()[b];
    values[b].resize(static_cast<std::size_t>(ElementCount(buffer.shape)));
    if (buffer.stage >= 0) continue;
    for (auto& value : values[b]) {
      state = state * 6364136223846793005 + 1442695040888963407;
      value = static_cast<double>(state >> 40) / (1 << 24) - 0.5;
    }
  }
  const auto each = [&](const Stage& stage,
                        const std::function<void(std::size_t, std::map<int, std::int64_t>&)>& body) {
    const Shape& shape = graph.buffers()[static_cast<std::size_t>(stage.buffer)].shape;
    for (std::int64_t flat = 0; flat < ElementCount(shape); ++flat) {
      std::map<int, std::int64_t> at;
      std::int64_t rest = flat;
      for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) at[stage.vars[d].id] = rest % shape[d];
      body(static_cast<std::size_t>(flat), at);
    }
  };
  Symbolic symbolic(graph);
  for (std::size_t s = 0; s < graph.stages().size(); ++s) {
    symbolic.Define(s);
    const Stage& stage = graph.stages()[s];
    each(stage, [&](std::size_t flat, auto& at) {
      values[static_cast<std::size_t>(stage.buffer)][flat] = Number(graph, values, stage.value, at);
      EXPECT_NEAR(Number(graph, values, symbolic.Value(s), at), values[static_cast<std::size_t>(stage.buffer)][flat],
                  1e-12);
    });
  }
  const auto collapses = FindCollapses(graph, symbolic);
  EXPECT_FALSE(collapses.empty());
  for (const Collapse& collapse : collapses) {
    const Stage& stage = graph.stages()[collapse.stage];
    each(stage, [&](std::size_t flat, auto& at) {
      double sum = 0;
      for (const Term& term : collapse.form) {
        sum += term.coefficient * SumOver(graph, values, term.over, 0, at, [&] {
                 double product = 1;
                 for (const auto& factor : term.factors) product *= Number(graph, values, factor, at);
                 return product;
               });
      }
      EXPECT_NEAR(sum, values[static_cast<std::size_t>(stage.buffer)][flat], 1e-11);
    });
  }
}

TEST(CollapseTest, FormsHaveTheValuesOfWhatTheyStandFor) {
  ExpectSameValues(SmallGraph("fp32", "x f32 4x16, w:parameter f32 32x16, b:parameter f32 32", "y f32 4x2", R"([
    {"op": "linear", "args": {"input": "%x", "weight": "%w", "bias": "%b"}, "outputs": ["l"]},
    {"op": "view", "args": {"self": "%l", "size": [4, 1, 32]}, "outputs": ["v"]},
    {"op": "avg_pool1d", "args": {"self": "%v", "kernel_size": [16]}, "outputs": ["p"]},
    {"op": "view", "args": {"self": "%p", "size": [4, 2]}, "outputs": ["q"]},
    {"op": "mul", "args": {"self": "%q", "other": 3.0}, "outputs": ["y"]}])"));
  ExpectSameValues(SmallGraph("fp32", "x f32 2x3x6x6, w:parameter f32 3x8x3x3, b:parameter f32 8", "y f32 2x8", R"([
    {"op": "convolution", "args": {"input": "%x", "weight": "%w", "bias": "%b", "stride": [2, 2], "padding": [1, 1],
     "dilation": [1, 1], "transposed": true, "output_padding": [1, 1], "groups": 1}, "outputs": ["c"]},
    {"op": "mean", "args": {"self": "%c", "dim": [2, 3]}, "outputs": ["y"]}])"));
  ExpectSameValues(SmallGraph("fp32", "x f32 1x4x12x12, w:parameter f32 16x4x3x3", "y f32 1x16x3x3", R"([
    {"op": "convolution", "args": {"input": "%x", "weight": "%w", "bias": null, "stride": [1, 1], "padding": [1, 1],
     "dilation": [1, 1], "transposed": false, "output_padding": [0, 0], "groups": 1}, "outputs": ["c"]},
    {"op": "avg_pool2d", "args": {"self": "%c", "kernel_size": [4, 4]}, "outputs": ["y"]}])"));
}

TEST(SymbolicTest, IndicesThatAViewTakesApartComeTogetherAgain) {
  const IndexVar i = NewIndex(24), j = NewIndex(30);
  const Expr flat = Expr(i) * 30 + Expr(j);
  const auto div = [](const Expr& a, std::int64_t b) { return Apply(BinaryOp::kFloorDiv, a, b); };
  const auto mod = [](const Expr& a, std::int64_t b) { return Apply(BinaryOp::kFloorMod, a, b); };
  const auto is = [](const Expr& e, const IndexVar& var) {
    const LinearIndex sum = ToLinear(e);
    return sum.constant == 0 && sum.atoms.size() == 1 && sum.atoms[0].second == 1 &&
           sum.atoms[0].first->kind == Expr::Kind::kIndex && sum.atoms[0].first->index.id == var.id;
  };
  EXPECT_TRUE(is(div(flat, 30), i));
  EXPECT_TRUE(is(mod(flat, 30), j));
  EXPECT_TRUE(is(div(flat, 90) * 3 + mod(div(flat, 30), 3), i));
  EXPECT_FALSE(is(div(flat, 90), i));
}

}  // namespace
}  // namespace hone
