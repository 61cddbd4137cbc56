// Short rows whose places are divided, as rows of windows side by side are: a thread makes all of one. They compute
// what the program says: blocks on the host, and all of it where there is a device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"
#include "dsl/testing/hard_names.h"

namespace hone {
namespace {

// Rows of a window of 7 x 3 channels over [n, 3, 4, 20], rounded up to 24, with zeros beyond the edges.
std::string RowsOfWindows(int images, const std::string& type, const std::string& with) {
  return fmt::format(
      "input x: {0}[{1}, 3, 4, 20]\noutput y: {0}[{1}, 4, 10, 24]\n"
      "y = nest [n < {1}, h < 4, w < 10, k < 24] (select(and(and(k < 21, w * 2 + floordiv(k, 3) >= 3), w * 2 + "
      "floordiv(k, 3) < 23), x[n, mod(k, 3), h, w * 2 + floordiv(k, 3) - 3], 0)){2}",
      type, images, with);
}

using RowOfNestTest = testing::CudaProgramTest;
using RowOfNestOnHostTest = dsl::testing::DeviceBlocksTest;
using RowOfNestOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(RowOfNestTest, OfManyAThreadMakesAllOfOne) {
  const auto text = [](const std::string& program) {
    const auto lowered = Lowered(program);
    const auto* kernels = std::get_if<dsl::KernelProgram>(&lowered);
    EXPECT_NE(kernels, nullptr) << ToString(std::get<dsl::Complaint>(lowered));
    return kernels ? dsl::testing::CudaText(*kernels) : "";
  };
  EXPECT_NE(text(RowsOfWindows(4000, "bf16", "")).find("> all[3];"), std::string::npos);
  EXPECT_NE(text(RowsOfWindows(4000, "f32", "")).find("> all[6];"), std::string::npos);
  EXPECT_EQ(text(RowsOfWindows(2, "bf16", "")).find(" all["), std::string::npos) << "too few to fill a device";
  ExpectLaunchesWithoutSpills(RowsOfWindows(4000, "bf16", ""), 1);
  const auto other = Lowered(RowsOfWindows(2, "bf16", " with {pack: 12}"));
  EXPECT_TRUE(std::holds_alternative<dsl::Complaint>(other));
}

TEST_F(RowOfNestOnHostTest, BlocksComputeWhatTheProgramSays) {
  ExpectBlocksSay(RowsOfWindows(2, "f16", " with {pack: 24}"), 1e-6);
  ExpectBlocksSay(RowsOfWindows(2, "f32", " with {pack: 24}"), 1e-6);
}

TEST_F(RowOfNestOnDeviceTest, ItIsWhatTheProgramSays) {
  for (const std::string type : {"f16", "f32"}) ExpectWhatItSays(RowsOfWindows(7, type, " with {pack: 24}"), 1e-6);
}

}  // namespace
}  // namespace hone
