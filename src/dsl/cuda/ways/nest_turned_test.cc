// Nests whose reads lie close along another index than the result's: squares are made along that. They compute what the
// program says: blocks on the host, and all of it where there is a device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

// Of each of 3 x `columns` rows what the places say, the other way round: 3 x [rows, columns].
std::string Looked(int rows, int columns, const std::string& type, const std::string& with = "") {
  return fmt::format(
      "input x: {0}[3, {2}, 100]\ninput places: i64[{2}, {1}]\noutput y: {0}[3, {1}, {2}]\n"
      "y = nest [i < 3, j < {1}, k < {2}] (x[i, k, places[k, j]] * 2 + j){3}",
      type, rows, columns, with);
}

using TurnedNestTest = testing::CudaProgramTest;
using TurnedNestOnHostTest = dsl::testing::DeviceBlocksTest;
using TurnedNestOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(TurnedNestTest, IsTakenWhereReadsLieAcross) {
  const auto text = [](const std::string& program) {
    const auto lowered = Lowered(program);
    const auto* kernels = std::get_if<dsl::KernelProgram>(&lowered);
    EXPECT_NE(kernels, nullptr) << ToString(std::get<dsl::Complaint>(lowered));
    return kernels ? dsl::testing::CudaText(*kernels) : "";
  };
  EXPECT_NE(text(Looked(96, 100, "bf16")).find("__shared__"), std::string::npos);
  EXPECT_EQ(text(Looked(8, 100, "bf16")).find("__shared__"), std::string::npos) << "too short for a warp";
  const std::string straight = "input x: f32[64, 96]\noutput y: f32[64, 96]\ny = nest [i < 64, j < 96] (x[i, j] + i)";
  EXPECT_EQ(text(straight).find("__shared__"), std::string::npos);
  const auto refused = Lowered(straight + " with {way: turned}");
  ASSERT_TRUE(std::holds_alternative<dsl::Complaint>(refused));
  EXPECT_NE(ToString(std::get<dsl::Complaint>(refused)).find("no closer along another index"), std::string::npos);
  ExpectLaunchesWithoutSpills(Looked(96, 100, "bf16"), 1);
}

TEST_F(TurnedNestOnHostTest, BlocksComputeWhatTheProgramSays) {
  ExpectBlocksSay(Looked(96, 100, "f16"), 1e-6);
  ExpectBlocksSay(Looked(33, 64, "f32", " with {block: 128}"), 1e-6);
}

TEST_F(TurnedNestOnDeviceTest, ItIsWhatTheProgramSays) {
  for (const std::string type : {"f16", "f32"}) ExpectWhatItSays(Looked(70, 130, type), 1e-6);
}

}  // namespace
}  // namespace hone
