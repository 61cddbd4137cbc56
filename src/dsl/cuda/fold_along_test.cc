// Maxima and sums by them in one pass: rows that nobody keeps are read once, what goes by a maximum in another way is
// not done so, and it computes what the program says. The last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

// One row and two, packs that divide into the threads and that do not, single elements, several rows a block; terms
// with no maximum, with their own and with another row's; minus infinities, of which some rows are full.
const std::string kPrograms[] = {
    "input x: f32[7, 5000]\noutput y: f32[7]\ny = reduce max(x) over [1] with {keep: no, split: 1, lanes: 128}\n"
    "  let m = max_over(x)\n  let s = sum(exp(x - m))\n  -> it + log(s)",
    "input x: f32[300, 1001]\noutput y: f32[300]\ny = reduce max(x * 3) over [1] with {keep: no, split: 1, lanes: 32}\n"
    "  let m = max_over(x * 3)\n  let s = sum(exp(x * 3 - m))\n  let a = sum(abs(x))\n  -> log(s) + a",
    "input x: f16[9, 8200]\ninput z: f16[9, 8200]\noutput y: f32[9]\n"
    "y = reduce max(x) over [1] with {keep: no, split: 1, lanes: 256, pack: 8}\n  let m = max_over(x)\n"
    "  let n = max_over(z / 2)\n  let s = sum(exp(x - m))\n  let t = sum(exp(z / 2 - n))\n"
    "  let g = sum(exp(z / 2 - n) * (select(z / 2 == -inf, 0, z / 2 - n) - (x - m)))\n  -> g / t - log(t) + log(s)",
    "input x: f32[64, 3000]\noutput y: f32[64]\n"
    "y = reduce max(select(x < 0.9, -inf, x)) over [1] with {keep: no, split: 1, lanes: 1024, pack: 1}\n"
    "  let m = max_over(select(x < 0.9, -inf, x))\n  let s = sum(exp(select(x < 0.9, -inf, x) - m))\n"
    "  let t = sum(exp(select(x < 0.9, -inf, x) - m) * x)\n  -> t / s",
};

using FoldAlongTest = testing::CudaProgramTest;
using FoldAlongOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(FoldAlongTest, RowsAreReadOnceWithoutSpills) {
  for (const std::string& text : kPrograms) {
    SCOPED_TRACE(text);
    const auto lowered = Lowered(text);
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    const auto& program = std::get<KernelProgram>(lowered);
    const auto built = Build(program);
    ASSERT_EQ(built.launches.size(), 1u);
    EXPECT_EQ(built.launches[0].spill_load_bytes + built.launches[0].spill_store_bytes, 0);
    EXPECT_NE(dsl::testing::CudaText(program).find("x_packs["), std::string::npos);
  }
}

TEST_F(FoldAlongTest, WhatGoesByAMaximumInAnotherWayTakesAPassOfItsOwn) {
  for (const std::string sum : {"exp(x * 2 - m)", "exp(x - m) * exp(m)", "(x - m) * x", "exp(x - m) * (x - m)"}) {
    const auto lowered = Lowered(
        "input x: f32[7, 5000]\noutput y: f32[7]\ny = reduce max(x) over [1] with {keep: no, split: 1}\n  let m = "
        "max_over(x)\n"
        "  let s = sum(" +
        sum + ")\n  -> it + s");
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    EXPECT_EQ(dsl::testing::CudaText(std::get<KernelProgram>(lowered)).find("x_packs["), std::string::npos) << sum;
  }
}

TEST_F(FoldAlongTest, LongRowsHaveSmallBlocksAndPacksOfSixteenBytes) {
  const auto lowered = Lowered(
      "input x: bf16[4096, 20000]\noutput y: f32[4096]\ny = reduce max(x) over [1]\n  let m = max_over(x)\n"
      "  let s = sum(exp(x - m))\n  -> it + log(s)");
  ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
  const auto& settings = std::get<KernelProgram>(lowered).kernels[0].settings;
  EXPECT_EQ(dsl::ToString(settings.at("lanes")), "256");
  EXPECT_EQ(dsl::ToString(settings.at("pack")), "8");
  EXPECT_EQ(dsl::ToString(settings.at("keep")), "no");
}

TEST_F(FoldAlongOnDeviceTest, ComputesWhatTheProgramSays) {
  for (const std::string& text : kPrograms) {
    SCOPED_TRACE(text);
    ExpectWhatItSays(text);
  }
}

}  // namespace
}  // namespace hone
