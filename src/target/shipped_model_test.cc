#include "target/shipped_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "target/generation.h"

namespace hone {
namespace {

TEST(ShippedModelTest, EveryOneIsCompleteAndFoundByItsKey) {
  ASSERT_FALSE(AllShippedModels().empty());
  for (const ShippedModel* shipped : AllShippedModels()) {
    SCOPED_TRACE(shipped->key);
    const auto device = FindShippedModel(shipped->key);
    ASSERT_TRUE(device) << device.error().message;
    const Generation* generation = FindGeneration(shipped->generation);
    ASSERT_NE(generation, nullptr);
    EXPECT_EQ(device->kind, DeviceKind::kCuda);
    EXPECT_EQ(device->id, shipped->key);
    EXPECT_EQ(device->processor, shipped->name);
    EXPECT_EQ(device->arch, generation->arch);
    EXPECT_EQ(device->limits.shared_bytes, generation->limits.shared_bytes);
    EXPECT_GT(device->multiprocessors, 0);
    EXPECT_GT(device->clock_mhz, 1000);
    EXPECT_GT(device->l2_bytes, device->l1_bytes);
    EXPECT_GT(device->memory_bytes, device->l2_bytes);
    EXPECT_EQ(device->ceilings.source, Ceilings::Source::kDatasheet);
    EXPECT_GT(device->ceilings.CopyBandwidth(1 << 30), 5e11);
    EXPECT_GT(device->ceilings.fma_flops_f64, 1e12);
    EXPECT_GE(device->ceilings.fma_flops_f32, device->ceilings.vector_flops_f32);
    EXPECT_GE(device->ceilings.matmul_flops.at("f16"), device->ceilings.matmul_flops.at("tf32"));
    EXPECT_GE(device->ceilings.matmul_flops.at("i8"), 1.99 * device->ceilings.matmul_flops.at("f16"));
    EXPECT_EQ(device->ceilings.matmul_flops.count("f8"), device->arch == "sm_80" ? 0 : 1);
    EXPECT_TRUE(device->ceilings.measured_on.empty());
    // The ordinary units make 128 multiply-adds a clock and multiprocessor, of sm_80 64.
    const double clocks = device->multiprocessors * (device->clock_mhz * 1e6) * (device->arch == "sm_80" ? 64 : 128);
    EXPECT_NEAR(device->ceilings.vector_flops_f32 / (2 * clocks), 1, 0.1);
  }
}

TEST(ShippedModelTest, KeysAreInOrderAndTheirOwn) {
  std::vector<std::string> keys;
  for (const ShippedModel* shipped : AllShippedModels()) keys.emplace_back(shipped->key);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

TEST(ShippedModelTest, AnUnknownNameListsTheKnownOnes) {
  const auto device = FindShippedModel("h20");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(device.error().message,
            "no device is known as 'h20': there are a100, b200, h100, h200, l40s, rtx4090, rtx5090");
}

TEST(ShippedModelTest, ThreeProductsOfHalvesAreTheCeilingOfSinglePrecisionWhereTheyAreFaster) {
  EXPECT_DOUBLE_EQ(FindShippedModel("h200")->ceilings.fma_flops_f32, 989.4e12 / 3);
  EXPECT_DOUBLE_EQ(FindShippedModel("rtx4090")->ceilings.fma_flops_f32, 82.6e12);
}

TEST(GenerationTest, LimitsGrowFromTheLeast) {
  const MultiprocessorLimits least;
  ASSERT_FALSE(AllGenerations().empty());
  for (const Generation* generation : AllGenerations()) {
    SCOPED_TRACE(generation->arch);
    const MultiprocessorLimits& limits = generation->limits;
    EXPECT_EQ(limits.registers, least.registers);
    EXPECT_EQ(limits.block_shared_bytes, limits.shared_bytes - limits.reserved_shared_bytes);
    EXPECT_LE(limits.shared_bytes, generation->l1_bytes);
    EXPECT_EQ(limits.warps % 4, 0);
    EXPECT_EQ(limits.cluster_blocks > 1, generation->major >= 9);
    EXPECT_EQ(generation->has.tensor_maps, generation->major >= 9);
    EXPECT_EQ(generation->has.early_launch, generation->major >= 9);
    EXPECT_EQ(ArchOf(generation->major, generation->minor), generation->arch);
  }
}

TEST(GenerationTest, OneThatNobodyDescribedHasItsPlainName) {
  EXPECT_EQ(GenerationOf(10, 3), nullptr);
  EXPECT_EQ(ArchOf(10, 3), "sm_103");
}

TEST(GenerationTest, CodeRunsOnLaterMinorVersionsUnlessItIsForOneAlone) {
  EXPECT_TRUE(RunsOn("sm_80", "sm_80"));
  EXPECT_TRUE(RunsOn("sm_80", "sm_89"));
  EXPECT_TRUE(RunsOn("sm_90", "sm_90a"));
  EXPECT_TRUE(RunsOn("sm_90a", "sm_90a"));
  EXPECT_FALSE(RunsOn("sm_89", "sm_80"));
  EXPECT_FALSE(RunsOn("sm_80", "sm_90a"));
  EXPECT_FALSE(RunsOn("sm_90a", "sm_100a"));
  EXPECT_FALSE(RunsOn("sm_100a", "sm_103"));
}

}  // namespace
}  // namespace hone
