#include "target/cuda/device_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

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

class DeviceHoldTest : public ::testing::Test {
 protected:
  DeviceHoldTest() { setenv("HONE_DATA", folder_->path().c_str(), 1); }
  ~DeviceHoldTest() override { unsetenv("HONE_DATA"); }

  std::unique_ptr<DeviceHold> Chosen(std::string_view wanted, const std::vector<Device>& here = kTwo) {
    auto hold = DeviceHold::Choose(here, wanted,
                                   {.say = [this](std::string_view line) { said_.emplace_back(line); },
                                    .interrupted = [this] { return interrupted_.load(); },
                                    .waiting = [this](bool waiting) { waits_.push_back(waiting); }});
    EXPECT_TRUE(hold) << hold.error().message;
    return std::move(*hold);
  }
  bool Free(const Device& device) {
    const auto lock = TryLock(device);
    EXPECT_TRUE(lock);
    return lock->has_value();
  }

  const Result<TempDirectory> folder_ = TempDirectory::Create("hold");
  std::vector<std::string> said_;
  std::vector<bool> waits_;
  std::atomic<bool> interrupted_ = false;
};

TEST_F(DeviceHoldTest, AChosenDeviceIsOursFromTakeToRelease) {
  const auto hold = Chosen("GPU-12ff");
  EXPECT_TRUE(Free(kTwo[1]));
  EXPECT_EQ(hold->held_s(), 0);
  ASSERT_TRUE(hold->Take());
  EXPECT_TRUE(hold->Take()) << "it is ours already";
  EXPECT_FALSE(Free(kTwo[1]));
  EXPECT_TRUE(Free(kTwo[0]));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  hold->Release();
  EXPECT_TRUE(Free(kTwo[1]));
  const double held_s = hold->held_s();
  EXPECT_GE(held_s, 0.02);
  EXPECT_EQ(hold->held_s(), held_s) << "it is held no longer";
  EXPECT_EQ(hold->waited_s(), 0);
  EXPECT_TRUE(said_.empty() && waits_.empty());
}

TEST_F(DeviceHoldTest, WhoeverWaitsHasItAtOnceWhenItIsReleased) {
  const auto first = Chosen("all"), second = Chosen("GPU-1234");
  ASSERT_TRUE(first->Take());
  EXPECT_FALSE(first->Wanted());
  using Clock = std::chrono::steady_clock;
  Clock::time_point released;
  bool wanted = false;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    wanted = first->Wanted();
    released = Clock::now();
    first->Release();
  });
  ASSERT_TRUE(second->Take());
  const auto taken = Clock::now();
  other.join();
  EXPECT_TRUE(wanted);
  EXPECT_FALSE(second->Wanted()) << "whoever has it does not wait for it any more";
  EXPECT_LT(taken - released, std::chrono::milliseconds(90));
  EXPECT_GE(second->waited_s(), 0.1);
  EXPECT_LT(second->held_s(), second->waited_s());
  EXPECT_EQ(waits_, (std::vector<bool>{true, false}));
  ASSERT_EQ(said_.size(), 2u);
  EXPECT_EQ(said_[0], "another hone is at work on GPU-1234 (A): waiting until it is done");
  EXPECT_TRUE(SaysWaiting(said_[0]) && !SaysOurs(said_[0]));
  EXPECT_TRUE(said_[1].starts_with("GPU-1234 (A) is ours after 0.")) << said_[1];
  EXPECT_TRUE(SaysOurs(said_[1]) && !SaysWaiting(said_[1]));
}

TEST_F(DeviceHoldTest, AnInterruptEndsTheWaiting) {
  const auto first = Chosen("all"), second = Chosen("all");
  ASSERT_TRUE(first->Take());
  interrupted_ = true;
  const auto taken = second->Take();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, ErrorKind::kInterrupted);
  EXPECT_EQ(waits_, (std::vector<bool>{true, false}));
  first->Release();
  EXPECT_TRUE(second->Take());
}

TEST_F(DeviceHoldTest, OfAnyOneItIsTheFirstThatIsFreeAndElseTheFirst) {
  const auto first = Chosen("");
  ASSERT_EQ(first->devices().size(), 1u);
  EXPECT_EQ(first->devices()[0].uuid, "GPU-1234");
  EXPECT_FALSE(Free(kTwo[0])) << "which was free, and is taken before another takes it";
  const auto second = Chosen("");
  EXPECT_EQ(second->devices().at(0).uuid, "GPU-12ff");
  EXPECT_EQ(said_, (std::vector<std::string>{"another hone is at work on GPU-1234 (A): taking GPU-12ff (B)"}));
  const auto third = Chosen("");
  EXPECT_EQ(third->devices().at(0).uuid, "GPU-1234");
  EXPECT_EQ(third->held_s(), 0);
  first->Release();
  EXPECT_TRUE(third->Take());
  const auto alone = Chosen("", {kTwo[1]});
  EXPECT_EQ(alone->held_s(), 0) << "there is nothing to choose: it is taken when it is needed";
}

}  // namespace
}  // namespace hone::cuda
