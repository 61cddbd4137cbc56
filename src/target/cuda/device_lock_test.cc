#include "target/cuda/device_lock.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"

namespace hone::cuda {
namespace {

const std::vector<Device> kTwo = {{.ordinal = 0, .uuid = "GPU-1234", .model = {.processor = "A"}},
                                  {.ordinal = 1, .uuid = "GPU-12ff", .model = {.processor = "B"}}};

std::string Chosen(std::string_view wanted) {
  const auto devices = ChooseDevices(kTwo, wanted);
  if (!devices) return devices.error().message;
  std::string names;
  for (const Device& device : *devices) names += device.model.processor;
  return names;
}

TEST(DeviceLockTest, DevicesAreChosenByTheBeginningOfTheirUuid) {
  EXPECT_EQ(Chosen("all"), "AB");
  EXPECT_EQ(Chosen(""), "AB");
  EXPECT_EQ(Chosen("GPU-12f"), "B");
  EXPECT_EQ(Chosen("GPU-12ff,GPU-1234"), "BA");
  EXPECT_EQ(Chosen("GPU-1234,GPU-1234"), "A");
  EXPECT_EQ(Chosen("GPU-12"), "--devices: 'GPU-12' is not one device; here are GPU-1234 (A), GPU-12ff (B)");
  EXPECT_EQ(Chosen("GPU-77").substr(0, 33), "--devices: 'GPU-77' is not one de");
  EXPECT_EQ(Chosen("GPU-1234,,GPU-12ff").substr(0, 30), "--devices: '' is not one devic");
}

TEST(DeviceLockTest, ALockedDeviceIsNotLockedAgainUntilItIsFree) {
  const auto folder = TempDirectory::Create("lock");
  ASSERT_TRUE(folder);
  setenv("HONE_DATA", folder->path().c_str(), 1);
  {
    const auto mine = TryLock(kTwo[0]);
    ASSERT_TRUE(mine && *mine);
    const auto again = TryLock(kTwo[0]);
    ASSERT_TRUE(again);
    EXPECT_FALSE(again->has_value());
    const auto other = TryLock(kTwo[1]);
    EXPECT_TRUE(other && *other);
  }
  const auto freed = TryLock(kTwo[0]);
  EXPECT_TRUE(freed && *freed);
  unsetenv("HONE_DATA");
}

}  // namespace
}  // namespace hone::cuda
