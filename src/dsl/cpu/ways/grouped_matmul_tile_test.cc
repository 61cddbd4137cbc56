// Products of groups of rows, and of segments of K, from packed panels: beside the interpreter. The ends that are drawn
// are -30 to 30 in no order: groups of no rows, of a few, rows behind all ends, segments that are none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dsl/testing/module.h"
#include "dsl/way.h"

namespace hone::dsl {
namespace {

struct Case {
  int rows, groups, n, k;
  std::string type = "f32", settings = "", end = "it", ends = "i32", more = "", x = "x";

  std::string With() const { return settings.empty() ? "" : " with {" + settings + "}"; }
  double Tolerance() const { return type == "bf16" ? 1e-2 : type == "f16" ? 2e-3 : 1e-4; }
};

const Case kGroups[] = {
    {60, 8, 40, 24},
    {60, 5, 40, 24, "bf16", "path: tile, threads: 3"},
    {40, 9, 33, 17, "f16", "micro: 6x64, tile: 6x64x8", "relu(it + bias) * scale", "i64"},
    {29, 3, 70, 1100, "f32", "micro: 8x32, tile: 16x32x512, threads: 2"},
    {23, 30, 16, 5, "f64", "micro: 3x8, tile: 3x16x4", "it + scale", "i64"},
    {50, 1, 20, 9, "f32", "", "it * scale"},
    {60, 6, 48, 16, "bf16", "", "silu(it) * gate", "i32", " let gate = product(v)"},
    {60, 6, 48, 16, "f32", "prepack: no", "it", "i32", "", "relu(x * 2)"},
    {2, 4, 8, 8},
};

TEST(CpuGroupedMatmulTest, ItGivesTheInterpretersValues) {
  std::mt19937 random(11);
  for (const Case& one : kGroups) {
    const std::string text = fmt::format(
        "program p\ninput x: {4}[{0}, {3}]\nparam t: {4}[{1}, {3}, {2}]\nparam vw: {4}[{1}, {2}, {3}]\n"
        "view v = vw: [{1}, {3}, {2}] strides [{10}, 1, {3}]\ninput ends: {8}[{1}]\ninput bias: f32[{2}]\n"
        "input scale: {4}[{0}, 1]\noutput y: {4}[{0}, {2}]\n"
        "y = grouped_matmul({9}, t, ends){5}{6} -> {7}",
        one.rows, one.groups, one.n, one.k, one.type, one.With(), one.more, one.end, one.ends, one.x, one.n * one.k);
    SCOPED_TRACE(text);
    testing::ExpectRight(testing::MustCheck(text), 2, random, one.Tolerance());
  }
}

TEST(CpuGroupedMatmulTest, PairsGiveTheInterpretersValues) {
  if (!DescribeMachine().bf16_pairs) GTEST_SKIP() << "this processor has no products of bf16";
  DeviceModel device;
  device.bf16_pairs = true;
  std::mt19937 random(14);
  for (const auto& [k, settings] : {std::pair(24, "path: pairs"), {17, "path: pairs, micro: 8x32, tile: 8x32x8"}}) {
    const std::string text = fmt::format(
        "program p\ninput x: bf16[60, {0}]\nparam t: bf16[7, {0}, 40]\ninput ends: i32[7]\noutput y: f32[60, 40]\n"
        "y = grouped_matmul(x, t, ends) with {{{1}}}",
        k, settings);
    SCOPED_TRACE(text);
    testing::ExpectRight(testing::MustCheck(text, device), 2, random, 1e-4);
  }
}

const Case kSegments[] = {
    {60, 8, 40, 24},
    {20, 5, 40, 28, "bf16", "threads: 3"},
    {40, 9, 33, 17, "f16", "micro: 6x64, tile: 6x64x8", "relu(it + bias) * scale", "i64"},
    {29, 3, 70, 26, "f32", "micro: 8x32, tile: 16x32x4, threads: 2", "it + bias"},
    {23, 30, 16, 5, "f64", "micro: 3x8, tile: 3x16x4", "it * scale", "i64"},
    {50, 1, 20, 25, "f32", "", "it * scale"},
    {50, 2, 20, 25, "f32", "prepack: no", "it", "i32", "", "relu(x * 2)"},
};

TEST(CpuSegmentMatmulTest, ItGivesTheInterpretersValues) {
  std::mt19937 random(12);
  for (const Case& one : kSegments) {
    const std::string text = fmt::format(
        "program p\ninput xt: {4}[{3}, {0}]\nview x = xt: [{0}, {3}] strides [1, {0}]\ninput z: {4}[{3}, {2}]\n"
        "input ends: {7}[{1}]\ninput bias: f32[{2}]\ninput scale: {4}[{1}, {0}, 1]\noutput y: {4}[{1}, {0}, {2}]\n"
        "y = segment_matmul({8}, z, ends){5} -> {6}",
        one.rows, one.groups, one.n, one.k, one.type, one.With(), one.end, one.ends, one.x);
    SCOPED_TRACE(text);
    testing::ExpectRight(testing::MustCheck(text), 2, random, one.Tolerance());
  }
}

// More terms than are summed in a register at a time, of which a segment may have none.
TEST(CpuSegmentMatmulTest, LongSegmentsAreSummedInParts) {
  const KernelProgram program = testing::MustCheck(
      "program p\ninput x: f32[16, 1200]\ninput z: f32[1200, 32]\nparam few: i32[6]\noutput y: f32[6, 16, 32]\n"
      "y = segment_matmul(x, z, few * 60) with {micro: 8x32, tile: 16x32x600}");
  std::mt19937 random(13);
  testing::ExpectRight(program, 2, random);
}

TEST(CpuSegmentMatmulTest, OneRowIsANest) {
  auto parsed = Parse(
      "program p\ninput x: f32[1, 30]\ninput z: f32[30, 8]\ninput ends: i32[4]\noutput y: f32[4, 1, 8]\n"
      "y = segment_matmul(x, z, ends)");
  const auto checked = Check(std::get<Program>(parsed), nullptr, {});
  ASSERT_TRUE(std::holds_alternative<Complaint>(checked));
  EXPECT_NE(std::get<Complaint>(checked).message.find("A has one row: write it as a nest"), std::string::npos)
      << std::get<Complaint>(checked).message;
}

}  // namespace
}  // namespace hone::dsl
