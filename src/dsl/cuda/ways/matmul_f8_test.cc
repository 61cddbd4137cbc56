// Products of reals of 8 bits on the tensor cores: everything compiles without spills and fits the device, what cannot
// be is refused in a line, and it computes what the program says. The last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

std::string Product(std::int64_t m, std::int64_t k, std::int64_t n, const std::string& settings,
                    const std::string& a = "f8e4m3", const std::string& b = "f8e4m3",
                    const std::string& result = "bf16") {
  return fmt::format(
      "input x: {4}[{0}, {1}]\ninput w: {5}[{2}, {1}]\ninput s: f32[{0}, 1]\ninput t: f32[1, {2}]\n"
      "output y: {6}[{0}, {2}]\nview wt = w: [{1}, {2}] strides [1, {1}]\n"
      "y = matmul(x, wt){3} -> it * s * t",
      m, k, n, settings.empty() ? "" : " with {" + settings + "}", a, b, result);
}

// Whole tiles and what is left of them, of each width, promoted and not, in all ends.
struct Case {
  std::int64_t m, k, n;
  std::string_view settings;
};
constexpr Case kCases[] = {
    {512, 1024, 512, ""},
    {300, 400, 272, "promote: 128, tile: 128x192"},
    {300, 400, 272, "promote: 256, tile: 128x128, end: lines, cluster: 2"},
    {300, 400, 200, "promote: 128, tile: 64x128, cluster: 2"},
    {600, 656, 264, "promote: 512, tile: 64x128, split: 2"},
    {600, 656, 264, "promote: 128, tile: 128x64"},
    {300, 400, 272, "promote: 128, tile: 128x128, sums: 2"},
    {300, 112, 272, "promote: 128, tile: 128x128, sums: 2, end: lines"},
    {600, 656, 264, "promote: 128, tile: 128x128, sums: 2, cluster: 2, split: 3"},
    {600, 656, 264, "promote: 128, tile: 128x64, sums: 1"},
    {600, 656, 520, "promote: 0, tile: 128x256"},
    {600, 656, 520, "promote: 0, tile: 128x256, turns: yes, cluster: 2"},
    {300, 144, 130, "promote: 0, tile: 128x192, end: lines"},
};

using CudaEightBitsTest = testing::CudaProgramTest;
using EightBitsOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(CudaEightBitsTest, EverySettingCompilesAndFitsWithoutSpills) {
  for (const Case& one : kCases) {
    const std::string text =
        Product(one.m, one.k, one.n,
                "precision: f8" + std::string(one.settings.empty() ? "" : ", ") + std::string(one.settings));
    SCOPED_TRACE(text);
    const auto built = BuiltOf(text);
    ASSERT_FALSE(built.launches.empty());
    EXPECT_EQ(built.launches[0].spill_load_bytes + built.launches[0].spill_store_bytes, 0);
    EXPECT_EQ(built.log.find("C75"), std::string::npos) << built.log;
    EXPECT_TRUE(built.launches[0].instructions.contains("QGMMA"));
  }
}

TEST_F(CudaEightBitsTest, ResultsOfSixteenBitsAreMadeSoByThemselves) {
  const auto first = [&](const std::string& text) {
    const auto built = BuiltOf(text);
    return built.launches.size() == 1 && built.launches[0].instructions.contains("QGMMA");
  };
  EXPECT_TRUE(first(Product(512, 512, 512, "")));
  EXPECT_TRUE(first(Product(512, 512, 512, "", "f8e4m3", "f8e5m2", "f16")));
  EXPECT_TRUE(first(Product(512, 512, 512, "", "f8e5m2", "f8e4m3", "f8e4m3")));
  EXPECT_FALSE(first(Product(512, 512, 512, "", "f8e4m3", "f8e4m3", "f32")));  // f32 holds more than the sums have
  EXPECT_FALSE(first(Product(512, 520, 512, "")));  // rows begin where the copy engine cannot
}

TEST_F(CudaEightBitsTest, WhatCannotBeIsSaid) {
  const auto complaint = [&](const std::string& settings, std::int64_t k = 512, const std::string& type = "f8e4m3") {
    const auto lowered = Lowered(Product(512, k, 512, settings, type, type));
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint("precision: f8, tile: 128x256"),
            "'tile' 128x256: 256 columns leave no registers for promoted sums; try 128x128");
  EXPECT_EQ(complaint("precision: f8, promote: 64"), "'promote' 64: it is 0, or a multiple of 128 up to 4096; try 128");
  EXPECT_EQ(complaint("precision: f8, promote: 256, sums: 2"),
            "'sums' 2: two sums are of a stage each, 128 elements; try 1");
  EXPECT_EQ(complaint("precision: f8, tile: 128x192, sums: 2"),
            "'sums' 2: registers hold two sums of tiles of 128 rows and 128 columns at most; try 1");
  EXPECT_EQ(complaint("precision: f8, turns: yes"),
            "'turns' yes: only products whose sums are not promoted have it; try no");
  EXPECT_EQ(complaint("precision: f8, promote: 0, tile: 128x256, turns: yes"), "taken");
  for (const auto& said : {complaint("precision: f8", 520), complaint("precision: f8", 512, "bf16")})
    EXPECT_NE(said.find("it is for operands that are reals of 8 bits, lie along K"), std::string::npos) << said;
}

TEST_F(EightBitsOnDeviceTest, ItComputesWhatTheProgramSays) {
  for (const Case& one : kCases) {
    const std::string settings =
        "precision: f8" + std::string(one.settings.empty() ? "" : ", ") + std::string(one.settings);
    for (const std::string type : {"f8e4m3", "f8e5m2"}) {
      SCOPED_TRACE(Product(one.m, one.k, one.n, settings, type));
      ExpectWhatItSays(Product(one.m, one.k, one.n, settings, type), 0x1p-7);
    }
  }
}

}  // namespace
}  // namespace hone
