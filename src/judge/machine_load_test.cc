#include "judge/machine_load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace hone {
namespace {

constexpr const char* kStat =
    "cpu  600 0 0 1000 0 0 0 0 0 0\n"
    "cpu0 100 10 20 500 7 3 2 15 50 0\n"
    "cpu1 400 0 0 500 0 0 0 50 0 0\n"
    "intr 1 2 3\ncpu9 1 1 1 1 1 1 1 1 1 1\n";

TEST(MachineLoadTest, BusyIsAllButIdlenessAndWaiting) {
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(*BusySeconds(kStat, [](int) { return true; }), 600 / ticks);
  EXPECT_DOUBLE_EQ(*BusySeconds(kStat, [](int processor) { return processor == 0; }), 150 / ticks);
  EXPECT_FALSE(BusySeconds(kStat, [](int) { return false; }));
  EXPECT_FALSE(BusySeconds("", [](int) { return true; }));
}

// A thread of ours that computes is ours until it is called somebody else's.
TEST(MachineLoadTest, WhatIsNotOursIsOthers) {
  std::atomic<bool> end = false;
  std::jthread busy([&] {
    while (!end) {
    }
  });
  double hidden_s = 0;
  MachineLoad load(0, [&] { return -hidden_s; });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double before = load.Look();
  hidden_s = 0.3;  // as if so much of our own time were somebody else's
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double after = load.Look();
  end = true;
  // On a busy machine others add to both.
  EXPECT_GT(after, kDisturbingProcessors);
  EXPECT_GE(before, 0);
}

TEST(MachineLoadTest, WhoHasSpareProcessorsIsNotDisturbed) {
  std::atomic<bool> raised = false;
  MachineLoad load(1e6, [] { return 0.0; });
  EXPECT_TRUE(load.AwaitQuiet(std::chrono::steady_clock::now(), &raised));
  raised = true;
  EXPECT_FALSE(load.AwaitQuiet(std::chrono::steady_clock::now(), &raised));
}

}  // namespace
}  // namespace hone
