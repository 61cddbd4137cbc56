// One file because each is a fact about the same thing: what the oracle's budget lets pass, and what it does not.
#include "oracle/oracle.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string>

#include "graph/testing/small_problem.h"
#include "hone/module.h"
#include "oracle/compare.h"
#include "oracle/cuda_nest.h"
#include "oracle/loop_nest.h"
#include "oracle/picks.h"
#include "problem/generate.h"
#include "target/cpu/compiler.h"

namespace hone {
namespace {

using testing::SmallGraph;
using Floats = std::vector<float>;

constexpr auto kProduct = R"([{"op": "mm", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["y"]}])";
constexpr auto kSoftmax = R"([{"op": "_softmax", "args": {"self": "%x", "dim": -1}, "outputs": ["y"]}])";
constexpr auto kSum = R"([{"op": "sum", "args": {"self": "%x"}, "outputs": ["y"]}])";

std::vector<Expected> Reference(const Graph& graph, const std::vector<const void*>& inputs) {
  auto oracle = Oracle::Compile(graph);
  EXPECT_TRUE(oracle.has_value()) << oracle.error().message;
  if (!oracle) return {};
  auto expected = oracle->Run(inputs, 2);
  EXPECT_TRUE(expected.has_value());
  return std::move(*expected);
}

// The largest error in units of the element's budget: a candidate passes at 1 or below.
template <class T>
double Worst(const Expected& expected, const std::vector<T>& got) {
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(static_cast<double>(got[i]) - expected.value[i]);
    if (error == 0 || std::isinf(expected.budget[i])) continue;
    worst = std::max(worst, expected.budget[i] > 0 ? error / expected.budget[i] : HUGE_VAL);
  }
  return worst;
}

Floats Normals(std::size_t count, std::uint64_t seed, double mean = 0) {
  Floats data(count);
  const Tensor tensor{"x", {static_cast<std::int64_t>(count)}, DType::kF32, Role::kInput, Normal{mean, 1}};
  EXPECT_TRUE(Fill(tensor, seed, 0, {}, data.data()).has_value());
  return data;
}

// With the last `bits` of its 24 significant bits rounded away: 13 makes tf32 and fp16's, 16 bf16's.
float WithoutBits(float x, int bits) {
  const auto half = std::uint32_t{1} << (bits - 1);
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + half) & ~(2 * half - 1));
}
Floats WithoutBits(Floats data, int bits) {
  for (auto& x : data) x = WithoutBits(x, bits);
  return data;
}

constexpr int kM = 48, kK = 512, kN = 40;

// In single precision, in an order of its own: from the back, in `parts` interleaved sums.
Floats Product(const Floats& a, const Floats& b, int parts = 4) {
  Floats y(kM * kN);
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      Floats sums(static_cast<std::size_t>(parts));
      for (int k = kK; k-- > 0;)
        sums[static_cast<std::size_t>(k % parts)] +=
            a[static_cast<std::size_t>(i * kK + k)] * b[static_cast<std::size_t>(k * kN + j)];
      y[static_cast<std::size_t>(i * kN + j)] = std::accumulate(sums.begin(), sums.end(), 0.0f);
    }
  }
  return y;
}

class ProductTest : public ::testing::Test {
 protected:
  Expected Under(const char* contract) {
    return Reference(SmallGraph(contract, "a f32 48x512, b f32 512x40", "y f32 48x40", kProduct),
                     {a.data(), b.data()})[0];
  }
  const Floats a = Normals(kM * kK, 1), b = Normals(kK * kN, 2);
};

TEST_F(ProductTest, AnHonestProductPassesInAnyOrder) {
  const Expected expected = Under("fp32");
  EXPECT_LE(Worst(expected, Product(a, b, 1)), 1);
  EXPECT_LE(Worst(expected, Product(a, b, 16)), 1);
}

TEST_F(ProductTest, ZerosAndSkippedTilesDoNotPass) {
  const Expected expected = Under("fp32");
  EXPECT_GT(Worst(expected, Floats(kM * kN)), 100);
  Floats y = Product(a, b);
  y[kM * kN - 1] = 0;
  EXPECT_GT(Worst(expected, y), 100);
}

TEST_F(ProductTest, RoundedOperandsPassUnderTheirContractOnly) {
  const Floats tf32 = Product(WithoutBits(a, 13), WithoutBits(b, 13)),
               bf16 = Product(WithoutBits(a, 16), WithoutBits(b, 16));
  EXPECT_GT(Worst(Under("fp32"), tf32), 2);
  EXPECT_GT(Worst(Under("fp32"), bf16), 2);
  EXPECT_LE(Worst(Under("tf32"), tf32), 1);
  EXPECT_LE(Worst(Under("fp16"), tf32), 1);
  EXPECT_GT(Worst(Under("tf32"), bf16), 1);
  EXPECT_LE(Worst(Under("bf16"), bf16), 1);
  EXPECT_GT(Worst(Under("bf16"), Floats(kM * kN)), 10);
}

TEST(OracleTest, ZerosDoNotPassAfterSeveralLayersEither) {
  const Floats x = Normals(32 * 256, 11), w = Normals(256 * 256, 12);
  const Expected expected =
      Reference(SmallGraph("bf16", "x f32 32x256, w f32 256x256", "y f32 32x256",
                           R"([{"op": "mm", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["t"]},
                                                     {"op": "relu", "args": {"self": "%t"}, "outputs": ["r"]},
                                                     {"op": "mm", "args": {"self": "%r", "mat2": "%w"}, "outputs": ["u"]},
                                                     {"op": "mm", "args": {"self": "%u", "mat2": "%w"}, "outputs": ["y"]}])"),
                {x.data(), w.data()})[0];
  EXPECT_GT(Worst(expected, Floats(x.size())), 4);
}

TEST(OracleTest, AnHonestSoftmaxPassesAndAConstantOneDoesNot) {
  const Floats x = Normals(16 * 1000, 3);
  const Expected expected = Reference(SmallGraph("fp32", "x f32 16x1000", "y f32 16x1000", kSoftmax), {x.data()})[0];
  Floats y(x.size());
  for (std::size_t row = 0; row < 16; ++row) {  // without the shift by the maximum, which the definition has
    float sum = 0;
    for (std::size_t i = 0; i < 1000; ++i) sum += std::exp(x[row * 1000 + i]);
    for (std::size_t i = 0; i < 1000; ++i) y[row * 1000 + i] = std::exp(x[row * 1000 + i]) / sum;
  }
  EXPECT_LE(Worst(expected, y), 1);
  EXPECT_GT(Worst(expected, Floats(x.size(), 1e-3f)), 100);
  y[77] = 0;
  EXPECT_GT(Worst(expected, y), 100) << "a probability is small, but so is its budget";
}

TEST(OracleTest, AOnePassLayerNormPassesWhereTheMeanIsSmall) {
  const Floats x = Normals(32 * 256, 4);
  const Expected expected = Reference(
      SmallGraph("fp32", "x f32 32x256", "y f32 32x256",
                 R"([{"op": "layer_norm", "args": {"input": "%x", "normalized_shape": [256]}, "outputs": ["y"]}])"),
      {x.data()})[0];
  Floats y(x.size());
  for (std::size_t row = 0; row < 32; ++row) {
    float sum = 0, squares = 0;
    for (std::size_t i = 0; i < 256; ++i) {
      sum += x[row * 256 + i];
      squares += x[row * 256 + i] * x[row * 256 + i];
    }
    const float mean = sum / 256, scale = 1 / std::sqrt(squares / 256 - mean * mean + 1e-5f);
    for (std::size_t i = 0; i < 256; ++i) y[row * 256 + i] = (x[row * 256 + i] - mean) * scale;
  }
  EXPECT_LE(Worst(expected, y), 1);
  EXPECT_GT(Worst(expected, WithoutBits(y, 16)), 1);
}

TEST(OracleTest, ASumOfAMillionIsHeldToWhatBlocksReach) {
  const Floats x = Normals(1'000'000, 5);
  const Expected expected = Reference(SmallGraph("fp32", "x f32 1000000", "y f32 -", kSum), {x.data()})[0];
  Floats parts(1024);
  for (std::size_t i = 0; i < x.size(); ++i) parts[i % 1024] += x[i];
  EXPECT_LE(Worst(expected, Floats{std::accumulate(parts.begin(), parts.end(), 0.0f)}), 1);
  const double of_most = std::accumulate(x.begin(), x.end() - 1000, 0.0);
  EXPECT_GT(Worst(expected, std::vector<double>{of_most}), 1) << "a thousandth is left out";
  EXPECT_GT(Worst(expected, Floats{0}), 1);
}

// Of one sign, where the order counts most.
Floats Uniforms(std::size_t count, std::uint64_t seed) {
  Floats data(count);
  const Tensor tensor{"x", {static_cast<std::int64_t>(count)}, DType::kF32, Role::kInput, Uniform{0, 1}};
  EXPECT_TRUE(Fill(tensor, seed, 0, {}, data.data()).has_value());
  return data;
}

TEST(OracleTest, ASumInOrderPassesAndSoDoesOneFromTheBack) {
  const Floats x = Uniforms(4'000'000, 6);
  const Expected expected =
      Reference(SmallGraph("fp32", "x f32 4x1000000", "y f32 4",
                           R"([{"op": "sum", "args": {"self": "%x", "dim": [1]}, "outputs": ["y"]}])"),
                {x.data()})[0];
  Floats forwards, backwards, of_most, in_half(4);
  for (std::size_t row = 0; row < 4; ++row) {
    const auto begin = x.begin() + static_cast<std::ptrdiff_t>(row * 1'000'000), end = begin + 1'000'000;
    forwards.push_back(std::accumulate(begin, end, 0.0f));
    backwards.push_back(std::accumulate(std::reverse_iterator(end), std::reverse_iterator(begin), 0.0f));
    of_most.push_back(static_cast<float>(std::accumulate(begin, end - 1000, 0.0)));
    for (auto term = begin; term != end; ++term) in_half[row] = WithoutBits(in_half[row] + *term, 13);
  }
  EXPECT_LE(Worst(expected, forwards), 1);
  EXPECT_LE(Worst(expected, backwards), 1);
  EXPECT_GT(Worst(expected, of_most), 1) << "a thousandth is left out";
  EXPECT_GT(Worst(expected, in_half), 100) << "added up in half precision";
}

TEST(OracleTest, AProductInOrderPassesWhereRoundedOperandsDoNot) {
  constexpr std::size_t kRows = 32, kTerms = 4096, kColumns = 32;
  const Floats a = Uniforms(kRows * kTerms, 7), b = Uniforms(kTerms * kColumns, 8);
  const Expected expected =
      Reference(SmallGraph("fp32", "a f32 32x4096, b f32 4096x32", "y f32 32x32", kProduct), {a.data(), b.data()})[0];
  const auto in_order = [&](const Floats& left, const Floats& right) {
    Floats y(kRows * kColumns);
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t k = 0; k < kTerms; ++k) {
        for (std::size_t j = 0; j < kColumns; ++j)
          y[i * kColumns + j] += left[i * kTerms + k] * right[k * kColumns + j];
      }
    }
    return y;
  };
  EXPECT_LE(Worst(expected, in_order(a, b)), 1);
  EXPECT_GT(Worst(expected, in_order(WithoutBits(a, 13), WithoutBits(b, 13))), 1);
}

TEST(OracleTest, WhatOverflowsSinglePrecisionIsOpen) {
  const Floats x = {1, 100};
  const Expected expected = Reference(
      SmallGraph("fp32", "x f32 2", "y f32 2", R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["y"]}])"),
      {x.data()})[0];
  EXPECT_TRUE(std::isfinite(expected.budget[0]));
  EXPECT_TRUE(std::isinf(expected.budget[1]));
}

TEST(OracleTest, ComparisonsOfInputsAreExact) {
  const Floats x = {1, 2, 3}, z = {1, std::nextafter(2.0f, 3.0f), 2};
  const Expected expected =
      Reference(SmallGraph("fp32", "x f32 3, z f32 3", "y bool 3",
                           R"([{"op": "lt", "args": {"self": "%x", "other": "%z"}, "outputs": ["y"]}])"),
                {x.data(), z.data()})[0];
  EXPECT_EQ(expected.value, (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(expected.budget, (std::vector<double>{0, 0, 0}));
}

TEST(OracleTest, ComparisonsWithinRoundingErrorAreOpen) {
  const Floats x = {1, 2}, z = {static_cast<float>(std::exp(1.0)), 3};
  const Expected expected = Reference(SmallGraph("fp32", "x f32 2, z f32 2", "y bool 2",
                                                 R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["t"]},
                                               {"op": "lt", "args": {"self": "%t", "other": "%z"}, "outputs": ["y"]}])"),
                                      {x.data(), z.data()})[0];
  EXPECT_TRUE(std::isinf(expected.budget[0]));
  EXPECT_EQ(expected.budget[1], 0);
}

TEST(OracleTest, TheFirstOfEqualInputsIsTheLargest) {
  const Floats x = {1, 3, 3, 2};
  const Expected expected = Reference(
      SmallGraph("fp32", "x f32 4", "y i64 -", R"([{"op": "argmax", "args": {"self": "%x"}, "outputs": ["y"]}])"),
      {x.data()})[0];
  EXPECT_EQ(expected.value[0], 1);
  EXPECT_EQ(expected.budget[0], 0);
}

TEST(OracleTest, AnIndexThatHangsOnRoundingIsOpenAndSoIsWhatItPicks) {
  // An index of inputs is exact, also where another stage reads it.
  const Floats ties = {1, 2, 2};
  const auto twice = Reference(SmallGraph("fp32", "x f32 3", "y i64 -",
                                          R"([{"op": "argmax", "args": {"self": "%x"}, "outputs": ["i"]},
                                              {"op": "sum", "args": {"self": "%i"}, "outputs": ["y"]}])"),
                               {ties.data()});
  EXPECT_EQ(twice[0].value[0], 1);
  EXPECT_EQ(twice[0].budget[0], 0);
  const Floats near = {1, std::nextafter(1.0f, 2.0f), 0}, far = {1, 2, 0};
  const auto nodes = R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["t"]},
                         {"op": "argmax", "args": {"self": "%t"}, "outputs": ["i"]},
                         {"op": "mul", "args": {"self": "%i", "other": 2}, "outputs": ["y"]}])";
  const Graph graph = SmallGraph("fp32", "x f32 3", "i i64 -, y i64 -", nodes);
  const auto open = Reference(graph, {near.data()}), sure = Reference(graph, {far.data()});
  EXPECT_TRUE(std::isinf(open[0].budget[0]));
  EXPECT_TRUE(std::isinf(open[1].budget[0]));
  EXPECT_EQ(sure[1].value[0], 2);
  EXPECT_EQ(sure[1].budget[0], 0);
}

// How far the value at each given place is from that at the expected one, of output `o`.
Expected Distances(const Graph& graph, std::size_t o, const Floats& x, const std::vector<std::int64_t>& given,
                   const std::vector<double>& expected) {
  const auto with = WithPicks(graph, o);
  EXPECT_TRUE(with.has_value());
  if (!with) return {};
  return Reference(with->graph, {x.data(), given.data(), expected.data()}).back();
}

TEST(OracleTest, APlaceIsAsGoodAsItsValue) {
  const Floats x = {1, 4, 2, 4, 3, 8, 7, 8};
  const Graph largest = SmallGraph("fp32", "x f32 2x4", "y i64 2",
                                   R"([{"op": "argmax", "args": {"self": "%x", "dim": 1}, "outputs": ["y"]}])");
  EXPECT_EQ(Distances(largest, 0, x, {3, 2}, {1, 1}).value, (std::vector<double>{0, -1}));
  EXPECT_EQ(Distances(largest, 0, x, {-1, 4}, {1, 1}).value, (std::vector<double>{HUGE_VAL, HUGE_VAL}));
  const Graph order = SmallGraph("fp32", "x f32 2x4", "v f32 2x2, y i64 2x2",
                                 R"([{"op": "topk", "args": {"self": "%x", "k": 2}, "outputs": ["v", "y"]}])");
  EXPECT_EQ(Distances(order, 1, x, {3, 0, 1, 9}, {1, 3, 1, 3}).value, (std::vector<double>{0, -3, 0, HUGE_VAL}));
  const Graph pool = SmallGraph(
      "fp32", "x f32 1x2x4", "v f32 1x1x2, y i64 1x1x2",
      R"([{"op": "max_pool2d_with_indices", "args": {"self": "%x", "kernel_size": [2, 2]}, "outputs": ["v", "y"]}])");
  EXPECT_EQ(Distances(pool, 1, x, {4, 7}, {5, 7}).value, (std::vector<double>{-5, 0})) << "places in the plane";
  EXPECT_EQ(Distances(pool, 1, x, {5, 5}, {5, 7}).value, (std::vector<double>{0, HUGE_VAL})) << "another window's";
}

TEST(OracleTest, HowGoodPlacesAreTakesNothingThatOnlyTheOutputsNeed) {
  Problem problem = testing::SmallProblem("fp32", "x f32 2x40", "v f32 2x4, y i64 2x4",
                                          R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["t"]},
          {"op": "topk", "args": {"self": "%t", "k": 4}, "outputs": ["v", "y"]}])");
  std::rotate(problem.tensors.begin(), problem.tensors.begin() + 1, problem.tensors.end());  // inputs may come last
  const auto graph = Graph::Create(problem);
  ASSERT_TRUE(graph) << graph.error().message;
  const auto with = WithPicks(*graph, 1);
  ASSERT_TRUE(with.has_value());
  for (const Buffer& buffer : with->graph.buffers()) {
    if (buffer.tensor < 0) continue;
    EXPECT_EQ(with->graph.problem().tensors.at(static_cast<std::size_t>(buffer.tensor)).name, buffer.name);
  }
  const auto outputs = with->graph.problem().Outputs();
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0]->name, "hone_distance");
  EXPECT_EQ(with->graph.problem().Inputs().size(), 3u);
  const auto runs = [](const Graph& of) { return WriteCudaNests(of, TorchProducts::kF32, 0).runs.size(); };
  EXPECT_GT(runs(*graph), 5u) << "rows are sorted";
  EXPECT_EQ(runs(with->graph), 5u)
      << "t, the places that are given, listed and counted, and what is at two places of t";
  EXPECT_NE(SourcesOfOracle(*graph, 0).values.find("ranks0"), std::string::npos);
  EXPECT_EQ(SourcesOfOracle(with->graph, 0).values.find("ranks0"), std::string::npos);
}

TEST(OracleTest, CancellationWidensTheBudgetAsItWidensTheError) {
  const Floats x = {1, 1e-3f};
  const Expected expected = Reference(SmallGraph("fp32", "x f32 2", "y f32 2",
                                                 R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["t"]},
                                               {"op": "sub", "args": {"self": "%t", "other": 1.0}, "outputs": ["y"]}])"),
                                      {x.data()})[0];
  EXPECT_LE(Worst(expected, Floats{std::exp(1.0f) - 1, std::exp(1e-3f) - 1}), 1);
  EXPECT_LE(Worst(expected, Floats{std::expm1(1.0f), std::expm1(1e-3f)}), 1);
}

TEST(OracleTest, ARectifierLeavesRoomWhereItsArgumentMayComeOutAboveZero) {
  // The sum is rounded by up to 6, and candidates may be four times as far off: -15 can become 9, -47 stays below.
  const Graph graph = SmallGraph("fp32", "a f32 2, b f32 2, c f32 2", "y f32 2",
                                 R"([{"op": "add.Tensor", "args": {"self": "%a", "other": "%b"}, "outputs": ["s"]},
          {"op": "sub.Tensor", "args": {"self": "%s", "other": "%c"}, "outputs": ["d"]},
          {"op": "relu", "args": {"self": "%d"}, "outputs": ["y"]}])");
  const Floats a = {1e8f, 1e8f}, b = {1, 1}, c = {100000016, 100000048};
  const auto expected = Reference(graph, {a.data(), b.data(), c.data()});
  ASSERT_EQ(expected.size(), 1u);
  EXPECT_EQ(expected[0].value, (std::vector<double>{0, 0}));
  EXPECT_NEAR(expected[0].budget[0], 9, 1);
  EXPECT_EQ(expected[0].budget[1], 0);
}

// As above: what is -15 may come out as 9, where the functions have no slope at the one and are something else at the
// other. Where nothing cancels, budgets stay small.
TEST(OracleTest, AFunctionThatBendsLeavesRoomForWhatItsArgumentMayBe) {
  const Floats a = {1e8f, 0}, b = {1, -3}, c = {100000016, 0};
  const auto budgets = [&](const std::string& function) {
    const Graph graph = SmallGraph("fp32", "a f32 2, b f32 2, c f32 2", "y f32 2",
                                   R"([{"op": "add.Tensor", "args": {"self": "%a", "other": "%b"}, "outputs": ["s"]},
          {"op": "sub.Tensor", "args": {"self": "%s", "other": "%c"}, "outputs": ["d"]}, {"op": ")" +
                                       function + R"(", "args": {"self": "%d"}, "outputs": ["y"]}])");
    return Reference(graph, {a.data(), b.data(), c.data()}).at(0).budget;
  };
  const auto gelu = [](double x) { return x / 2 * std::erfc(-x * std::sqrt(0.5)); };
  EXPECT_GT(budgets("erf")[0], 1.9);
  EXPECT_GT(budgets("tanh")[0], 1.9);
  EXPECT_GT(budgets("atan")[0], std::atan(8.0) - std::atan(-15.0));
  EXPECT_GT(budgets("gelu")[0], gelu(8) - gelu(-15));
  EXPECT_LT(budgets("gelu")[0], 100);
  for (const char* function : {"erf", "tanh", "atan", "gelu"}) EXPECT_LT(budgets(function)[1], 1e-4) << function;
}

TEST(OracleTest, EmptyResultsAreFine) {
  const Floats x;
  const auto expected = Reference(
      SmallGraph(
          "fp32", "x f32 0x4", "y f32 0x4, z f32 -",
          R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["y"]}, {"op": "sum", "args": {"self": "%x"}, "outputs": ["z"]}])"),
      {x.data()});
  EXPECT_TRUE(expected[0].value.empty());
  EXPECT_EQ(expected[1].value[0], 0);
}

// What a compiler makes of the definitions is right by the oracle's measure.
TEST(OracleTest, NaiveModulesPass) {
  struct Example {
    const char *inputs, *output, *nodes;
  };
  const Example examples[] = {
      {"a f32 48x64, b f32 64x40", "y f32 48x40", kProduct},
      {"x f32 16x100", "y f32 16x100", kSoftmax},
      {"x f32 5000", "y f32 -", kSum},
      {"x f32 8x33", "y i64 8", R"([{"op": "argmax", "args": {"self": "%x", "dim": 1}, "outputs": ["y"]}])"},
      {"x f32 8x33", "y bool 8x33", R"([{"op": "gt", "args": {"self": "%x", "other": 0.5}, "outputs": ["y"]}])"},
      {"x f32 4x6x10", "y f32 4x6x10",
       R"([{"op": "group_norm", "args": {"input": "%x", "num_groups": 3}, "outputs": ["y"]}])"},
      {"x i32 7", "y i64 7", R"([{"op": "_to_copy", "args": {"self": "%x", "dtype": "i64"}, "outputs": ["y"]}])"},
      {"x f32 4x8, z f32 4x8", "y f32 4x16",
       R"([{"op": "cat", "args": {"tensors": ["%x", "%z"], "dim": 1}, "outputs": ["y"]}])"},
      // The third value, M_PI_2 if it were spelled as it is called: a macro.
      {"for f32 4x8, step f32 4x8, M_PI f32 4x8", "y f32 4x24",
       R"([{"op": "cat", "args": {"tensors": ["%for", "%step", "%M_PI"], "dim": 1}, "outputs": ["y"]}])"},
  };
  for (const auto& example : examples) {
    const Graph graph = SmallGraph("fp32", example.inputs, std::string(example.output), example.nodes);
    CompileRequest request;
    request.source = NaiveModule(graph);
    const auto compiled = CompileModule(request);
    ASSERT_TRUE(compiled.has_value()) << compiled.error().message;
    ASSERT_TRUE(compiled->ok()) << example.nodes << "\n" << compiled->log;
    void* library = dlopen(compiled->library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto run = reinterpret_cast<int32_t (*)(const HoneCall*)>(dlsym(library, "hone_run"));
    ASSERT_NE(run, nullptr);

    std::vector<std::vector<std::byte>> data;
    std::vector<const void*> pointers;
    std::vector<DLTensor> tensors;
    std::uint64_t stream = 0;
    for (const Tensor* tensor : graph.problem().Inputs()) {
      data.emplace_back(static_cast<std::size_t>(tensor->bytes()));
      ASSERT_TRUE(Fill(*tensor, 7, stream++, {}, data.back().data()).has_value());
      pointers.push_back(data.back().data());
      tensors.emplace_back();
      tensors.back().data = data.back().data();
    }
    const Tensor& output = *graph.problem().Outputs()[0];
    std::vector<std::byte> made(static_cast<std::size_t>(output.bytes()));
    DLTensor out{};
    out.data = made.data();
    HoneCall call{};
    call.inputs = tensors.data();
    call.outputs = &out;
    call.threads = 1;
    ASSERT_EQ(run(&call), 0);

    const Expected expected = Reference(graph, pointers)[0];
    const auto worst = [&]<class T>(T) {
      const T* values = reinterpret_cast<const T*>(made.data());
      return Worst(expected, std::vector<T>(values, values + expected.value.size()));
    };
    const double found = output.dtype == DType::kF32   ? worst(float{})
                         : output.dtype == DType::kI64 ? worst(std::int64_t{})
                                                       : worst(std::uint8_t{});
    EXPECT_LE(found, 1) << example.nodes;
    dlclose(library);
  }
}

TEST(OracleTest, GroupedProductsTakeWhatIsTheGroupsOwn) {
  const std::vector<std::int32_t> ends = {2, 2, 5};  // the second group is empty
  const Floats numbers = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, weights = {1, 0, 100, 100, 0, 1}, ones = {1, 1, 1, 1, 1};
  const auto made = [&](const char* inputs, const char* output, const Floats& a, const Floats& b) {
    const Graph graph =
        SmallGraph("fp32", inputs, output,
                   R"([{"op": "_grouped_mm", "args": {"self": "%a", "mat2": "%b", "offs": "%o"}, "outputs": ["y"]}])");
    return Reference(graph, {a.data(), b.data(), ends.data()})[0].value;
  };
  using Values = std::vector<double>;
  EXPECT_EQ(made("a f32 5x2, b f32 3x2x1, o i32 3", "y f32 5x1", numbers, weights), (Values{1, 3, 6, 8, 10})) << "rows";
  EXPECT_EQ(made("a f32 3x1x2, b f32 2x5, o i32 3", "y f32 1x5", weights, numbers), (Values{1, 2, 8, 9, 10}))
      << "columns";
  EXPECT_EQ(made("a f32 1x5, b f32 5x1, o i32 3", "y f32 3x1x1", numbers, ones), (Values{3, 0, 12})) << "sums";
}

TEST(OracleTest, DropoutIsADrawThatIsTheSameEveryTime) {
  const Graph graph = SmallGraph("fp32", "x f32 64x256", "y f32 64x256, kept bool 64x256",
                                 R"([{"op": "native_dropout", "args": {"input": "%x", "p": 0.25, "train": true},
                                      "outputs": ["y", "kept"]}])");
  const Floats x(64 * 256, 3.0f);
  const auto once = Reference(graph, {x.data()}), again = Reference(graph, {x.data()});
  EXPECT_EQ(once[0].value, again[0].value);
  EXPECT_EQ(*std::max_element(once[1].budget.begin(), once[1].budget.end()), 0);
  const double kept = std::accumulate(once[1].value.begin(), once[1].value.end(), 0.0) / (64 * 256);
  EXPECT_NEAR(kept, 0.75, 0.02);  // 6 standard deviations
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(once[0].value[i], once[1].value[i] * 4.0, 1e-6);
}

TEST(OracleTest, ARecurrenceOfExactStepsIsExactWhateverItsLength) {
  const Graph graph = SmallGraph("fp32", "x i64 3x500", "y i64 3x500",
                                 R"([{"op": "cumsum", "args": {"self": "%x", "dim": 1}, "outputs": ["y"]}])");
  std::vector<std::int64_t> x(3 * 500, 1);
  const auto expected = Reference(graph, {x.data()});
  EXPECT_EQ(expected[0].value[499], 500);
  EXPECT_EQ(expected[0].value[1499], 500);
  EXPECT_EQ(expected[0].budget[1499], 0);
}

TEST(OracleTest, AValueStoredInAHalfTypeMayBeOffByItsRounding) {
  const Graph graph = SmallGraph("torch", "x f32 100", "y f32 100",
                                 R"([{"op": "_to_copy", "args": {"self": "%x", "dtype": "bf16"}, "outputs": ["h"]},
                                     {"op": "_to_copy", "args": {"self": "%h", "dtype": "f32"}, "outputs": ["y"]}])");
  const Floats x = Normals(100, 1);
  const auto expected = Reference(graph, {x.data()});
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(expected[0].value[i], static_cast<double>(x[i]));
    EXPECT_GE(expected[0].budget[i], std::abs(x[i]) * 0x1p-8);
    EXPECT_LE(expected[0].budget[i], std::abs(x[i]) * 0x1p-5);
  }
  EXPECT_LE(Worst(expected[0], WithoutBits(x, 16)), 1);
}

// Doubles and whole numbers that become single precision: all make the same of them.
TEST(OracleTest, AConversionToSinglePrecisionIsRoundedAndExact) {
  const Graph doubles = SmallGraph("torch", "x f64 3", "y f32 3",
                                   R"([{"op": "_to_copy", "args": {"self": "%x", "dtype": "f32"}, "outputs": ["y"]}])");
  const std::vector<double> x = {0.1, 1e300, 3};
  const auto single = Reference(doubles, {x.data()});
  EXPECT_EQ(single[0].value[0], static_cast<double>(0.1f));
  EXPECT_EQ(single[0].value[1], std::numeric_limits<double>::infinity());
  EXPECT_EQ(single[0].budget[0], 0);
  const Graph back = SmallGraph("torch", "x i32 2", "y i32 2",
                                R"([{"op": "_to_copy", "args": {"self": "%x", "dtype": "f32"}, "outputs": ["r"]},
                                    {"op": "_to_copy", "args": {"self": "%r", "dtype": "i32"}, "outputs": ["y"]}])");
  const std::vector<std::int32_t> whole = {(1 << 24) + 1, 5};
  const auto rounded = Reference(back, {whole.data()});
  EXPECT_EQ(rounded[0].value[0], 1 << 24);
  EXPECT_EQ(rounded[0].value[1], 5);
}

// What is not itself is a NaN, however it was rounded; and what is no number but an infinity of exact operands is that.
TEST(OracleTest, WhatIsFiniteAndWhatIsNotHangsOnNoRounding) {
  const Graph itself = SmallGraph("fp32", "x f32 64", "y bool 64",
                                  R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["e"]},
                                      {"op": "eq", "args": {"self": "%e", "other": "%e"}, "outputs": ["y"]}])");
  const Floats x = Normals(64, 1);
  const auto equal = Reference(itself, {x.data()});
  const Graph logarithm = SmallGraph("fp32", "x f32 64", "y f32 64",
                                     R"([{"op": "relu", "args": {"self": "%x"}, "outputs": ["r"]},
                                         {"op": "log", "args": {"self": "%r"}, "outputs": ["y"]}])");
  const auto infinite = Reference(logarithm, {x.data()});
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(equal[0].value[i], 1);
    EXPECT_EQ(equal[0].budget[i], 0);
    if (x[i] > 0) continue;
    EXPECT_EQ(infinite[0].value[i], -std::numeric_limits<double>::infinity());
    EXPECT_EQ(infinite[0].budget[i], 0);
  }
}

TEST(OracleTest, PowersOfManyFactorsWrapAround) {
  const std::vector<std::int64_t> x = {3, -3, 7, 10, 5}, by = {100, 65, 64, 64, 4095};
  const Graph graph = SmallGraph("torch", "x i64 5, b i64 5", "y i64 5",
                                 R"([{"op": "pow", "args": {"self": "%x", "exponent": "%b"}, "outputs": ["y"]}])");
  const Expected power = Reference(graph, {x.data(), by.data()})[0];
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::uint64_t product = 1;
    for (std::int64_t factor = 0; factor < by[i]; ++factor) product *= static_cast<std::uint64_t>(x[i]);
    EXPECT_EQ(power.value[i], static_cast<double>(static_cast<std::int64_t>(product))) << i;
  }
}

// Whole numbers are divided and multiplied as such; a remainder whose sign was mended was rounded once more.
TEST(OracleTest, PowersAndQuotientsOfWholeNumbersAreExact) {
  const std::vector<std::int64_t> x = {-7, 7, 6, (std::int64_t{1} << 60) + 3}, by = {2, -2, 3, 1};
  const auto of = [&](const std::string& node) {
    return Reference(SmallGraph("torch", "x i64 4, b i64 4", "y i64 4", "[" + node + "]"), {x.data(), by.data()})[0];
  };
  const auto quotient =
      of(R"({"op": "div", "args": {"self": "%x", "other": "%b", "rounding_mode": "trunc"}, "outputs": ["y"]})");
  const double quotients[] = {-3, -3, 2, 0x1p60 + 3};
  const auto fifth = of(R"({"op": "pow", "args": {"self": "%x", "exponent": 5}, "outputs": ["y"]})");
  const auto power = of(R"({"op": "pow", "args": {"self": "%b", "exponent": "%b"}, "outputs": ["y"]})");
  const double fifths[] = {-16807, 16807, 7776}, powers[] = {4, 0, 27, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(quotient.value[i], quotients[i]) << i;
    EXPECT_EQ(quotient.budget[i], 0) << i;
    EXPECT_EQ(power.value[i], powers[i]) << i;
    EXPECT_EQ(power.budget[i], 0) << i;
    if (i == 3) continue;  // which wraps around
    EXPECT_EQ(fifth.value[i], fifths[i]) << i;
    EXPECT_EQ(fifth.budget[i], 0) << i;
  }
  const Graph remainder =
      SmallGraph("fp32", "x f32 64, b f32 64", "y f32 64",
                 R"([{"op": "remainder", "args": {"self": "%x", "other": "%b"}, "outputs": ["y"]}])");
  const Floats a = Normals(64, 1), b = Normals(64, 2);
  const auto expected = Reference(remainder, {a.data(), b.data()});
  Floats own;
  for (std::size_t i = 0; i < a.size(); ++i) {
    float m = std::fmod(a[i], b[i]);
    if (m != 0 && (m < 0) != (b[i] < 0)) m += b[i];
    own.push_back(m);
  }
  EXPECT_LE(Worst(expected[0], own), 1);
}

TEST(OracleTest, EightBitsWithoutAnInfinityTakeTheLargestNumber) {
  const Graph graph = SmallGraph("torch", "x f32 4", "y f32 4",
                                 R"([{"op": "_to_copy", "args": {"self": "%x", "dtype": "f8e4m3"}, "outputs": ["h"]},
                                     {"op": "_to_copy", "args": {"self": "%h", "dtype": "f32"}, "outputs": ["y"]}])");
  const Floats x = {1000, -460, 1.0625f, 0x1p-12f};
  const auto expected = Reference(graph, {x.data()});
  const double rounded[] = {448, -448, 1, 0};
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(std::abs(rounded[i] - expected[0].value[i]), expected[0].budget[i]) << i;
    EXPECT_LE(expected[0].budget[i], std::max(std::abs(rounded[i]) * 0x1p-1, 0x1p-7)) << i;
  }
}

// PyTorch computes the mean and the deviation of 16-bit reals in f32, and rounds the result once.
TEST(OracleTest, StatisticsWithinAnOperatorAreNotRounded) {
  const Graph graph = SmallGraph(
      "torch", "x bf16 4x512", "y bf16 4x512",
      R"([{"op": "layer_norm", "args": {"input": "%x", "normalized_shape": [512], "eps": 1e-5}, "outputs": ["y"]}])");
  std::vector<SmallFloat<8, 7>> x;
  for (const float normal : Normals(4 * 512, 1)) x.emplace_back(normal + 100);
  const auto expected = Reference(graph, {x.data()});
  Floats once(x.size()), twice(x.size());
  for (std::size_t row = 0; row < 4; ++row) {
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < 512; ++i) mean += static_cast<double>(x[row * 512 + i]) / 512;
    for (std::size_t i = 0; i < 512; ++i) squares += std::pow(static_cast<double>(x[row * 512 + i]) - mean, 2) / 512;
    const double rounded_mean = SmallFloat<8, 7>::From(mean);
    for (std::size_t i = 0; i < 512; ++i) {
      const double value = x[row * 512 + i], by = 1 / std::sqrt(squares + 1e-5);
      once[row * 512 + i] = SmallFloat<8, 7>::From((value - mean) * by);
      twice[row * 512 + i] = SmallFloat<8, 7>::From((value - rounded_mean) * by);
    }
  }
  EXPECT_LE(Worst(expected[0], once), 1);
  EXPECT_GT(Worst(expected[0], twice), 1);
}

TEST(OracleTest, WhereTheDefinitionsGiveANanNothingElseIsRight) {
  const Graph graph =
      SmallGraph("fp32", "x f32 4", "y f32 4", R"([{"op": "log", "args": {"self": "%x"}, "outputs": ["y"]}])");
  const Floats x = {-1, 2, -3, 4};
  const auto expected = Reference(graph, {x.data()});
  ASSERT_EQ(expected.size(), 1u);
  EXPECT_TRUE(std::isnan(expected[0].value[0]));
  EXPECT_EQ(expected[0].budget[0], 0);
  EXPECT_GT(expected[0].budget[1], 0);
}

// x / ((s + more) - r), where s and r are sums of `count` numbers each.
Graph DividedByADifference(int count, int more) {
  const std::string n = std::to_string(count);
  return SmallGraph("fp32", "x f32 64, b f32 " + n + ", c f32 " + n, "y f32 64",
                    R"([{"op": "sum", "args": {"self": "%b"}, "outputs": ["s"]},
                        {"op": "sum", "args": {"self": "%c"}, "outputs": ["r"]},
                        {"op": "add.Scalar", "args": {"self": "%s", "other": )" +
                        std::to_string(more) + R"(}, "outputs": ["t"]},
                        {"op": "sub.Tensor", "args": {"self": "%t", "other": "%r"}, "outputs": ["d"]},
                        {"op": "div.Tensor", "args": {"self": "%x", "other": "%d"}, "outputs": ["y"]}])");
}

// (s + 1) - r with large and equal s and r: exact for these inputs, and far from it for their neighbours.
TEST(OracleTest, WhereTheHonestErrorIsSmallByLuckNeighbouringInputsDecide) {
  const Graph graph = DividedByADifference(8, 1);
  const Floats x(64, 3), b(8, 1572864), c(8, 1572864);
  const auto expected = Reference(graph, {x.data(), b.data(), c.data()});
  ASSERT_EQ(expected.size(), 1u);
  EXPECT_DOUBLE_EQ(expected[0].value[5], 3);
  EXPECT_GT(expected[0].budget[5], 0.1);
}

// The same with a spread of x, which the whole has then.
TEST(OracleTest, WhatTheAnalysisSaysNothingAboutIsJudgedAsAWholeToo) {
  const Graph graph = DividedByADifference(64, 2);
  Floats x(64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 2 ? 1.f : -1.f;
  const Floats b(64, 196608), c(64, 196608);
  const auto expected = Reference(graph, {x.data(), b.data(), c.data()});
  ASSERT_EQ(expected.size(), 1u);
  ASSERT_TRUE(expected[0].whole.has_value());
  EXPECT_NEAR(expected[0].whole->mean, 0, 1e-9);
  EXPECT_NEAR(expected[0].whole->deviation, 1.0 / 2, 1e-9);
  const Tensor& y = *graph.problem().Outputs()[0];
  Floats got(64);
  for (std::size_t i = 0; i < x.size(); ++i) got[i] = x[i] / 2;
  EXPECT_TRUE(CompareOutput(y, got.data(), expected[0], 0xbeef).right());
  const Floats zeros(64);
  EXPECT_TRUE(CompareOutput(y, zeros.data(), expected[0], 0xbeef).unlike.has_value());
}

// (s + 1) - s with a large s: the bound of its error is larger than it, that of the quotient infinite, and zeros would
// pass.
TEST(OracleTest, WhereBoundsEndAtInfinityEverywhereTheHonestErrorDecides) {
  const Graph graph = SmallGraph("fp32", "x f32 64, b f32 8", "y f32 64",
                                 R"([{"op": "sum", "args": {"self": "%b"}, "outputs": ["s"]},
                                     {"op": "add.Scalar", "args": {"self": "%s", "other": 1}, "outputs": ["t"]},
                                     {"op": "sub.Tensor", "args": {"self": "%t", "other": "%s"}, "outputs": ["d"]},
                                     {"op": "div.Tensor", "args": {"self": "%x", "other": "%d"}, "outputs": ["y"]}])");
  const Floats x(64, 3), b(8, 1e6f);
  const auto expected = Reference(graph, {x.data(), b.data()});
  ASSERT_EQ(expected.size(), 1u);
  EXPECT_DOUBLE_EQ(expected[0].value[5], 3);
  EXPECT_GT(expected[0].budget[5], 1e-4);
  EXPECT_LT(expected[0].budget[5], 1e-3);
}

}  // namespace
}  // namespace hone
