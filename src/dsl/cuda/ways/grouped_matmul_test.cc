// Products of groups of rows: compiled without spills on the tensor cores, refused in a line where they cannot be, and
// what the program says. The last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

struct Case {
  std::int64_t rows, groups, n, k;
  std::string settings = "", end = "it", ends = "i32", more = "";
  bool across = false;
};
std::string Text(const Case& one, const std::string& type) {
  std::string weights;
  for (const std::string name : {"t", "v"}) {
    weights +=
        one.across
            ? fmt::format("param {}: {}[{}, {}, {}]\n", name, type, one.groups, one.k, one.n)
            : fmt::format("param {0}w: {1}[{2}, {4}, {3}]\nview {0} = {0}w: [{2}, {3}, {4}] strides [{5}, 1, {3}]\n",
                          name, type, one.groups, one.k, one.n, one.n * one.k);
  }
  return fmt::format(
      "input x: {4}[{0}, {3}]\n{5}input ends: {9}[{1}]\n"
      "input bias: f32[{2}]\ninput scale: {4}[{0}, 1]\noutput y: {4}[{0}, {2}]\n"
      "y = grouped_matmul(x, t, ends){6}{7} -> {8}",
      one.rows, one.groups, one.n, one.k, type, weights, one.settings.empty() ? "" : " with {" + one.settings + "}",
      one.more, one.end, one.ends);
}

// The ends that are drawn are up to 99 in no order: groups of no rows, of a few, and a last one with all the others.
const Case kCases[] = {
    {300, 8, 256, 128},
    {300, 8, 256, 128, "cluster: 2, end: lines"},
    {129, 40, 200, 72, "tile: 64x128, cluster: 1", "relu(it + bias) * scale"},
    {1000, 3, 64, 512, "tile: 64x64, end: tiles, cluster: 2", "it * scale", "i64"},
    {100, 100, 72, 64, "tile: 128x128, end: tiles, cluster: 1", "it + bias"},
    {90, 1, 128, 64},
    {260, 33, 136, 192, "tile: 128x128, products: together", "silu(it) * gate", "i32", " let gate = product(v)"},
    {260, 33, 136, 192, "tile: 64x64, products: together, end: lines", "it * gate + scale", "i64",
     " let gate = product(v)"},
    {200, 5, 64, 64, "products: apart", "it * gate", "i32", " let gate = product(v)"},
    {300, 8, 256, 136, "cluster: 2", "it", "i32", "", true},
    {260, 33, 136, 192, "tile: 128x128, products: together", "silu(it) * gate", "i32", " let gate = product(v)", true},
};

using GroupedMatmulTest = testing::CudaProgramTest;
using GroupedMatmulOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(GroupedMatmulTest, EveryCaseCompilesWithoutSpillsAndMultipliesOnTheTensorCores) {
  for (const Case& one : kCases) {
    for (const auto type : {"f16", "bf16"}) {
      const std::string text = Text(one, type);
      SCOPED_TRACE(text);
      const auto lowered = Lowered(text);
      ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
      const auto built = Build(std::get<KernelProgram>(lowered));
      ASSERT_EQ(built.launches.size(), one.settings == "products: apart" ? 2u : 1u);
      EXPECT_EQ(built.launches[0].spill_load_bytes + built.launches[0].spill_store_bytes, 0);
      EXPECT_TRUE(built.launches[0].instructions.contains("HGMMA"));
      EXPECT_EQ(built.log.find("C75"), std::string::npos) << built.log;
    }
  }
}

TEST_F(GroupedMatmulTest, WhatCannotBeIsSaid) {
  const auto complaint = [&](const std::string& text) {
    const auto lowered = Lowered(text);
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  const auto groups = [](const std::string& x, const std::string& w, const std::string& ends,
                         const std::string& what = "grouped_matmul(x, w, ends)") {
    return fmt::format("input x: bf16{}\ninput w: bf16{}\ninput ends: {}\noutput y: bf16[16, 32]\ny = {}", x, w, ends,
                       what);
  };
  EXPECT_EQ(
      complaint(groups("[16, 64]", "[4, 64, 32]", "i32[3]")),
      "grouped_matmul of [16, 64], [4, 64, 32] and [3]: there must be as many matrices in B (4) as there are ends "
      "(3)");
  EXPECT_EQ(complaint(groups("[16, 60]", "[4, 64, 32]", "i32[4]")),
            "grouped_matmul of [16, 60], [4, 64, 32] and [4]: A's columns (60) must be as many as B's rows (64)");
  EXPECT_EQ(complaint(groups("[16, 64]", "[64, 32]", "i32[4]")),
            "grouped_matmul of [16, 64], [64, 32] and [4]: wants A [M, K], B [G, K, N] and one end a group, [G]");
  EXPECT_EQ(complaint(groups("[16, 64]", "[4, 64, 32]", "f32[4]")), "where groups end are whole numbers");
  EXPECT_EQ(complaint(groups("[16, 60]", "[4, 60, 32]", "i32[4]")),
            "'grouped_matmul' has no kernel for this: both operands have to lie in lines, along K or across it, at "
            "multiples of 16 bytes");
  EXPECT_EQ(complaint(Text({4096, 1025, 64, 64}, "f16")),
            "'grouped_matmul' has no kernel for this: 1025 groups are more than a block keeps, 1024");
}

TEST_F(GroupedMatmulOnDeviceTest, ComputesWhatTheProgramSays) {
  for (const Case& one : kCases) {
    for (const auto type : {"f16", "bf16"}) {
      const std::string text = Text(one, type);
      SCOPED_TRACE(text);
      ExpectWhatItSays(text, 1e-2);
    }
  }
}

}  // namespace
}  // namespace hone
