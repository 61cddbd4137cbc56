#include "oracle/loop_nest.h"

#include <gtest/gtest.h>

#include <regex>

#include "graph/testing/small_problem.h"

namespace hone {
namespace {

using testing::SmallGraph;

constexpr auto kChain = R"([{"op": "mm", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["t"]},
                            {"op": "relu", "args": {"self": "%t"}, "outputs": ["y"]}])";

std::string OracleValues(const Graph& graph) { return SourcesOfOracle(graph).values; }

TEST(LoopNestTest, TheOracleFreesWhatNoLaterStageReads) {
  const std::string source = OracleValues(SmallGraph("fp32", "a f32 8x16, b f32 16x32", "y f32 8x32", kChain));
  EXPECT_NE(source.find("_memory.Release();"), std::string::npos);
  EXPECT_EQ(source.find("y_3_memory"), std::string::npos) << "an output that nobody reads goes straight to its place";
}

TEST(LoopNestTest, ProductsOfInputsAreSummedWithoutErrorTerms) {
  const std::string source = OracleValues(SmallGraph("fp32", "a f32 8x16, b f32 16x32", "y f32 8x32", kChain));
  EXPECT_NE(source.find("sums.AddExactProduct("), std::string::npos);
}

TEST(LoopNestTest, LoopIndicesNeedNoGuard) {
  const std::string source = NaiveModule(SmallGraph(
      "fp32", "x f32 4x8", "y i64 4", R"([{"op": "argmax", "args": {"self": "%x", "dim": 1}, "outputs": ["y"]}])"));
  EXPECT_EQ(source.find("Inside(", source.find("hone_run")), std::string::npos);
}

TEST(LoopNestTest, TheNaiveModuleHasTheAbiAndNoThreads) {
  const std::string source = NaiveModule(SmallGraph("fp32", "a f32 8x16, b:parameter f32 16x32", "y f32 8x32", kChain));
  EXPECT_NE(source.find("hone_run"), std::string::npos);
  EXPECT_NE(source.find("call->parameters[0].data"), std::string::npos);
  EXPECT_EQ(source.find("#pragma omp"), std::string::npos);
}

TEST(LoopNestTest, ARunningSumHasTheErrorsOfASum) {
  const std::string source =
      OracleValues(SmallGraph("fp32", "x f32 4x100", "y f32 4x100",
                              R"([{"op": "cumsum", "args": {"self": "%x", "dim": 1}, "outputs": ["y"]}])"));
  EXPECT_NE(source.find("sum.Add("), std::string::npos);
}

TEST(LoopNestTest, StagesOfOneSequenceShareTheirSteps) {
  const std::string source =
      NaiveModule(SmallGraph("fp32", "x f32 4x100", "v f32 4x100, y i64 4x100",
                             R"([{"op": "cummax", "args": {"self": "%x", "dim": 1}, "outputs": ["v", "y"]}])"));
  const auto first = source.find("for (std::int64_t step = 0; step < 100; ++step)");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(source.find("for (std::int64_t step", first + 1), std::string::npos);
}

TEST(LoopNestTest, ValuesStoredInAHalfTypeAreRounded) {
  const std::string nodes = R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["t"]},
                               {"op": "neg", "args": {"self": "%t"}, "outputs": ["y"]}])";
  const std::string half = OracleValues(SmallGraph("torch", "x bf16 100", "y bf16 100", nodes));
  EXPECT_NE(half.find("Stored<hone::SmallFloat<8, 7>>(R(", half.find("void Nest0(")), std::string::npos);
  const std::string moved = OracleValues(SmallGraph(
      "torch", "x f16 100", "y f16 100", R"([{"op": "flip", "args": {"self": "%x", "dims": [0]}, "outputs": ["y"]}])"));
  EXPECT_EQ(moved.find("Stored<hone::SmallFloat<5, 10>>(R(", moved.find("void Nest0(")), std::string::npos);
}

TEST(LoopNestTest, NestsThatDifferInSizesAreOneFunction) {
  const std::string source =
      OracleValues(SmallGraph("fp32", "x f32 8x16, a f32 16x16, b f32 16x24, c f32 24x40", "y f32 8x40",
                              R"([{"op": "mm", "args": {"self": "%x", "mat2": "%a"}, "outputs": ["s"]},
                     {"op": "mm", "args": {"self": "%s", "mat2": "%b"}, "outputs": ["t"]},
                     {"op": "mm", "args": {"self": "%t", "mat2": "%c"}, "outputs": ["u"]},
                     {"op": "relu", "args": {"self": "%u"}, "outputs": ["y"]}])"));
  EXPECT_TRUE(std::regex_search(source, std::regex("Nest1<R>\\([0-9, ]*t_s_")))
      << "the second product, whose operand has an error, and the third";
  EXPECT_TRUE(std::regex_search(source, std::regex("Nest1<R>\\([0-9, ]*t_t_")));
}

TEST(LoopNestTest, TensorsSideBySideAreOneFunctionHoweverManyTheyAre) {
  const std::string source =
      OracleValues(SmallGraph("fp32", "a f32 4x16, b f32 4x24, c f32 4x40", "t f32 4x40, y f32 4x80",
                              R"([{"op": "cat", "args": {"tensors": ["%a", "%b"], "dim": 1}, "outputs": ["t"]},
                     {"op": "cat", "args": {"tensors": ["%a", "%b", "%c"], "dim": 1}, "outputs": ["y"]}])"));
  const auto nests = source.find("void Nest0(");
  EXPECT_EQ(source.find("LessEqual", nests), std::string::npos);
  EXPECT_EQ(source.find("void Nest2("), std::string::npos) << "one of what begins at 0, and one of what lies behind";
  for (const auto* name : {"a_0", "b_1", "c_2"})
    EXPECT_TRUE(std::regex_search(source, std::regex(std::string("Nest[01]<R>\\([^;]*") + name))) << name;
}

TEST(LoopNestTest, TermsThatAreZeroArePassedOver) {
  const std::string text = OracleValues(SmallGraph("fp32", "x f32 1x4x9x9, w f32 4x3x5x5", "y f32 1x3x19x19",
                                                   R"([{"op": "convolution", "outputs": ["y"],
                        "args": {"input": "%x", "weight": "%w", "bias": null, "stride": [2, 2], "padding": [1, 1], "dilation": [1, 1],
                                 "transposed": true, "output_padding": [0, 0], "groups": 1}}])"));
  EXPECT_NE(text.find("continue;", text.find("void Nest0(")), std::string::npos);
}

}  // namespace
}  // namespace hone
