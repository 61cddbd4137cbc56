// Several products of one operand as one kernel, and the ways in which 16-bit products can be set: everything compiles
// without spills and fits the device, what cannot be is refused in a line, and it computes what the program says. The
// last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

// Which operands lie across K, as A's transpose and B itself do.
enum class Across { kNone, kA, kB, kBoth };

// x [M, K] times `count` weights [K, N], all of one type, and the chain over `it`, u1, u2, ...
std::string Products(std::int64_t m, std::int64_t k, std::int64_t n, int count, const std::string& settings,
                     const std::string& chain, const std::string& type = "bf16", const std::string& result = "bf16",
                     Across across = Across::kNone) {
  const bool a_across = across == Across::kA || across == Across::kBoth;
  std::string text = fmt::format("input held: {0}[{1}, {2}]\nview x = held: [{3}, {4}] strides [{5}, {6}]\n", type,
                                 a_across ? k : m, a_across ? m : k, m, k, a_across ? 1 : k, a_across ? m : 1);
  std::string lets;
  for (int i = 0; i < count; ++i) {
    text +=
        across == Across::kB || across == Across::kBoth
            ? fmt::format("input t{}: {}[{}, {}]\n", i, type, k, n)
            : fmt::format("input w{0}: {1}[{2}, {3}]\nview t{0} = w{0}: [{3}, {2}] strides [1, {3}]\n", i, type, n, k);
    if (i > 0) lets += fmt::format("  let u{0} = product(t{0})\n", i);
  }
  return text + fmt::format(
                    "input r: bf16[{0}, {1}]\ninput b: f32[{1}]\noutput y: {2}[{0}, {1}]\n"
                    "y = matmul(x, t0){3}\n{4}  -> {5}",
                    m, n, result, settings.empty() ? "" : " with {" + settings + "}", lets, chain);
}

// Whole tiles and what is left of them, a depth of less than the ring; all tiles, ends and clusters.
struct Case {
  std::int64_t m, k, n;
  int count;
  std::string_view settings, chain;
  Across across = Across::kNone;
};
constexpr Case kCases[] = {
    {256, 512, 256, 2, "tile: 128x128, end: tiles", "silu(it) * u1"},
    {256, 512, 256, 2, "tile: 128x128, end: tiles, cluster: 2", "silu(it) * u1"},
    {300, 200, 200, 2, "tile: 128x128, end: tiles", "silu(it) * u1 + r * b"},
    {300, 200, 200, 2, "tile: 128x64, end: lines", "gelu(u1) * it + r"},
    {300, 64, 136, 3, "tile: 64x64, end: tiles", "it * u1 + u2 * b"},
    {300, 64, 130, 3, "tile: 128x64, end: lines", "it * u1 + u2"},
    {200, 136, 264, 4, "tile: 128x64, end: tiles", "it * u1 + u2 * u3"},
    {200, 136, 264, 4, "tile: 64x64, end: lines", "it * u1 + u2 * u3"},
    {600, 328, 520, 1, "tile: 128x256, end: tiles, cluster: 2", "it * b + r"},
    {600, 328, 520, 1, "tile: 128x256, end: tiles, stages: 4", "it"},
    {600, 328, 520, 1, "tile: 64x128, end: tiles", "it + r"},
    {600, 328, 520, 1, "tile: 64x256, stages: 2", "it + r"},
    {600, 328, 520, 2, "tile: 64x128, stages: 2", "it + u1"},
    {600, 328, 520, 1, "tile: 128x64, end: tiles", "relu(it)"},
    {600, 328, 520, 1, "tile: 128x128, end: lines", "it + r"},
    {20000, 128, 1024, 2, "tile: 128x128, end: tiles", "silu(it) * u1"},
    {20000, 128, 1024, 2, "tile: 128x128, turns: yes, end: tiles", "silu(it) * u1"},
    {3000, 328, 1032, 1, "tile: 128x256, turns: yes, end: tiles, cluster: 2", "gelu(it + b)"},
    {600, 328, 520, 1, "tile: 128x128, turns: yes, end: lines", "it + r"},
    {600, 328, 520, 1, "tile: 128x256, end: tiles", "gelu(it + b)", Across::kB},
    {600, 328, 520, 1, "tile: 128x256, end: tiles, cluster: 2", "it * b", Across::kBoth},
    {600, 328, 520, 1, "tile: 64x64, end: lines, cluster: 2", "it", Across::kBoth},
    {600, 328, 520, 1, "tile: 128x128, end: tiles", "it", Across::kA},
    {40, 328, 520, 1, "tile: 64x128, end: lines", "it + r", Across::kA},
    {600, 100, 72, 1, "tile: 128x64, end: tiles", "relu(it)", Across::kBoth},
    {600, 328, 520, 1, "tile: 64x256, end: tiles, cluster: 2", "relu(it)", Across::kB},
    {600, 1028, 520, 1, "tile: 128x256, turns: yes, end: tiles", "gelu(it + b)", Across::kBoth},
    {256, 512, 256, 2, "tile: 128x128, end: tiles, cluster: 2", "silu(it) * u1", Across::kB},
    {200, 136, 264, 4, "tile: 128x64, end: tiles", "it * u1 + u2 * u3", Across::kBoth},
    // Short rows of K.
    {300, 16, 136, 1, "tile: 128x64, end: tiles", "it + r"},
    {300, 24, 136, 2, "tile: 64x64, end: tiles", "it * u1"},
    {600, 96, 520, 1, "tile: 128x128, turns: yes, end: tiles", "it + r"},
    {600, 152, 520, 1, "tile: 128x256, end: tiles, cluster: 2", "it * b + r"},
    {300, 32, 72, 1, "tile: 128x64, end: lines", "it"},
    // Several tiles a block, whose K and end are more stages than the ring has.
    {17000, 384, 8, 1, "tile: 128x64, turns: yes, end: tiles", "it + r"},
    {600, 328, 520, 1, "tile: 128x256, turns: yes, end: tiles, cluster: 2", "it * b + r"},
    // And with B that is kept.
    {51000, 24, 64, 1, "tile: 128x64, end: tiles", "it + r"},
    {51000, 24, 64, 1, "tile: 128x64, turns: yes, end: tiles", "it * b"},
};
// What is added lies as the result: in batches, in heads that lie side by side or apart, among more columns, twice.
constexpr std::string_view kAsTheTarget[] = {
    "input x: bf16[3, 200, 72]\ninput held: bf16[3, 136, 72]\ninput r: bf16[3, 200, 136]\n"
    "output y: bf16[3, 200, 136]\nview w = held: [3, 72, 136] strides [9792, 1, 72]\n"
    "y = matmul(x, w) with {precision: bf16, end: tiles} -> relu(it + r)",
    "input x: f16[300, 72]\ninput held: f16[256, 72]\ninput r: f16[300, 4, 64]\noutput y: f16[300, 4, 64]\n"
    "view w = held: [4, 72, 64] strides [4608, 1, 72]\n"
    "y = matmul(x, w) by {heads: 1} with {precision: f16, end: tiles} -> it + r",
    "input x: bf16[200, 72]\ninput held: bf16[256, 72]\ninput r: bf16[4, 200, 64]\noutput y: bf16[4, 200, 64]\n"
    "view w = held: [4, 72, 64] strides [4608, 1, 72]\n"
    "y = matmul(x, w) with {precision: bf16, end: tiles} -> it * r",
    "input x: bf16[300, 136]\ninput held: bf16[136, 136]\ninput more: bf16[300, 200]\ninput s: bf16[300, 136]\n"
    "output y: bf16[300, 136]\nview r = more: [300, 136] strides [200, 1] offset 8\n"
    "view w = held: [136, 136] strides [1, 136]\n"
    "y = matmul(x, w) with {precision: bf16, end: tiles, tile: 128x128, turns: yes} -> it * r + s",
};

std::string Text(const Case& one, const std::string& type) {
  return Products(one.m, one.k, one.n, one.count, fmt::format("precision: {}, {}", type, one.settings),
                  std::string(one.chain), type, "bf16", one.across);
}

using CudaProductsTest = testing::CudaProgramTest;
using ProductsOnHostTest = dsl::testing::DeviceBlocksTest;
using ProductsOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(CudaProductsTest, EveryWayCompilesAndFitsWithoutSpills) {
  for (std::size_t i = 0; i < std::size(kCases); ++i) {
    const std::string text = Text(kCases[i], i % 2 == 0 ? "bf16" : "f16");
    SCOPED_TRACE(text);
    const auto lowered = Lowered(text);
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    const auto built = Build(std::get<KernelProgram>(lowered));
    ASSERT_EQ(built.launches.size(), 1u);
    EXPECT_EQ(built.launches[0].spill_load_bytes + built.launches[0].spill_store_bytes, 0);
    EXPECT_EQ(built.log.find("C75"), std::string::npos) << built.log;
    const auto& instructions = built.launches[0].instructions;
    EXPECT_TRUE(instructions.contains("HGMMA"));
    EXPECT_EQ(instructions.contains("UTMASTG"), kCases[i].settings.find("end: lines") == std::string_view::npos);
  }
}

TEST_F(CudaProductsTest, WhatLiesAsTheTargetComesInStages) {
  for (const auto text : kAsTheTarget) {
    SCOPED_TRACE(text);
    const auto built = BuiltOf(text);
    ASSERT_EQ(built.launches.size(), 1u);
    EXPECT_TRUE(built.launches[0].instructions.contains("LDSM"));
    EXPECT_EQ(built.launches[0].spill_load_bytes + built.launches[0].spill_store_bytes, 0);
  }
  // Not what is turned, what begins between two multiples of 16 bytes, or is of other bytes.
  for (const std::string r :
       {"input r: bf16[136, 200]\nview s = r: [200, 136] strides [1, 200]",
        "input r: bf16[200, 200]\nview s = r: [200, 136] strides [200, 1] offset 2", "input s: f32[200, 136]"}) {
    const auto built = BuiltOf("input x: bf16[200, 72]\ninput w: bf16[72, 136]\n" + r +
                               "\noutput y: bf16[200, 136]\n"
                               "y = matmul(x, w) with {precision: bf16, end: tiles} -> it + s");
    EXPECT_FALSE(built.launches[0].instructions.contains("LDSM")) << r;
  }
}

// Tiles enough for each block to keep its columns of B, on a device of six multiprocessors.
constexpr std::string_view kKeeping[] = {
    "input x: bf16[3000, 72]\ninput held: bf16[136, 72]\ninput r: bf16[3000, 136]\noutput y: bf16[3000, 136]\n"
    "view w = held: [72, 136] strides [1, 72]\n"
    "y = matmul(x, w) with {precision: bf16, end: tiles, tile: 128x64} -> relu(it + r)",
    "input x: f16[2600, 24]\ninput held: f16[100, 24]\noutput y: f16[2600, 100]\n"
    "view w = held: [24, 100] strides [1, 24]\ny = matmul(x, w) with {precision: f16, end: lines, tile: 128x64}",
    "input x: bf16[2600, 96]\ninput w0: bf16[64, 96]\ninput w1: bf16[64, 96]\noutput y: bf16[2600, 64]\n"
    "view v = w0: [96, 64] strides [1, 96]\nview u = w1: [96, 64] strides [1, 96]\n"
    "y = matmul(x, v) with {precision: bf16, end: tiles, tile: 128x64, cluster: 1}\n  let g = product(u)\n  -> it * g",
    "input x: bf16[2600, 96]\ninput held: bf16[64, 96]\noutput y: bf16[2600, 64]\n"
    "view w = held: [96, 64] strides [1, 96]\n"
    "y = matmul(x, w) with {precision: bf16, end: tiles, tile: 128x64, cluster: 2} -> it * 2",
    "input x: bf16[2, 16, 40, 40]\ninput w: bf16[32, 16, 3, 3]\ninput u: bf16[16, 32, 1, 1]\noutput y: bf16[2, 16, 40, "
    "40]\n"
    "h: bf16 = conv(x, w) by {padding: 1} with {path: tiles, layout: channels_last, tile: 128x64} -> relu(it)\n"
    "y = conv(h, u) with {path: tiles, tile: 128x64}",
};
DeviceModel FewProcessors() {
  DeviceModel device = TypicalDevice();
  device.multiprocessors = 6;
  return device;
}

TEST_F(CudaProductsTest, AGatedLayerIsOneKernelUnlessItIsToBeApart) {
  const auto launches = [&](const std::string& settings, const std::string& type = "bf16") {
    const auto lowered = Lowered(Products(512, 512, 512, 2, settings, "silu(it) * u1", type, type));
    EXPECT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    return Build(std::get<KernelProgram>(lowered)).plan.steps.size();
  };
  EXPECT_EQ(launches(""), 1u);
  EXPECT_EQ(launches("products: apart"), 2u);
  EXPECT_EQ(launches("precision: simt"), 2u);
  EXPECT_GT(launches("precision: f32x3", "f32"), 2u);  // packed, too
}

TEST_F(CudaProductsTest, HalvesTakeTurnsWhereKIsShort) {
  const auto turns = [&](std::int64_t m, std::int64_t k, const std::string& settings = "") {
    const auto lowered = Lowered(Products(m, k, 2048, 1, settings, "gelu(it + b)"));
    EXPECT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    return dsl::ToString(std::get<KernelProgram>(lowered).kernels[0].settings.at("turns"));
  };
  EXPECT_EQ(turns(16384, 768), "yes");
  EXPECT_EQ(turns(16384, 2048), "no");
  EXPECT_EQ(turns(16384, 768, "tile: 128x128"), "no");
  EXPECT_EQ(turns(1024, 768, "tile: 128x256"), "no");  // one tile a multiprocessor at most
}

TEST_F(CudaProductsTest, WhatCannotBeIsSaid) {
  const auto complaint = [&](const std::string& settings, int count = 2, std::int64_t n = 512,
                             const std::string& result = "bf16") {
    const auto lowered = Lowered(Products(512, 512, n, count, settings, "it", "bf16", result));
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(
      complaint("products: together, precision: simt"),
      "'products' together: only operands of 16 bits that are read where they lie are multiplied together; try apart");
  EXPECT_EQ(complaint("products: together", 1), "'products' together: there is one product; remove it");
  EXPECT_EQ(complaint("tile: 128x256"),
            "'tile' 128x256: 2 products of 256 columns are more than the registers hold, 256; try 128x128");
  EXPECT_EQ(complaint("end: tiles", 1, 500),
            "'end' tiles: rows of the result do not begin at multiples of 16 bytes; try lines");
  EXPECT_EQ(complaint("end: tiles", 1, 512, "f32"), "'end' tiles: tiles are of 16-bit results; try lines");
  EXPECT_EQ(complaint("tile: 64x256, turns: yes", 1), "'turns' yes: a tile of 64 rows has no halves; try no");
  EXPECT_EQ(complaint("tile: 128x256, turns: yes, split: 2", 1),
            "'split' 2: a tile's halves in turns are of all K; try 1");
  const auto lowered = Lowered(
      "input x: bf16[512, 512]\ninput w: bf16[512, 512]\nview t = w: [512, 512] strides [1, 512]\n"
      "output y: bf16[512, 512]\ny = matmul(x, w) with {products: together}\n  let u = product(t)\n  -> it * u");
  ASSERT_TRUE(std::holds_alternative<dsl::Complaint>(lowered));
  EXPECT_EQ(std::get<dsl::Complaint>(lowered).message,
            "'products' together: some of what A is multiplied with lies along K and some across it; try apart");
  const auto nothing = Lowered(Products(300, 0, 64, 1, "precision: bf16", "it"));
  ASSERT_TRUE(std::holds_alternative<dsl::Complaint>(nothing));
  EXPECT_EQ(std::get<dsl::Complaint>(nothing).message,
            "'precision' bf16: K is 0: there is nothing to multiply; try simt");
  EXPECT_EQ(complaint("precision: f16, end: lines", 1),
            "'end' lines: only products of operands that lie as they are multiplied have it; remove it");
}

TEST_F(ProductsOnHostTest, BlocksComputeWhatTheySay) {
  const auto expect = [this](std::string_view text) {  // nothing stands in for turns
    if (text.find("turns") == std::string_view::npos) ExpectBlocksSay(text, 0x1p-7);
  };
  for (const auto text : kAsTheTarget) expect(text);
  for (const auto text : kKeeping) {
    const auto lowered = dsl::Lower(fmt::format("program p\n{}\n", text), nullptr, FewProcessors());
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    EXPECT_NE(dsl::EmitCuda(std::get<KernelProgram>(lowered)).sources[0].text.find("&kept[0]"), std::string::npos)
        << text;
    ExpectBlocksSay(text, 0x1p-7, FewProcessors());
  }
  for (const Case& one : kCases) {
    if (one.k < 100 && one.across == Across::kNone) expect(Text(one, "bf16"));
  }
}

TEST_F(ProductsOnDeviceTest, ItComputesWhatTheProgramSays) {
  for (const Case& one : kCases) {
    if (one.m * one.k * one.n > 200'000'000) continue;  // the interpreter is slow
    for (const std::string type : {"bf16", "f16"}) {
      SCOPED_TRACE(Text(one, type));
      ExpectWhatItSays(Text(one, type), 0x1p-7);
    }
  }
  for (const auto text : kAsTheTarget) ExpectWhatItSays(text, 0x1p-7);
}

}  // namespace
}  // namespace hone
