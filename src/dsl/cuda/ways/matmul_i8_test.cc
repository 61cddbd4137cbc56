// Products of whole numbers of 8 bits on the tensor cores: everything compiles without spills, what cannot be is
// refused in a line, and it computes what the program says, exactly. The last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

struct Case {
  std::int64_t m, k, n;
  std::string settings = "", end = "real(it) * s * t + bias", result = "bf16";
};
std::string Text(const Case& one, const std::string& type = "i8") {
  return fmt::format(
      "input x: {7}[{0}, {1}]\ninput w: {7}[{2}, {1}]\ninput s: f32[{0}, 1]\ninput t: f32[{2}]\n"
      "input bias: f32[{2}]\noutput y: {6}[{0}, {2}]\nview wt = w: [{1}, {2}] strides [1, {1}]\n"
      "y = matmul(x, wt){4} -> {5}",
      one.m, one.k, one.n, 0, one.settings.empty() ? "" : " with {" + one.settings + "}", one.end, one.result, type);
}

const Case kCases[] = {
    {512, 1024, 512},
    {300, 400, 272, "tile: 128x256"},
    {300, 400, 272, "tile: 128x192, end: lines, cluster: 2"},
    {300, 144, 130, "tile: 64x128"},
    {600, 656, 520, "tile: 128x256, turns: yes, cluster: 2"},
    {300, 400, 200, "tile: 128x128, cluster: 2", "it", "i32"},
    {300, 400, 203, "tile: 64x256", "it * 2 - 1", "i64"},
    {16, 4096, 256, "tile: 64x128, split: 4"},
    {600, 656, 264, "tile: 128x64, split: 2", "it", "i32"},
    {300, 400, 272, "tile: 64x64", "real(it) * s", "f32"},
};

using CudaWholesTest = testing::CudaProgramTest;
using WholesOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(CudaWholesTest, EverySettingCompilesAndFitsWithoutSpills) {
  for (const Case& one : kCases) {
    const std::string text = Text(one);
    SCOPED_TRACE(text);
    const auto built = BuiltOf(text);
    ASSERT_FALSE(built.launches.empty());
    EXPECT_EQ(built.launches[0].spill_load_bytes + built.launches[0].spill_store_bytes, 0);
    EXPECT_EQ(built.log.find("C75"), std::string::npos) << built.log;
    EXPECT_TRUE(built.launches[0].instructions.contains("IGMMA"));
  }
}

TEST_F(CudaWholesTest, WhatCannotBeIsSaid) {
  const auto complaint = [&](const Case& one, const std::string& type = "i8") {
    const auto lowered = Lowered(Text(one, type));
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint({512, 512, 512}), "taken");
  const auto holds = [&](const std::string& said, const std::string& what) {
    EXPECT_NE(said.find(what), std::string::npos) << said;
  };
  holds(complaint({512, 512, 512}, "i32"), "it is for operands that are i8, lie along K");
  holds(complaint({512, 520, 512}), "it is for operands that are i8, lie along K");
  holds(complaint({512, 512, 512, "precision: bf16"}), "it multiplies reals: write real(x) around whole numbers");
  holds(complaint({64, 131072, 64}), "32 bits hold sums of 131071 products, and K is 131072");
  holds(complaint({512, 512, 512, "precision: i8"}, "bf16"), "");
}

TEST_F(WholesOnDeviceTest, ItComputesWhatTheProgramSays) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(Text(one));
    const bool whole = one.result[0] == 'i';
    ExpectWhatItSays(Text(one), whole ? 0 : one.result == "f32" ? 1e-6 : 0x1p-7);
  }
}

}  // namespace
}  // namespace hone
