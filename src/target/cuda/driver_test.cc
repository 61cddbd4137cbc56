#include "target/cuda/driver.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "target/generation.h"
#include "target/shipped_model.h"

namespace hone::cuda {
namespace {

class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto devices = FindDevices(); !devices) GTEST_SKIP() << devices.error().message;
    auto opened = Context::Open(0);
    ASSERT_TRUE(opened) << opened.error().message;
    context_ = std::move(*opened);
  }
  std::unique_ptr<Context> context_;
};

TEST_F(DeviceTest, ItsFactsAreThoseOfItsGenerationAndOfTheShippedModelOfItsName) {
  const DeviceModel& device = context_->device().model;
  if (const Generation* generation = FindGeneration(device.arch)) {
    EXPECT_EQ(device.limits.warps, generation->limits.warps);
    EXPECT_EQ(device.limits.blocks, generation->limits.blocks);
    EXPECT_EQ(device.limits.registers, generation->limits.registers);
    EXPECT_EQ(device.limits.shared_bytes, generation->limits.shared_bytes);
    EXPECT_EQ(device.limits.block_shared_bytes, generation->limits.block_shared_bytes);
    EXPECT_EQ(device.limits.reserved_shared_bytes, generation->limits.reserved_shared_bytes);
  }
  for (const ShippedModel* shipped : AllShippedModels()) {
    if (shipped->name != device.processor) continue;
    EXPECT_EQ(device.arch, shipped->generation);
    EXPECT_EQ(device.multiprocessors, shipped->multiprocessors);
    EXPECT_EQ(device.l2_bytes, shipped->l2_bytes);
    EXPECT_EQ(device.clock_mhz, shipped->clock_mhz);
    EXPECT_NEAR(static_cast<double>(device.memory_bytes) / static_cast<double>(shipped->memory_bytes), 1, 0.1);
  }
}

TEST_F(DeviceTest, AnExchangeIsTheSameMemoryAtEveryAddress) {
  using Access = Exchange::Access;
  const auto made = Exchange::Create(*context_, 3'000'000);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*made)->bytes(), 4 << 20);
  // As another process would, which has the descriptor under a number of its own.
  const int descriptor = dup((*made)->descriptor());
  const auto opened = Exchange::Open(*context_, descriptor, 3'000'000);
  ASSERT_TRUE(opened) << opened.error().message;
  const auto first = (*made)->Map(Access::kReadWrite), second = (*opened)->Map(Access::kReadWrite),
             third = (*opened)->Map(Access::kRead);
  ASSERT_TRUE(first && second && third);
  EXPECT_NE(*second, *third);
  ASSERT_TRUE(context_->Set16(*first, 0x1234, 1'500'000));
  for (const Address view : {*first, *second, *third}) {
    std::uint16_t seen[2] = {};
    ASSERT_TRUE(context_->CopyOut(seen, view + 2'999'996, sizeof seen));
    EXPECT_EQ(seen[0], 0x1234);
    EXPECT_EQ(seen[1], 0x1234);
  }
  close(descriptor);
}

TEST_F(DeviceTest, MemoryThatIsFreedIsThereAgain) {
  const auto before = context_->FreeBytes();
  ASSERT_TRUE(before);
  const auto address = context_->Allocate(std::int64_t{1} << 30);
  ASSERT_TRUE(address) << address.error().message;
  EXPECT_LT(*context_->FreeBytes(), *before);
  context_->Free(*address);
  EXPECT_EQ(*context_->FreeBytes(), *before);
}

}  // namespace
}  // namespace hone::cuda
