#include <gtest/gtest.h>

#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

// Depths that are odd, beyond a register's sums and in parts; operands that lie as the products read them, turned, at
// odd places, and in batches.
TEST(MatmulPairsTest, ItGivesTheInterpretersValues) {
  if (!DescribeMachine().bf16_pairs) GTEST_SKIP() << "this processor has no products of bf16";
  std::mt19937 random(5);
  testing::ExpectRight(testing::MustCheck(R"(program products
input x: bf16[37, 50]
input odd: bf16[37, 51]
param w: bf16[45, 50]
param v: bf16[51, 64]
param b: f32[45]
input q: bf16[2, 3, 20, 18]
input p: bf16[3, 18, 33]
input long: bf16[33, 1202]
input deep: bf16[1202, 70]
output y: f32[37, 45]
output z: bf16[37, 64]
output batched: f32[2, 3, 20, 33]
output sums: f32[33, 70]
output parts: bf16[33, 70]
output shifted: f32[30, 70]
input eight: f8e4m3[29, 51]
param five: f8e5m2[45, 50]
output mixed: f32[29, 64]
output eights: f32[37, 45]
view wt = w: [50, 45] strides [1, 50]
view from = long: [30, 1000] strides [1202, 1] offset 3
view rows = deep: [1000, 70] strides [70, 1]
y = matmul(x, wt) with {path: pairs} -> it + b -> gelu(it)
z = matmul(odd, v) with {path: pairs, micro: 6x64, tile: 12x64x16, threads: 2} -> relu(it)
batched = matmul(q, p) with {path: pairs, micro: 8x16, tile: 16x32x8}
sums = matmul(long, deep) with {path: pairs, micro: 14x32, tile: 28x64x1204}
parts = matmul(long, deep) with {path: pairs, micro: 20x16, tile: 20x80x304, prepack: no} -> it * 2
shifted = matmul(from, rows) with {path: pairs}
view turned = five: [50, 45] strides [1, 50]
mixed = matmul(eight, v) with {path: pairs, micro: 8x32}
eights = matmul(x, turned) with {path: pairs}
)",
                                          testing::WithPairs()),
                       2, random, 5e-5);
}

TEST(MatmulPairsTest, ItIsTheDefaultOfBf16WhereTheProcessorHasIt) {
  const auto way = [&](const char* type, const char* with, const DeviceModel& device) {
    const std::string text = fmt::format(
        "program p\ninput x: {0}[37, 50]\ninput w: bf16[50, 64]\noutput y: f32[37, 64]\ny = matmul(x, w) {1}\n", type,
        with);
    auto parsed = Parse(text);
    const auto checked = Check(std::get<Program>(parsed), nullptr, device);
    if (const auto* said = std::get_if<Complaint>(&checked)) return said->message;
    return WordSetting(std::get<KernelProgram>(checked).kernels[0], "path");
  };
  DeviceModel without = testing::WithPairs();
  without.bf16_pairs = false;
  EXPECT_EQ(way("bf16", "", testing::WithPairs()), "pairs");
  DeviceModel slow = testing::WithPairs();
  slow.ceilings.fma_flops_f32 = 2e11;
  slow.ceilings.matmul_flops["bf16"] = 1e11;
  EXPECT_EQ(way("bf16", "", without), "tile");
  EXPECT_EQ(way("bf16", "", slow), "tile") << "as its calibration says";
  EXPECT_EQ(way("f32", "", testing::WithPairs()), "tile");
  EXPECT_EQ(way("bf16", "with {path: pairs}", without), "'path' pairs: a processor has no products of bf16; try tile");
  EXPECT_EQ(way("f8e4m3", "", testing::WithPairs()), "pairs");
  EXPECT_EQ(way("f16", "with {path: pairs}", testing::WithPairs()),
            "'path' pairs: both operands have to be of bf16, or of reals of 8 bits, which are such; try tile");
  EXPECT_EQ(way("bf16", "with {path: pairs, micro: 8x24}", testing::WithPairs()),
            "'micro' 8x24: the second must be a multiple of 16; try 14x32");
}

}  // namespace
}  // namespace hone::dsl
