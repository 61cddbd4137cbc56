// Products of a few rows folded as their columns stream past: compiled without spills on the tensor cores, refused in a
// line where they cannot be, masked columns not read, and what the program says. The last is skipped where there is no
// device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

struct Case {
  std::int64_t batches, m, n, k;
  std::string variant = "max", settings = "warps: 4, split: 1", score = "it", end = "it";
};
constexpr std::string_view kPaths[] = {"stream", "ring"};
// `lengths` says how many columns of a batch count, `bias` and `scale` broadcast to scores and results.
std::string Text(const Case& one, const std::string& type, std::string_view path = "stream") {
  return fmt::format(
      "input q: {4}[{1}, {3}]\ninput d: {4}[{0}, {2}, {3}]\ninput place: f32[{2}]\ninput lengths: f32[{0}, 1, 1]\n"
      "input bias: f32[{1}, {2}]\ninput scale: f32[{0}, 1]\noutput y: f32[{0}, {1}]\n"
      "view t = d: [{0}, {3}, {2}] strides [{5}, 1, {3}]\n"
      "y = matmul_reduce {6}(q, t) with {{path: {10}, {7}}}{8} -> {9}",
      one.batches, one.m, one.n, one.k, type, one.n * one.k, one.variant, one.settings,
      one.score == "it" ? "" : " let score = " + one.score, one.end, path);
}

// Whole tiles and what is left of them, slices, parts of the columns, masks; one row and all that there can be.
const Case kCases[] = {
    {100, 32, 128, 128},
    {100, 32, 128, 128, "max", "warps: 16, split: 1", "select(place < lengths, it, -inf)"},
    {70, 20, 50, 72, "max", "warps: 3, split: 1", "select(lengths <= place, -inf, it * 0.5 + bias)", "it * scale"},
    {3, 8, 1000, 256, "sum", "warps: 8, depth: 64, split: 7", "relu(it + bias)"},
    {1, 1, 5000, 40, "min", "warps: 12, split: 40"},
    {5, 64, 33, 1024, "max", "warps: 8, depth: 32", "it + bias", "relu(it)"},
    {40, 32, 70, 512, "max", "warps: 4", "select(place < lengths, it, -inf)"},
    {30, 17, 64, 96, "min", "warps: 2, stages: 1"},
    {9, 7, 5, 8, "sum", "warps: 1"},
    {11, 32, 40, 768, "max", "split: 1"},
    {6, 32, 70, 768, "sum", "warps: 4, slice: 384, split: 2", "relu(it)"},
    {5, 9, 20, 320, "max", "warps: 4, slice: 160, stages: 3, split: 1"},
    {30, 17, 64, 96, "min", "slice: 32, split: 1"},
    {600, 5, 100, 64, "max", "warps: 2, split: 1"},
    {600, 5, 100, 64, "max", "warps: 2, split: 1, tasks: dealt"},
    {300, 32, 90, 192, "max", "warps: 4, slice: 64, split: 2", "select(place < lengths, it, -inf)"},
};

// Every case in both types by both ways, as far as they can be.
struct One {
  Case of;
  std::string type;
  std::string_view path;
};
std::vector<One> All() {
  std::vector<One> all;
  for (const Case& one : kCases) {
    for (const auto type : {"f16", "bf16"}) {
      for (const auto path : kPaths) {
        if (path == "stream" || one.k % 32 == 0) all.push_back({one, type, path});
      }
    }
  }
  return all;
}

// How the columns may lie, and what the ring then copies a stage with: f16 q [32, K] times t [.., K, N].
struct Lying {
  std::string columns, batches, copies;
  std::int64_t k = 128;
};
const Lying kLying[] = {
    // Side by side; with others between them; slices of them, of one batch too.
    {"input d: f16[6, 40, 128]\nview t = d: [6, 128, 40] strides [5120, 1, 128]", "6", "CopyBytes(to, "},
    {"input d: f16[6, 40, 160]\nview t = d: [6, 128, 40] strides [6400, 1, 160] offset 32", "6", "CopyBox("},
    {"input d: f16[6, 40, 96]\nview t = d: [6, 32, 40] strides [3840, 1, 96]", "6", "CopyBox(", 32},
    {"input d: f16[6, 40, 512]\nview t = d: [6, 512, 40] strides [20480, 1, 512]", "6", "CopyBox(", 512},
    {"input d: f16[40, 512]\nview t = d: [512, 40] strides [1, 512]", "", "CopyBox(", 512},
    // Windows that overlap.
    {"input d: f16[4096]\nview t = d: [512, 100] strides [1, 32]", "", "CopyBox(", 512},
    // Batches at one distance, of two dimensions; the same columns in all; at distances that are no one's multiples.
    {"input d: f16[3, 4, 24, 512]\nview t = d: [3, 4, 512, 24] strides [49152, 12288, 1, 512]", "3, 4", "CopyBox(",
     512},
    {"input d: f16[24, 512]\nview t = d: [3, 4, 512, 24] strides [0, 0, 1, 512]", "3, 4", "CopyBox(", 512},
    {"input d: f16[4, 3, 24, 512]\nview t = d: [3, 4, 512, 24] strides [12288, 36864, 1, 512]", "3, 4",
     "if (counts) CopyBytes(", 512},
};
std::string Text(const Lying& one) {
  const std::string outer = one.batches.empty() ? "" : one.batches + ", ";
  return fmt::format(
      "input q: f16[32, {0}]\n{1}\noutput y: f32[{2}32]\ny = matmul_reduce max(q, t) with {{path: ring}}", one.k,
      one.columns, outer);
}

using MatmulReduceTest = testing::CudaProgramTest;
using MatmulReduceOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(MatmulReduceTest, EveryCaseCompilesWithoutSpillsAndMultipliesOnTheTensorCores) {
  for (const auto& [one, type, path] : All()) {
    const std::string text = Text(one, type, path);
    SCOPED_TRACE(text);
    const auto lowered = Lowered(text);
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    const auto built = Build(std::get<KernelProgram>(lowered));
    const bool in_parts = one.n > 16 && one.settings.find("split: 1") == std::string::npos;
    ASSERT_EQ(built.launches.size(), in_parts ? 2u : 1u);
    EXPECT_EQ(built.launches[0].spill_load_bytes + built.launches[0].spill_store_bytes, 0);
    EXPECT_TRUE(built.launches[0].instructions.contains("HMMA"));
    const auto& instructions = built.launches[0].instructions;
    EXPECT_EQ(instructions.contains("UBLKCP") || instructions.contains("UTMALDG"), path == "ring");
  }
}

TEST_F(MatmulReduceTest, AStageIsOneCopyWhereColumnsLieAtOneDistance) {
  for (const Lying& one : kLying) {
    const std::string text = Text(one);
    SCOPED_TRACE(text);
    const auto lowered = Lowered(text);
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    const auto& program = std::get<KernelProgram>(lowered);
    EXPECT_NE(dsl::testing::CudaText(program).find("    " + one.copies), std::string::npos);
    const auto built = Build(program);
    EXPECT_EQ(built.launches[0].spill_load_bytes + built.launches[0].spill_store_bytes, 0);
    EXPECT_EQ(built.launches[0].instructions.contains("UTMALDG"), one.copies == "CopyBox(");
  }
}

TEST_F(MatmulReduceTest, TheMapsBoxIsASliceOfSixteenColumnsInLines) {
  const auto map = [&](const Case& one) {
    const auto lowered = Lowered(Text(one, "bf16", "ring"));
    const Plan plan = dsl::EmitCuda(std::get<KernelProgram>(lowered));
    return std::get<TensorMapArgument>(std::get<LaunchStep>(plan.steps.at(0)).arguments.at(0));
  };
  using Extents = std::vector<std::int64_t>;
  const auto wide = map({11, 32, 40, 768, "max", "slice: 256, split: 1"});
  EXPECT_EQ(wide.shape, (Extents{12, 11, 40, 64}));
  EXPECT_EQ(wide.strides, (Extents{64, 30720, 768, 1}));
  EXPECT_EQ(wide.box, (Extents{4, 1, 16, 64}));
  EXPECT_EQ(wide.swizzle, 128);
  const auto odd = map({5, 9, 20, 320, "max", "slice: 160, split: 1"});
  EXPECT_EQ(odd.shape, (Extents{10, 5, 20, 32}));
  EXPECT_EQ(odd.strides, (Extents{32, 6400, 320, 1}));
  EXPECT_EQ(odd.box, (Extents{5, 1, 16, 32}));
  EXPECT_EQ(odd.swizzle, 0);
  EXPECT_EQ(odd.promote, 128);
}

TEST_F(MatmulReduceTest, PartsAreDrawnWhereThereAreMoreThanWarps) {
  const auto draws = [&](const Case& one) {
    const auto lowered = Lowered(Text(one, "f16", "ring"));
    EXPECT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    return dsl::testing::CudaText(std::get<KernelProgram>(lowered)).find("atomicInc") != std::string::npos;
  };
  EXPECT_TRUE(draws({2000, 8, 128, 64, "max", "warps: 8, split: 1"}));
  EXPECT_FALSE(draws({1000, 8, 128, 64, "max", "warps: 8, split: 1"}));
  EXPECT_FALSE(draws({2000, 8, 128, 64, "max", "warps: 8, split: 1, tasks: dealt"}));
  // What is copied ahead would be two tasks ahead.
  EXPECT_FALSE(draws({2000, 8, 64, 64, "max", "warps: 8, split: 1, stages: 4"}));
  EXPECT_TRUE(draws({2000, 8, 65, 64, "max", "warps: 8, split: 1, stages: 4"}));
}

TEST_F(MatmulReduceTest, OnlyAMaskThatHidesWholeColumnsKeepsThemFromBeingRead) {
  const auto hides = [&](const std::string& variant, const std::string& score) {
    const auto lowered = Lowered(Text({50, 32, 64, 64, variant, "split: 1", score}, "f16"));
    EXPECT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    return dsl::testing::CudaText(std::get<KernelProgram>(lowered)).find("counts[1] =") != std::string::npos;
  };
  const auto lowered =
      Lowered(Text({50, 32, 64, 64, "max", "split: 1", "select(place < lengths, it, -inf)"}, "f16", "ring"));
  EXPECT_NE(dsl::testing::CudaText(std::get<KernelProgram>(lowered)).find("counted["), std::string::npos);
  EXPECT_TRUE(hides("max", "select(place < lengths, it + bias, -inf)"));
  EXPECT_TRUE(hides("min", "select(place < lengths, inf, it)"));
  EXPECT_FALSE(hides("max", "select(place < lengths, it, inf)"));
  EXPECT_FALSE(hides("max", "select(place < lengths, it, -1000)"));
  EXPECT_FALSE(hides("sum", "select(place < lengths, it, -inf)"));
  EXPECT_FALSE(hides("max", "select(bias < lengths, it, -inf)"));  // of some rows alone
  EXPECT_FALSE(hides("max", "select(it < lengths, it, -inf)"));
}

TEST_F(MatmulReduceTest, WhatCannotBeIsSaid) {
  const auto complaint = [&](const std::string& text) {
    const auto lowered = Lowered(text);
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint(Text({4, 65, 64, 64}, "f16")),
            "'path' stream: it holds all 65 rows at once, 64 are possible; try tiles");
  EXPECT_EQ(complaint(Text({4, 8, 64, 64}, "f32")),
            "'path' stream: it is for operands that are both f16, or both bf16; try f32x3");
  EXPECT_EQ(complaint("input q: f16[8, 64]\ninput t: f16[64, 64]\noutput y: i64[8]\n"
                      "y = matmul_reduce argmax(q, t) with {path: ring}"),
            "'path' ring: it folds by sum, max and min alone; try tiles");
  EXPECT_EQ(complaint("input q: f16[8, 64]\ninput t: f16[64, 64]\noutput y: f32[8]\noutput v: f32[8]\n"
                      "y = matmul_reduce max(q, t) also v = it"),
            "only argmax and argmin have a second result, their score: what max makes is 'it' in the chain");
  EXPECT_EQ(complaint("input q: f16[8, 64]\ninput t: f16[64, 64]\noutput y: f32[8]\n"
                      "y = matmul_reduce argmin(q, t)"),
            "taken");
  EXPECT_EQ(complaint("input q: f16[8, 64]\ninput t: f16[64, 64]\noutput y: i64[8]\noutput v: f32[8]\n"
                      "y = matmul_reduce argmin(q, t) let score = it * 2 also v = score"),
            "'score' is a score: behind the fold there is none any more");
  EXPECT_EQ(complaint(Text({4, 8, 64, 60}, "f16")), "'path' stream: K is 60, and it reads 8 elements at a time");
  EXPECT_EQ(complaint(Text({4, 64, 64, 2048}, "f16")),
            "'path' stream: 64 rows of 2048 elements do not fit into shared memory; try tiles");
  EXPECT_EQ(complaint(Text({4, 8, 64, 64, "max", "depth: 48"}, "f16")),
            "'depth' 48: it is a multiple of 32, not 48; try 128");
  EXPECT_EQ(complaint(Text({4, 8, 64, 384, "max", "slice: 256"}, "f16", "ring")),
            "'slice' 256: it is a multiple of 32 that divides K, which is 384; try 128");
  EXPECT_EQ(complaint(Text({4, 8, 64, 384, "max", "warps: 8, split: 1, tasks: drawn"}, "f16", "ring")),
            "'tasks' drawn: there is no more than a task for each of 1056 warps");
  EXPECT_EQ(complaint("input q: f16[4, 8, 64]\ninput d: f16[4, 64, 100]\noutput y: f32[4, 8]\n"
                      "y = matmul_reduce max(q, d)"),
            "'matmul_reduce' has no kernel for this: it splits operands of f32, and these have 16 bits; it reads 16 "
            "bytes at a time along K, and an operand does not lie so; "
            "both operands have to lie in lines, along K or across it, at multiples of 16 bytes");
}

TEST_F(MatmulReduceOnDeviceTest, ComputesWhatTheProgramSays) {
  for (const auto& [one, type, path] : All()) {
    const std::string text = Text(one, type, path);
    SCOPED_TRACE(text);
    ExpectWhatItSays(text, 1e-2);
  }
  for (const Lying& one : kLying) {
    SCOPED_TRACE(Text(one));
    ExpectWhatItSays(Text(one), 1e-2);
  }
}

}  // namespace
}  // namespace hone
