// The expert for a CUDA device: what it writes runs there by its families, becomes a plan, and that plan's kernels
// compile and fit their launches. No device is needed.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "candidate/plan.h"
#include "dsl/lower.h"
#include "dsl/testing/device_program.h"
#include "propose/expert/expert.h"
#include "propose/random.h"
#include "target/cuda/built_plan.h"
#include "target/shipped_model.h"

namespace hone {
namespace {

class CudaExpertTest : public testing::CudaProgramTest {
 protected:
  static std::string In(const std::string& name, const std::string& shape, const std::string& role = "input",
                        const std::string& dtype = "f32") {
    return R"({"name": ")" + name + R"(", "shape": )" + shape + R"(, "dtype": ")" + dtype + R"(", "role": ")" + role +
           (role == "output" ? R"("})" : R"(", "generator": {"kind": "uniform", "low": 0, "high": 1}})");
  }

  // The launches of the first proposal's plan, with the facts of their kernels; every other proposal has to build, too.
  static cuda::BuiltPlan Build(const std::string& tensors, const std::string& nodes,
                               const DeviceModel& machine = TypicalDevice()) {
    const auto problem = ParseProblem(
        R"({"hone_problem": 1, "name": "test", "tensors": [)" + tensors + R"(], "graph": [)" + nodes + "]}", "test");
    EXPECT_TRUE(problem) << problem.error().message;
    auto graph = Graph::Create(*problem);
    EXPECT_TRUE(graph) << graph.error().message;
    const auto round = MakeExpert(*graph, machine)->Propose({});
    EXPECT_TRUE(round);
    EXPECT_FALSE(round->proposals.empty());
    cuda::BuiltPlan first;
    for (const auto& proposal : round->proposals) {
      SCOPED_TRACE(proposal.candidate.text);
      const auto lowered = dsl::Lower(proposal.candidate.text, &*problem, machine);
      const auto* program = std::get_if<dsl::KernelProgram>(&lowered);
      EXPECT_NE(program, nullptr) << ToString(std::get<dsl::Complaint>(lowered));
      if (!program) continue;
      const auto built = cuda::BuildPlan(dsl::EmitCuda(*program), *problem, machine);
      EXPECT_TRUE(built) << built.error().message;
      const auto* refusal = std::get_if<cuda::PlanRefusal>(&*built);
      EXPECT_EQ(refusal, nullptr) << refusal->where << ": " << refusal->message << "\n" << refusal->log;
      if (!refusal && first.launches.empty()) first = std::get<cuda::BuiltPlan>(*built);
    }
    return first;
  }
};

// One map over a gibibyte.
Result<Problem> LargeMap() {
  return ParseProblem(R"({"hone_problem": 1, "name": "test", "tensors": [
      {"name": "x", "shape": [16384, 8192], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
      {"name": "y", "shape": [16384, 8192], "dtype": "f32", "role": "output"}],
      "graph": [{"op": "relu", "args": {"self": "%x"}, "outputs": ["y"]}]})",
                      "test");
}

TEST(CudaCostTest, ADeviceThatWasNeverMeasuredIsNotTakenForAProcessor) {
  const auto problem = LargeMap();
  ASSERT_TRUE(problem) << problem.error().message;
  auto graph = Graph::Create(*problem);
  ASSERT_TRUE(graph) << graph.error().message;
  const auto round = MakeExpert(*graph, TypicalDevice())->Propose({});
  ASSERT_TRUE(round);
  ASSERT_FALSE(round->proposals.empty());
  EXPECT_GT(round->proposals.front().predicted_us, 200);  // 1.07 GB at 5.4 TB/s
  EXPECT_LT(round->proposals.front().predicted_us, 540);  // and at 2 TB/s
}

TEST(CudaExpertMovesTest, WhoSavesEnergyTriesFewerMultiprocessorsFirstAndWhoSavesTimeDoesNot) {
  const auto problem = LargeMap();
  ASSERT_TRUE(problem) << problem.error().message;
  auto graph = Graph::Create(*problem);
  ASSERT_TRUE(graph) << graph.error().message;
  for (const Saving saving : {Saving::kTime, Saving::kEnergy}) {
    const auto expert = MakeExpert(*graph, TypicalDevice(), nullptr, saving);
    Attempt attempt{.number = 1, .proposal = expert->Propose({})->proposals.at(0)};
    EXPECT_EQ(attempt.proposal.candidate.text.find("multiprocessors"), std::string::npos);
    attempt.evaluation.verdict.outcome = Outcome::kAccepted;
    attempt.evaluation.timing = Timing{.warm = {.median_us = 300}};
    const auto moves = expert->Propose({.parent = 1, .history = {&attempt}});
    ASSERT_TRUE(moves);
    const auto asks = [](const Proposal& one) {
      return one.candidate.text.find("multiprocessors") != std::string::npos;
    };
    ASSERT_FALSE(moves->proposals.empty());
    EXPECT_EQ(asks(moves->proposals.front()), saving == Saving::kEnergy);
    EXPECT_EQ(std::count_if(moves->proposals.begin(), moves->proposals.end(), asks), saving == Saving::kEnergy ? 3 : 0);
  }
}

TEST_F(CudaExpertTest, AnElementwiseChainMovesSixteenBytesAtOnce) {
  const auto built = Build(In("x", "[64, 1024]") + "," + In("y", "[64, 1024]", "output"),
                           R"({"op": "gelu", "args": {"self": "%x"}, "outputs": ["y"]})");
  ASSERT_EQ(built.launches.size(), 1u);
  EXPECT_TRUE(built.launches[0].instructions.contains("LDG.128"));
  EXPECT_TRUE(built.launches[0].instructions.contains("STG.128"));
  EXPECT_EQ(built.launches[0].spill_load_bytes, 0);
}

TEST_F(CudaExpertTest, ARowOfASoftmaxIsReadOnce) {
  const auto built =
      Build(In("x", "[512, 4096]") + "," + In("y", "[512, 4096]", "output"),
            R"({"op": "_softmax", "args": {"self": "%x", "dim": 1, "half_to_float": false}, "outputs": ["y"]})");
  ASSERT_EQ(built.launches.size(), 1u);
  EXPECT_EQ(built.launches[0].instructions.at("LDG.128"), 4);  // 256 threads, four packs of four each
  EXPECT_EQ(built.launches[0].spill_load_bytes, 0);
}

TEST_F(CudaExpertTest, AFullReductionIsSplitAndNeedsNoAtomics) {
  const auto built =
      Build(In("x", "[8192, 8192]") + "," + In("y", "[]", "output"),
            R"({"op": "sum", "args": {"self": "%x", "dim": null, "keepdim": false, "dtype": null}, "outputs": ["y"]})");
  ASSERT_EQ(built.launches.size(), 2u);
  const auto& chunks = std::get<LaunchStep>(built.plan.steps[0]);
  EXPECT_GE(chunks.grid[0], 132);
  for (const auto& kernel : built.launches) {
    for (const auto& [name, count] : kernel.instructions)
      EXPECT_FALSE(name.starts_with("ATOM") || name.starts_with("RED")) << name;
  }
}

TEST_F(CudaExpertTest, AColumnReductionReadsNeighboursTogether) {
  const auto built =
      Build(In("x", "[16, 4096, 512]") + "," + In("y", "[16, 512]", "output"),
            R"({"op": "sum", "args": {"self": "%x", "dim": [1], "keepdim": false, "dtype": null}, "outputs": ["y"]})");
  ASSERT_FALSE(built.launches.empty());
  EXPECT_TRUE(built.launches[0].instructions.contains("LDG.128"));
}

TEST_F(CudaExpertTest, ALargeProductGoesToTheTensorCores) {
  const auto built = Build(In("x", "[2048, 1024]") + "," + In("w", "[1024, 2048]", "parameter") + "," +
                               In("b", "[2048]", "parameter") + "," + In("y", "[2048, 2048]", "output"),
                           R"({"op": "mm", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["h"]},
                              {"op": "add.Tensor", "args": {"self": "%h", "other": "%b"}, "outputs": ["s"]},
                              {"op": "relu", "args": {"self": "%s"}, "outputs": ["y"]})");
  ASSERT_EQ(built.prepare.size(), 1u);  // the weights
  ASSERT_EQ(built.launches.size(), 2u);
  EXPECT_TRUE(built.launches[1].instructions.contains("HGMMA"));
}

TEST_F(CudaExpertTest, WhatHasNoFamilyThereIsANest) {
  const auto built =
      Build(In("x", "[2, 8, 30, 30]") + "," + In("y", "[2, 8, 7, 7]", "output"),
            R"({"op": "_adaptive_avg_pool2d", "args": {"self": "%x", "output_size": [7, 7]}, "outputs": ["y"]})");
  ASSERT_EQ(built.launches.size(), 1u);
}

TEST_F(CudaExpertTest, AVarianceIsFoldedInThePassOfItsMean) {
  const auto built = Build(
      In("x", "[8, 3000000]") + "," + In("y", "[8, 3000000]", "output"),
      R"({"op": "layer_norm", "args": {"input": "%x", "normalized_shape": [3000000], "weight": null, "bias": null, "eps": 1e-5,
          "cudnn_enable": false}, "outputs": ["y"]})");
  // The chunks, what they make together, the elements; a pass for each statistic would be two more.
  EXPECT_EQ(built.launches.size(), 3u);
}

// Registers and shared memory of sixteen blocks keep it: each element is read once, and three blocks are on a
// multiprocessor.
TEST_F(CudaExpertTest, ALongRowOfASoftmaxIsKeptByATeam) {
  const auto built =
      Build(In("x", "[1024, 393216]") + "," + In("y", "[1024, 393216]", "output"),
            R"({"op": "_softmax", "args": {"self": "%x", "dim": 1, "half_to_float": false}, "outputs": ["y"]})");
  ASSERT_EQ(built.launches.size(), 1u);
  ASSERT_EQ(built.plan.steps.size(), 2u);
  EXPECT_EQ(std::get<MemsetStep>(built.plan.steps[0]).byte, 0);  // where the blocks meet
  const auto& launch = std::get<LaunchStep>(built.plan.steps[1]);
  EXPECT_EQ(launch.together, 16);
  EXPECT_EQ(launch.grid[0], 16 * 1024);
  EXPECT_EQ(cuda::OccupancyOf(built.launches[0], launch.block[0], launch.shared_bytes, TypicalDevice().limits).blocks,
            3);
  EXPECT_EQ(built.launches[0].instructions.at("LDG.128"), 11);
  EXPECT_TRUE(built.launches[0].instructions.contains("LDGSTS"));
  EXPECT_EQ(built.launches[0].spill_load_bytes, 0);
}

TEST_F(CudaExpertTest, AGroupOfManyChannelsIsKeptByATeam) {
  const auto built =
      Build(In("x", "[112, 64, 512, 512]") + "," + In("w", "[64]", "parameter") + "," + In("b", "[64]", "parameter") +
                "," + In("y", "[112, 64, 512, 512]", "output"),
            R"({"op": "group_norm", "args": {"input": "%x", "num_groups": 8, "weight": "%w", "bias": "%b", "eps": 1e-5,
          "cudnn_enabled": false}, "outputs": ["y"]})");
  ASSERT_EQ(built.launches.size(), 1u);
  EXPECT_EQ(std::get<LaunchStep>(built.plan.steps[1]).together, 52);
  EXPECT_EQ(built.launches[0].spill_load_bytes, 0);
}

TEST_F(CudaExpertTest, ARowThatDividesIntoNothingIsLoadedWithoutABranchAnElement) {
  const auto built = Build(In("x", "[1024, 65535]") + "," + In("y", "[1024, 65535]", "output"),
                           R"({"op": "abs", "args": {"self": "%x"}, "outputs": ["a"]},
                              {"op": "mean.dim", "args": {"self": "%a", "dim": [1], "keepdim": true}, "outputs": ["m"]},
                              {"op": "div.Tensor", "args": {"self": "%x", "other": "%m"}, "outputs": ["y"]})");
  ASSERT_EQ(built.launches.size(), 1u);
  EXPECT_EQ(std::get<LaunchStep>(built.plan.steps[0]).cluster[0], 4);
  EXPECT_EQ(built.launches[0].instructions.at("LDG.32"), 64);
  EXPECT_LT(built.launches[0].instructions.at("BRA"), 64);
  EXPECT_EQ(built.launches[0].spill_load_bytes, 0);
}

TEST_F(CudaExpertTest, APoolReadsEachRowOfItsOverlappingWindowsOnce) {
  const auto built =
      Build(In("x", "[4, 8, 64, 64]") + "," + In("y", "[4, 8, 63, 63]", "output") +
                R"(, {"name": "i", "shape": [4, 8, 63, 63], "dtype": "i64", "role": "output"})",
            R"({"op": "max_pool2d_with_indices", "args": {"self": "%x", "kernel_size": [4, 4], "stride": [1, 1],
                               "padding": [1, 1], "dilation": [1, 1], "ceil_mode": false}, "outputs": ["y", "i"]})");
  ASSERT_FALSE(built.launches.empty());
  EXPECT_EQ(built.launches[0].instructions.at("LDG.128"), 7);  // of four windows of four rows
  EXPECT_TRUE(built.launches[0].instructions.contains("LDS.32"));
  EXPECT_EQ(built.launches[0].spill_load_bytes, 0);
}

TEST_F(CudaExpertTest, ThePlaceOfAnExtremeIsFoldedLikeAValue) {
  const auto built =
      Build(In("x", "[64, 5000]") + R"(, {"name": "y", "shape": [64], "dtype": "i64", "role": "output"})",
            R"({"op": "argmax", "args": {"self": "%x", "dim": 1, "keepdim": false}, "outputs": ["y"]})");
  ASSERT_EQ(built.launches.size(), 1u);
  EXPECT_TRUE(built.launches[0].instructions.contains("SHFL"));
}

TEST_F(CudaExpertTest, ARecurrenceIsOneKernel) {
  const auto built = Build(In("x", "[64, 1000]") + "," + In("y", "[64, 1000]", "output"),
                           R"({"op": "cumsum", "args": {"self": "%x", "dim": 1, "dtype": null}, "outputs": ["y"]})");
  ASSERT_EQ(built.launches.size(), 1u);
  EXPECT_TRUE(built.launches[0].instructions.contains("SHFL"));  // a scan, not a thread's loop
}

// Every proposal, for a device of each of the other generations: none uses what the device lacks, and all fit it.
TEST_F(CudaExpertTest, OtherGenerationsGetKernelsThatFitThem) {
  struct Case {
    std::string name, tensors, nodes;
  };
  const Case cases[] = {
      {"map", In("x", "[64, 1024]") + "," + In("y", "[64, 1024]", "output"),
       R"({"op": "gelu", "args": {"self": "%x"}, "outputs": ["y"]})"},
      {"reduce", In("x", "[2048, 2048]") + "," + In("y", "[]", "output"),
       R"({"op": "sum", "args": {"self": "%x", "dim": null, "keepdim": false, "dtype": null}, "outputs": ["y"]})"},
      {"norm of rows that a block cannot keep", In("x", "[64, 65536]") + "," + In("y", "[64, 65536]", "output"),
       R"({"op": "_softmax", "args": {"self": "%x", "dim": 1, "half_to_float": false}, "outputs": ["y"]})"},
      {"norm of rows that a team keeps", In("x", "[64, 393216]") + "," + In("y", "[64, 393216]", "output"),
       R"({"op": "_softmax", "args": {"self": "%x", "dim": 1, "half_to_float": false}, "outputs": ["y"]})"},
      {"scan", In("x", "[64, 1000]") + "," + In("y", "[64, 1000]", "output"),
       R"({"op": "cumsum", "args": {"self": "%x", "dim": 1, "dtype": null}, "outputs": ["y"]})"},
      {"matmul",
       In("x", "[1024, 512]") + "," + In("w", "[512, 512]", "parameter") + "," + In("y", "[1024, 512]", "output"),
       R"({"op": "mm", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["y"]})"},
      {"matmul of halves",
       In("x", "[1024, 512]", "input", "bf16") + "," + In("w", "[512, 512]", "parameter", "bf16") + "," +
           In("y", "[1024, 512]", "output", "bf16"),
       R"({"op": "mm", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["y"]})"},
      {"attention",
       In("q", "[4, 128, 64]", "input", "f16") + "," + In("k", "[4, 128, 64]", "input", "f16") + "," +
           In("v", "[4, 128, 64]", "input", "f16") + "," + In("y", "[4, 128, 64]", "output", "f16"),
       R"({"op": "scaled_dot_product_attention", "args": {"query": "%q", "key": "%k", "value": "%v", "attn_mask": null,
           "dropout_p": 0.0, "is_causal": false, "scale": null}, "outputs": ["y"]})"},
      {"attention of f32",
       In("q", "[4, 128, 64]") + "," + In("k", "[4, 128, 64]") + "," + In("v", "[4, 128, 64]") + "," +
           In("y", "[4, 128, 64]", "output"),
       R"({"op": "scaled_dot_product_attention", "args": {"query": "%q", "key": "%k", "value": "%v", "attn_mask": null,
           "dropout_p": 0.0, "is_causal": true, "scale": null}, "outputs": ["y"]})"},
      {"pool", In("x", "[4, 8, 64, 64]") + "," + In("y", "[4, 8, 62, 62]", "output"),
       R"({"op": "avg_pool2d", "args": {"self": "%x", "kernel_size": [3, 3], "stride": [1, 1], "padding": [0, 0],
           "ceil_mode": false, "count_include_pad": true, "divisor_override": null}, "outputs": ["y"]})"},
      {"depthwise convolution",
       In("x", "[2, 16, 64, 64]") + "," + In("w", "[16, 1, 3, 3]", "parameter") + "," +
           In("y", "[2, 16, 64, 64]", "output"),
       R"({"op": "convolution", "args": {"input": "%x", "weight": "%w", "bias": null, "stride": [1, 1], "padding": [1, 1],
           "dilation": [1, 1], "transposed": false, "output_padding": [0, 0], "groups": 16}, "outputs": ["y"]})"},
      {"nest", In("x", "[2, 8, 30, 30]") + "," + In("y", "[2, 8, 7, 7]", "output"),
       R"({"op": "_adaptive_avg_pool2d", "args": {"self": "%x", "output_size": [7, 7]}, "outputs": ["y"]})"},
  };
  for (const std::string_view key : {"a100", "l40s", "b200", "rtx5090"}) {
    const DeviceModel device = FindShippedModel(key).value();
    for (const Case& one : cases) {
      SCOPED_TRACE(std::string(key) + ": " + one.name);
      const auto built = Build(one.tensors, one.nodes, device);
      EXPECT_FALSE(built.launches.empty());
      EXPECT_EQ(built.plan.arch, device.arch);
    }
  }
}

// A table of halves is read at places that whole numbers say: those are no halves.
TEST_F(CudaExpertTest, WhatSaysWhereToReadKeepsItsType) {
  Build(In("table", "[16, 256, 32]", "input", "f16") + ", " + In("codes", "[100, 16]", "input", "u8") + ", " +
            In("y", "[100, 16, 32]", "output", "f16"),
        R"({"op": "arange", "args": {"end": 16}, "outputs": ["a"]},
           {"op": "_to_copy", "args": {"self": "%codes", "dtype": "i64"}, "outputs": ["c"]},
           {"op": "index", "args": {"self": "%table", "indices": ["%a", "%c"]}, "outputs": ["y"]})");
}

}  // namespace
}  // namespace hone
