// Short rows several at a time: numbers in pairs are read and written in packs, and it computes what the program says:
// blocks on the host, and all of it where there is a device.
#include "dsl/cuda/nest_groups.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

// Pairs that are turned, of reals and of halves; channels side by side out of planes; a row of three, and one whose
// operand is read across memory, which are none.
constexpr const char* kTurned =
    "input x: TYPE[3, 40, 32]\ninput c: TYPE[40, 16]\ninput s: TYPE[40, 16]\noutput y: TYPE[3, 40, 16, 2]\n"
    "y = nest [i < 3, j < 40, k < 16, l < 2] (select(1 <= l, x[i, j, k * 2 + 1] * c[j, k] + x[i, j, k * 2] * s[j, k], "
    "x[i, j, k * 2] * c[j, k] - x[i, j, k * 2 + 1] * s[j, k]))";
constexpr const char* kBesideEachOther =
    "input a: TYPE[5, 48]\ninput b: TYPE[5, 48]\noutput y: TYPE[5, 48, 2]\n"
    "y = nest [i < 5, j < 48, k < 2] (select(k < 1, a[i, j], b[i, j] * 2))";
constexpr const char* kThree =
    "input a: TYPE[5, 48]\noutput y: TYPE[5, 48, 3]\ny = nest [i < 5, j < 48, k < 3] (a[i, j] * real(k))";
constexpr const char* kAcross =
    "input a: TYPE[48, 50]\noutput y: TYPE[50, 48, 2]\ny = nest [i < 50, j < 48, k < 2] (a[j, i] * real(k))";

std::string GroupedOf(const std::string& type, std::string text) {
  for (std::size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, type);
  return text;
}

using GroupOfNestTest = testing::CudaProgramTest;
using GroupOfNestOnHostTest = dsl::testing::DeviceBlocksTest;
using GroupOfNestOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(GroupOfNestTest, PairsAreOfOneThreadWhereAllOfThemLiesInPacks) {
  const auto pack = [](const std::string& program) {
    const auto lowered = Lowered(program);
    const auto* kernels = std::get_if<dsl::KernelProgram>(&lowered);
    EXPECT_NE(kernels, nullptr) << ToString(std::get<dsl::Complaint>(lowered));
    return kernels ? dsl::IntSetting(kernels->kernels[0], "pack") : 0;
  };
  EXPECT_EQ(pack(GroupedOf("f16", kTurned)), 8);
  EXPECT_EQ(pack(GroupedOf("f32", kTurned)), 4);
  EXPECT_EQ(pack(GroupedOf("bf16", kBesideEachOther)), 8);
  EXPECT_EQ(pack(GroupedOf("bf16", kThree)), 1);
  EXPECT_EQ(pack(GroupedOf("bf16", kAcross)), 1);
  const auto lowered = Lowered(GroupedOf("f16", kTurned));
  const std::string text = dsl::testing::CudaText(std::get<dsl::KernelProgram>(lowered));
  EXPECT_NE(text.find("Pack<__half, 8> pack"), std::string::npos) << "both of four pairs";
  EXPECT_NE(text.find("Pack<__half, 4> pack"), std::string::npos) << "a number for each pair";
  EXPECT_EQ(text.find(" ? "), std::string::npos) << "which of a pair it is is known";
  ExpectLaunchesWithoutSpills(GroupedOf("f16", kTurned), 1);
}

TEST_F(GroupOfNestOnHostTest, BlocksComputeWhatTheProgramSays) {
  for (const char* const program : {kTurned, kBesideEachOther, kThree, kAcross}) {
    ExpectBlocksSay(GroupedOf("f16", program), 0x1p-10);
    ExpectBlocksSay(GroupedOf("f32", program), 1e-6);
  }
}

TEST_F(GroupOfNestOnDeviceTest, ItIsWhatTheProgramSays) {
  for (const char* const program : {kTurned, kBesideEachOther}) {
    for (const std::string type : {"f16", "bf16", "f32"})
      ExpectWhatItSays(GroupedOf(type, program), type == "bf16" ? 0x1p-7 : 0x1p-10);
  }
}

}  // namespace
}  // namespace hone
