// Matrix products for a CUDA device: every way to make them, every setting and awkward shapes become plans whose
// kernels compile and fit their launches. No device is needed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "candidate/plan.h"
#include "dsl/lower.h"
#include "dsl/testing/device_program.h"
#include "target/cuda/built_plan.h"
#include "target/shipped_model.h"

namespace hone {
namespace {

class CudaMatmulTest : public testing::CudaProgramTest {
 protected:
  static std::string Complaint(const std::string& text) {
    const auto lowered = dsl::Lower(text, nullptr, TypicalDevice());
    const auto* complaint = std::get_if<dsl::Complaint>(&lowered);
    return complaint ? complaint->message : "";
  }
  // The plan of a program, compiled; its tensors are the problem's.
  static cuda::BuiltPlan Build(const std::string& text) {
    SCOPED_TRACE(text);
    const auto lowered = dsl::Lower(text, nullptr, TypicalDevice());
    const auto* program = std::get_if<dsl::KernelProgram>(&lowered);
    EXPECT_NE(program, nullptr) << ToString(std::get<dsl::Complaint>(lowered));
    if (!program) return {};
    cuda::BuiltPlan plan = CudaProgramTest::Build(*program);
    for (const auto& kernel : plan.launches) {
      EXPECT_EQ(kernel.spill_load_bytes + kernel.spill_store_bytes, 0) << kernel.name;
    }
    // ptxas says so where it has to wait after every wgmma, and where setmaxnreg does not count.
    EXPECT_EQ(plan.log.find("C75"), std::string::npos) << plan.log;
    return plan;
  }
  static std::string Product(std::int64_t m, std::int64_t k, std::int64_t n, const std::string& settings = "") {
    return fmt::format(
        "program p\ninput x: f32[{0}, {1}]\ninput w: f32[{1}, {2}]\noutput y: f32[{0}, {2}]\n"
        "y = matmul(x, w){3}\n",
        m, k, n, settings.empty() ? "" : " with {" + settings + "}");
  }
  static std::int64_t Count(const cuda::KernelFacts& kernel, const std::string& instruction) {
    const auto it = kernel.instructions.find(instruction);
    return it == kernel.instructions.end() ? 0 : it->second;
  }
  static bool Has(const cuda::BuiltPlan& plan, const std::string& kernel) {
    return std::any_of(plan.launches.begin(), plan.launches.end(),
                       [&](const cuda::KernelFacts& facts) { return facts.name.find(kernel) != std::string::npos; });
  }
};

TEST_F(CudaMatmulTest, ThreeProductsOfHalvesAreMadeOnTheTensorCores) {
  const auto plan = Build(Product(4096, 4096, 4096));
  ASSERT_EQ(plan.launches.size(), 3u);  // two operands packed, then multiplied
  EXPECT_EQ(Count(plan.launches[0], "HGMMA"), 0);
  EXPECT_EQ(Count(plan.launches[2], "HGMMA") % 12, 0);
  EXPECT_GT(Count(plan.launches[2], "HGMMA"), 0);
  EXPECT_GT(Count(plan.launches[2], "UTMALDG"), 0);
}

TEST_F(CudaMatmulTest, EveryTileBuildsWithoutSpills) {
  for (const std::string tile : {"128x128", "64x128", "128x64", "64x64"}) {
    for (const std::string rest : {"promote: 64", "promote: 256, cluster: 2", "promote: 128, stages: 2, split: 3"})
      Build(Product(1000, 2000, 600, "precision: f32x3, tile: " + tile + ", " + rest));
    Build(Product(512, 512, 512, "precision: f16, tile: " + tile));
  }
}

TEST_F(CudaMatmulTest, OddShapesTransposesAndBatchesBuild) {
  Build(Product(8205, 2949, 5921));
  Build(Product(1, 7, 3, "precision: f32x3"));
  EXPECT_TRUE(Build(Product(0, 7, 3)).launches.empty());
  EXPECT_EQ(Build(Product(40, 0, 30)).launches.size(), 1u);  // zeros
  Build(
      "program p\ninput x: f32[5, 333, 200]\ninput w: f32[155, 333]\noutput y: f32[5, 200, 155]\n"
      "view xt = x: [5, 200, 333] strides [66600, 1, 200]\nview wt = w: [333, 155] strides [1, 333]\n"
      "y = matmul(xt, wt) with {precision: f32x3}\n");
  Build(
      "program p\ninput x: f32[3, 1, 64, 96]\ninput w: f32[1, 4, 96, 80]\noutput y: f32[3, 4, 64, 80]\n"
      "y = matmul(x, w) with {precision: f32x3}\n");
}

TEST_F(CudaMatmulTest, WhatIsAroundAProductIsInItsKernels) {
  const auto plan = Build(
      "program p\ninput x: f32[512, 1024]\nparam w: f32[2048, 1024]\nparam b: f32[2048]\ninput r: f32[512, 2048]\n"
      "output y: f32[512, 2048]\nview wt = w: [1024, 2048] strides [1, 1024]\n"
      "y = matmul(relu(x), wt) with {precision: f32x3, split: 1} -> gelu(it + b) + r\n");
  // The parameter is packed once, the input on every run.
  ASSERT_EQ(plan.prepare.size(), 1u);
  ASSERT_EQ(plan.launches.size(), 2u);
}

TEST_F(CudaMatmulTest, ALongDepthIsSplitAndAddedUpInOrder) {
  const auto plan = Build(Product(256, 524288, 256, "precision: f32x3, halves: before"));
  ASSERT_EQ(plan.launches.size(), 4u);
  EXPECT_GE(std::get<LaunchStep>(plan.plan.steps[2]).grid[0], 100);
  for (const auto& kernel : plan.launches) {
    for (const auto& [name, count] : kernel.instructions)
      EXPECT_FALSE(name.starts_with("ATOM") || name.starts_with("RED")) << name;
  }
}

TEST_F(CudaMatmulTest, BrainFloatsAreReadWhereTheyLie) {
  const std::string head =
      "program p\ninput x: bf16[1024, 512]\ninput w: bf16[2048, 512]\noutput y: bf16[1024, 2048]\n";
  const auto plan = Build(head + "view wt = w: [512, 2048] strides [1, 512]\ny = matmul(x, wt)\n");
  ASSERT_EQ(plan.launches.size(), 1u);
  EXPECT_GT(Count(plan.launches[0], "HGMMA"), 0);
  // Neither along K nor across it, at multiples of 16 bytes: that operand is packed before.
  const auto odd = Build(
      "program p\ninput x: bf16[1024, 512]\ninput w: bf16[512, 2044]\noutput y: bf16[1024, 2044]\ny = matmul(x, w)\n");
  EXPECT_EQ(odd.launches.size(), 2u);
}

TEST_F(CudaMatmulTest, RealsOfEightBitsBesideBrainFloatsAreMadeThose) {
  for (const std::string type : {"f8e4m3", "f8e5m2"}) {
    const auto plan =
        Build(fmt::format("program p\ninput x: bf16[1024, 512]\nparam w: {}[2048, 512]\noutput y: bf16[1024, 2048]\n"
                          "view wt = w: [512, 2048] strides [1, 512]\ny = matmul(x, wt)\n",
                          type));
    ASSERT_EQ(plan.prepare.size(), 1u);
    EXPECT_NE(plan.prepare[0].name.find("pack_b"), std::string::npos);
    EXPECT_EQ(plan.plan.buffers.size(), 1u);  // and no scales
    ASSERT_EQ(plan.launches.size(), 1u);
    EXPECT_GT(Count(plan.launches[0], "HGMMA"), 0);
  }
}

TEST_F(CudaMatmulTest, OperandsAcrossKAreReadWhereTheyLieToo) {
  for (const std::string type : {"f16", "bf16"}) {
    const auto plan =
        Build(fmt::format("program p\ninput x: {0}[512, 1024]\ninput w: {0}[512, 2048]\noutput y: {0}[1024, 2048]\n"
                          "view xt = x: [1024, 512] strides [1, 1024]\ny = matmul(xt, w) with {{tile: 128x256}}\n",
                          type));
    ASSERT_EQ(plan.launches.size(), 1u);
    EXPECT_GT(Count(plan.launches[0], "UTMALDG"), 0);
    EXPECT_EQ(Count(plan.launches[0], "UTMALDG") % 6, 0);  // a box for each 64 rows of either operand
  }
}

TEST_F(CudaMatmulTest, AFewRowsTimesWhatLiesAcrossKAreTiles) {
  const auto way = [](std::int64_t rows, const std::string& w) {
    const auto lowered = dsl::Lower(fmt::format("program p\ninput x: bf16[{}, 4096]\n{}output y: bf16[{}, 8192]\n"
                                                "y = matmul(x, w)\n",
                                                rows, w, rows),
                                    nullptr, TypicalDevice());
    const auto* program = std::get_if<dsl::KernelProgram>(&lowered);
    return program ? dsl::WordSetting(program->kernels[0], "precision") : "";
  };
  EXPECT_EQ(way(1, "input w: bf16[4096, 8192]\n"), "bf16");
  EXPECT_EQ(way(8, "input w: bf16[4096, 8192]\n"), "bf16");
  EXPECT_NE(way(8, "input v: bf16[8192, 4096]\nview w = v: [4096, 8192] strides [1, 4096]\n"), "bf16");
}

TEST_F(CudaMatmulTest, SmallProductsOfHalvesAreTilesWhereNothingIsPacked) {
  const auto way = [](const std::string& type, std::int64_t size) {
    const auto lowered =
        dsl::Lower(fmt::format("program p\ninput x: {0}[{1}, {1}]\ninput w: {0}[{1}, {1}]\noutput y: {0}[{1}, {1}]\n"
                               "y = matmul(x, w)\n",
                               type, size),
                   nullptr, TypicalDevice());
    const auto* program = std::get_if<dsl::KernelProgram>(&lowered);
    return program ? dsl::WordSetting(program->kernels[0], "precision") : "";
  };
  EXPECT_EQ(way("bf16", 256), "bf16");
  EXPECT_EQ(way("f16", 128), "f16");
  EXPECT_EQ(way("f16", 64), "simt");
  EXPECT_EQ(way("bf16", 252), "simt");  // lines of no multiple of 16 bytes
  EXPECT_EQ(way("f32", 256), "simt");
}

TEST_F(CudaMatmulTest, HalvesThatHaveToBePackedAreNotScaled) {
  const auto plan = Build(
      "program p\ninput x: f16[1024, 500]\ninput w: f16[500, 2048]\noutput y: f16[1024, 2048]\ny = matmul(x, w)\n");
  ASSERT_EQ(plan.launches.size(), 2u);  // A, whose rows are of 1000 bytes
  EXPECT_NE(plan.launches[0].name.find("pack_a"), std::string::npos);
  EXPECT_EQ(plan.plan.buffers.size(), 1u);
}

TEST_F(CudaMatmulTest, AValueOfHalvesIsMultipliedWhereItLies) {
  const auto plan = Build(
      "program p\ninput x: bf16[4096, 512]\ninput w: bf16[2048, 512]\ninput v: bf16[2048, 2048]\n"
      "output y: bf16[4096, 2048]\nview wt = w: [512, 2048] strides [1, 512]\nview vt = v: [2048, 2048] strides [1, "
      "2048]\n"
      "h: bf16 = matmul(x, wt) -> relu(it)\ny = matmul(h, vt)\n");
  ASSERT_EQ(plan.launches.size(), 2u);
  for (const auto& kernel : plan.launches) EXPECT_GT(Count(kernel, "HGMMA"), 0) << kernel.name;
}

TEST_F(CudaMatmulTest, OneProgramMultipliesInBothTypes) {
  const auto plan = Build(
      "program p\ninput x: f32[600, 512]\ninput w: f32[512, 600]\ninput u: bf16[600, 512]\ninput v: bf16[600, 512]\n"
      "output y: f32[600, 600]\noutput z: bf16[600, 600]\nview vt = v: [512, 600] strides [1, 512]\n"
      "y = matmul(x, w) with {precision: f32x3, tile: 128x128}\n"
      "z = matmul(u, vt) with {precision: bf16, tile: 128x128} -> it * 2\n");
  EXPECT_EQ(std::count_if(plan.launches.begin(), plan.launches.end(),
                          [](const cuda::KernelFacts& kernel) { return Count(kernel, "HGMMA") > 0; }),
            2);
}

TEST_F(CudaMatmulTest, AFewRowsAreDotProducts) {
  const auto plan = Build(Product(2048, 1048576, 1));
  EXPECT_TRUE(Has(plan, "dots"));
  EXPECT_GT(Count(plan.launches[0], "LDG.128"), 0);
  Build(Product(3, 1001, 5, "precision: dot"));
}

TEST_F(CudaMatmulTest, AnythingBuildsWithoutTensorCores) {
  for (const std::string tile : {"32x32", "64x64"})
    Build(Product(301, 77, 155, "precision: simt, split: 2, tile: " + tile));
  const std::string wide = "program p\ninput x: f64[300, 200]\ninput w: f64[200, 100]\noutput y: f64[300, 100]\n";
  EXPECT_TRUE(Has(Build(wide + "y = matmul(x, w)\n"), "tiles"));
  EXPECT_NE(Complaint(wide + "y = matmul(x, w) with {precision: f32x3}\n").find("try simt"), std::string::npos);
}

TEST_F(CudaMatmulTest, TensorsMayHaveTheNamesOfTheKernelsVariables) {
  Build(
      "program p\ninput stage: f32[600, 600]\ninput MultiplyHalves: f32[600, 600]\ninput sum: f32[600]\n"
      "output TensorMap: f32[600, 600]\nTensorMap = matmul(stage, MultiplyHalves) with {precision: f32x3} -> it + "
      "sum\n");
  Build(
      "program p\ninput v: f32[600, 600]\ninput x: f32[600, 600]\ninput k: f32[600]\n"
      "output it_: f32[600, 600]\nit_ = matmul(v, x * k) with {precision: simt} -> it + k\n");
}

TEST_F(CudaMatmulTest, WhatIsSetForAnotherWayMeansNothing) {
  EXPECT_EQ(Complaint(Product(512, 512, 512, "precision: simt, stages: 0, cluster: 2, algorithm: 3")), "");
}

TEST_F(CudaMatmulTest, WhatDoesNotFitIsSaid) {
  EXPECT_NE(Complaint(Product(512, 512, 512, "precision: bf16")).find("try f32x3"), std::string::npos);
  EXPECT_NE(Complaint(Product(512, 512, 512, "precision: f32x3, tile: 128x256")).find("registers"), std::string::npos);
  EXPECT_NE(Complaint(Product(512, 512, 512, "precision: f32x3, stages: 8")).find("shared memory"), std::string::npos);
  EXPECT_NE(Complaint(Product(512, 512, 512, "precision: simt, tile: 128x64")).find("try 64x64"), std::string::npos);
}

}  // namespace
}  // namespace hone
