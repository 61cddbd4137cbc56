// Few rows times numbers of 8 bits and whole ones of 4: compiled without spills, on the tensor cores, the default where
// there are columns, refused in a line elsewhere, and what the program says. The last is skipped where there is no
// device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dsl/testing/device_program.h"
#include "dsl/way.h"

namespace hone {
namespace {

using dsl::KernelProgram;

struct Layer {
  std::int64_t m = 16, n = 128, k = 1024, group = 128;
  std::string type = "bf16", stored = "i8", number = "real(w[n, k * {G} + l])", scaled = "{N} * s[n, k]", end = "{S}";
  std::string settings = {};
  bool across = false;  // w[k, n], s[k, n] and z[k, n]
  std::string table = "f32[16]";
};

std::string Replaced(std::string text, const std::string& what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}
const std::string kFour = "select(p == 0, and(w[n, k * {H} + l], 15), floordiv(w[n, k * {H} + l], 16))";

// Places in a table, that the number's place in the byte chooses; powers of two, of bytes up to 99.
const std::string kInTable = "select(p == 0, t[and(w[n, k * {H} + l], 15)], t[floordiv(w[n, k * {H} + l], 16)])",
                  kPower = "{N} * pow(2, real(e[n, k]) - 50)";

const std::string kReal = "w[n, k * {G} + l]";

std::string Text(const Layer& layer) {
  const bool four = layer.number.find("{H}") != std::string::npos;
  const std::string over = four ? "k < {K}, l < {H}, p < 2" : "k < {K}, l < {G}";
  const std::string at = four ? "k * {G} + l * 2 + p" : "k * {G} + l";
  std::string text = fmt::format(
      "input x: {0}[{1}, {3}]\nparam w: {4}[{2}, {5}]\nparam s: {0}[{2}, {{K}}]\nparam z: {0}[{2}, {{K}}]\n"
      "param b: f32[{2}]\nparam t: {7}\nparam a: f32[{2}, {{K}}]\nparam e: u8[{2}, {{K}}]\noutput y: {0}[{1}, {2}]\n"
      "y = nest [m < {1}, n < {2}] ({6})",
      layer.type, layer.m, layer.n, layer.k, layer.stored, four ? layer.k / 2 : layer.k, layer.end, layer.table);
  text = Replaced(text, "{S}", fmt::format("sum [{}] (x[m, {}] * ({}))", over, at, layer.scaled));
  text = Replaced(text, "{N}", layer.number);
  if (layer.across) {
    text = Replaced(text, fmt::format("w: {}[{}, {}]", layer.stored, layer.n, layer.k),
                    fmt::format("w: {}[{}, {}]", layer.stored, layer.k, layer.n));
    text = Replaced(text, fmt::format("[{}, {{K}}]", layer.n), fmt::format("[{{K}}, {}]", layer.n));
    text = Replaced(text, "w[n, k * {G} + l]", "w[k * {G} + l, n]");
    text = Replaced(text, "[n, k]", "[k, n]");
  }
  text = Replaced(text, "{K}", std::to_string(layer.k / layer.group));
  text = Replaced(text, "{G}", std::to_string(layer.group));
  text = Replaced(text, "{H}", std::to_string(layer.group / 2));
  return layer.settings.empty() ? text : fmt::format("{} with {{{}}}", text, layer.settings);
}

// Both types, with and without signs, all orders of a byte's halves, zeros, one row and all, columns and depths that no
// block divides.
const std::vector<Layer> kLayers = {
    {},
    {.m = 1, .n = 512, .k = 4096, .group = 4096, .scaled = "{N}", .end = "{S} * b[n]"},
    {.m = 5, .n = 70, .k = 208, .group = 16, .type = "f16", .end = "relu({S} + b[n])"},
    {.m = 64, .n = 200, .k = 512, .stored = "u8", .scaled = "({N} - z[n, k]) * s[n, k]"},
    {.m = 13, .type = "f16", .stored = "u8", .number = "real(w[n, k * {G} + l] - 100)"},
    {.stored = "u8", .number = "real(" + kFour + ")", .scaled = "({N} - 8) * s[n, k]"},
    {.m = 33, .n = 100, .k = 1056, .group = 32, .stored = "u8", .number = "real(" + kFour + " - 8)"},
    {.m = 3, .type = "f16", .stored = "u8", .number = "real(" + kFour + ")", .scaled = "({N} - z[n, k]) * s[n, k]"},
    {.m = 8, .stored = "i8", .number = "real(" + Replaced(kFour, "p == 0", "p == 1") + ")"},
    {.m = 8, .n = 1000, .k = 512, .stored = "u8", .number = "real(" + kFour + ")", .scaled = "{N} * s[n, k] - z[n, k]"},
    {.m = 16,
     .stored = "i8",
     .number = "real(" + kFour + ")",
     .settings = "way: weights, columns: 64, warps: 4, loads: 1"},
    {.m = 5, .n = 70, .k = 208, .group = 16, .settings = "way: weights, columns: 32"},
    {.m = 9,
     .n = 5000,
     .k = 256,
     .stored = "u8",
     .number = "real(" + kFour + ")",
     .scaled = "({N} - z[n, k]) * s[n, k]",
     .settings = "way: weights, warps: 1, loads: 1"},
    {.m = 16,
     .n = 2200,
     .k = 160,
     .group = 32,
     .type = "f16",
     .stored = "u8",
     .number = "real(" + kFour + ")",
     .settings = "way: weights, columns: 16, warps: 2"},
    {.m = 16,
     .n = 200,
     .k = 2048,
     .stored = "u8",
     .number = "real(" + kFour + ")",
     .scaled = "({N} - z[n, k]) * s[n, k]"},
    // Places in tables.
    {.m = 1, .n = 512, .group = 64, .stored = "u8", .number = kInTable, .scaled = "{N} * a[n, k]"},
    {.m = 16,
     .n = 200,
     .k = 960,
     .group = 32,
     .stored = "u8",
     .number = kInTable,
     .scaled = kPower,
     .table = "bf16[16]"},
    {.m = 9, .k = 4096, .group = 4096, .type = "f16", .stored = "u8", .number = "t[" + kFour + "]", .scaled = "{N}"},
    {.m = 16,
     .n = 208,
     .k = 512,
     .type = "f16",
     .stored = "i8",
     .number = Replaced("t[and(" + kFour + ", 15)]", "p == 0", "p == 1"),
     .scaled = "{N} * s[n, k]",
     .settings = "way: weights, columns: 64",
     .table = "f16[16]"},
    // Reals of 8 bits.
    {.m = 12, .k = 4096, .stored = "f8e4m3", .number = kReal},
    {.m = 1, .n = 10000, .k = 512, .group = 512, .stored = "f8e4m3", .number = kReal, .scaled = "{N}"},
    {.m = 5, .n = 70, .k = 208, .group = 16, .type = "f16", .stored = "f8e4m3", .number = kReal},
    {.m = 16, .n = 200, .k = 512, .stored = "f8e5m2", .number = kReal, .scaled = "({N} - 3) * s[n, k]"},
    {.m = 64, .n = 200, .k = 512, .type = "f16", .stored = "f8e5m2", .number = kReal, .end = "relu({S} + b[n])"},
    // Across K: all loads and settings, columns and depths that no block divides.
    {.n = 256, .k = 1024, .group = 1024, .scaled = "{N}", .end = "{S} * b[n]", .across = true},
    {.n = 10240, .k = 64, .group = 64, .scaled = "{N}", .end = "{S} * b[n]", .across = true},
    {.m = 1, .n = 112, .k = 200, .group = 8, .across = true},
    {.m = 13,
     .n = 2000,
     .k = 512,
     .type = "f16",
     .stored = "u8",
     .scaled = "({N} - z[n, k]) * s[n, k]",
     .across = true},
    {.m = 64, .n = 208, .k = 512, .number = "real(w[n, k * {G} + l] - 100)", .across = true},
    {.n = 208, .k = 512, .stored = "u8", .scaled = "({N} - 128) * s[n, k]", .across = true},
    {.m = 9,
     .n = 10000,
     .k = 80,
     .group = 40,
     .type = "f16",
     .stored = "f8e4m3",
     .number = kReal,
     .settings = "way: weights, columns: 128, warps: 4, loads: 1",
     .across = true},
    {.m = 9,
     .n = 144,
     .k = 256,
     .stored = "i8",
     .settings = "way: weights, columns: 128, warps: 2, loads: 2",
     .across = true},
    {.m = 33,
     .n = 512,
     .k = 1024,
     .stored = "f8e5m2",
     .number = kReal,
     .settings = "way: weights, columns: 64, loads: 4",
     .across = true},
};

// Numbers of 4 bits, eight in a word of 32.
struct Words {
  enum class Of { kDepth, kColumns, kDepthAlong };  // w[k / 8, n], w[k, n / 8], w[n, k / 8]
  Of of = Of::kDepth;
  std::int64_t m = 16, n = 128, k = 256, group = 128;
  std::string type = "f16", scales = "f16";
  std::string number = "real({W} - {Z})", settings = {};
  bool in_awq_order = false;  // columns 0, 2, 4, 6, 1, 3, 5, 7
};

// The four bits of this number of a word.
std::string Nibble(const std::string& word, const std::string& number) {
  std::string power = "1";
  for (const auto& [bit, factor] : {std::pair{1, 16}, std::pair{2, 256}, std::pair{4, 65536}})
    power += fmt::format(" * select(0 < and({}, {}), {}, 1)", number, bit, factor);
  return fmt::format("and(floordiv({}, {}), 15)", word, power);
}

std::string Text(const Words& layer) {
  using Of = Words::Of;
  const bool columns = layer.of == Of::kColumns;
  const std::string column = layer.in_awq_order ? "(mod(c, 2) * 4 + floordiv(c, 2))" : "c";
  const std::string depth = fmt::format("(g * {} + l)", columns ? layer.group : layer.group / 8);
  const std::string words = layer.of == Of::kDepth     ? fmt::format("w[{}, n * 8 + c]", depth)
                            : layer.of == Of::kColumns ? fmt::format("w[{}, n]", depth)
                                                       : fmt::format("w[n * 8 + c, {}]", depth);
  const std::int64_t k8 = layer.k / 8, n8 = layer.n / 8, groups = layer.k / layer.group;
  const std::string shape = layer.of == Of::kDepth     ? fmt::format("{}, {}", k8, layer.n)
                            : layer.of == Of::kColumns ? fmt::format("{}, {}", layer.k, n8)
                                                       : fmt::format("{}, {}", layer.n, k8);
  const std::string number =
      Replaced(Replaced(layer.number, "{W}", Nibble(words, columns ? column : "h")), "{Z}", Nibble("z[g, n]", column));
  std::string text = fmt::format(
      "input x: {0}[{1}, {2}]\nparam w: i32[{3}]\nparam z: i32[{4}, {5}]\nparam s: {6}[{4}, {5}, 8]\n"
      "output y: {0}[{1}, {5}, 8]\n"
      "y = nest [m < {1}, n < {5}, c < 8] (sum [g < {4}, l < {7}{8}] (x[m, {9}] * ({10} * s[g, n, c])))",
      layer.type, layer.m, layer.k, shape, groups, n8, layer.scales, columns ? layer.group : layer.group / 8,
      columns ? "" : ", h < 8", columns ? depth : fmt::format("{} * 8 + h", depth), number);
  return layer.settings.empty() ? text : fmt::format("{} with {{{}}}", text, layer.settings);
}

// All three layouts, both types, scales of f32, zeros one higher and none, columns and depths that no block divides.
const std::vector<Words> kWords = {
    {.k = 512},
    {.m = 3, .n = 128, .k = 4096, .type = "bf16", .scales = "bf16"},
    {.m = 5, .n = 80, .k = 320, .group = 32, .scales = "f32"},
    {.m = 1, .n = 10000, .k = 256, .type = "bf16", .scales = "f32", .number = "real({W} - ({Z} + 1))"},
    {.m = 64, .n = 208, .number = "real({W} - 8)"},
    {.n = 512, .settings = "way: weights, columns: 128, warps: 4, loads: 2"},
    {.n = 80, .settings = "way: weights, columns: 16, warps: 2, loads: 4"},
    {.of = Words::Of::kColumns, .n = 512, .in_awq_order = true},
    {.of = Words::Of::kColumns, .m = 1, .n = 10048, .k = 72, .group = 8, .type = "bf16", .scales = "f32"},
    {.of = Words::Of::kColumns, .m = 33, .n = 320, .number = "(real({W}) - real({Z}))", .in_awq_order = true},
    {.of = Words::Of::kColumns, .n = 320, .settings = "way: weights, columns: 64, loads: 2"},
    {.of = Words::Of::kColumns, .n = 320, .settings = "way: weights, columns: 128, warps: 2", .in_awq_order = true},
    {.of = Words::Of::kDepthAlong, .n = 128, .k = 512},
    {.of = Words::Of::kDepthAlong, .m = 5, .n = 200, .k = 320, .group = 32, .type = "bf16", .scales = "f32"},
    {.of = Words::Of::kDepthAlong, .m = 3, .n = 72, .k = 4096, .scales = "f32", .number = "real({W} - 8)"},
};

// Scales of blocks, of so many columns and so many of K: fp8 as large models store it.
std::string BlocksText(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& type) {
  return fmt::format(
      "input x: {3}[{0}, {2}]\nparam w: f8e4m3[{1}, {2}]\nparam s: f32[{4}, {5}]\noutput y: {3}[{0}, {1}]\n"
      "y = nest [m < {0}, g < {4}, n < 128] (sum [k < {5}, l < 128] (x[m, k * 128 + l] * (w[g * 128 + n, k * 128 + l] "
      "* "
      "s[g, k])))",
      m, n, k, type, n / 128, k / 128);
}

std::vector<std::string> AllTexts() {
  std::vector<std::string> texts = {Replaced(BlocksText(16, 512, 1024, "bf16"), "y = nest", "y: [16, 512] = nest"),
                                    Replaced(BlocksText(5, 1280, 256, "f16"), "y = nest", "y: [5, 1280] = nest")};
  for (const Layer& layer : kLayers) texts.push_back(Text(layer));
  for (const Words& layer : kWords) texts.push_back(Text(layer));
  return texts;
}

using NestWeightsTest = testing::CudaProgramTest;
using NestWeightsOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(NestWeightsTest, NumbersAreReadAsTheyLieWithoutSpills) {
  for (const std::string& text : AllTexts()) {
    SCOPED_TRACE(text);
    const auto lowered = Lowered(text);
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    EXPECT_EQ(std::get<KernelProgram>(lowered).kernels[0].way->name, "weights");
    const auto built = BuiltOf(text);
    ASSERT_EQ(built.launches.size(), 1u);
    EXPECT_EQ(built.launches[0].spill_load_bytes + built.launches[0].spill_store_bytes, 0);
    EXPECT_TRUE(built.launches[0].instructions.contains("HMMA"));
  }
}

TEST_F(NestWeightsTest, WhatCannotBeIsSaid) {
  const auto asked_for = [&](auto layer) {
    layer.settings = "way: weights";
    const auto lowered = Lowered(Text(layer));
    const auto* complaint = std::get_if<dsl::Complaint>(&lowered);
    return complaint ? complaint->message : std::string("taken");
  };
  const auto said = [&](const Layer& layer) { return asked_for(layer); };
  const auto said_of_words = [&](const Words& layer) { return asked_for(layer); };
  EXPECT_EQ(said({.m = 65}), "'way' weights: it holds all 65 rows at once, 64 are possible; try elements");
  EXPECT_EQ(said({.scaled = "{N} * b[m]"}),
            "'way' weights: a scale, or a zero, is no element of f32 or of as many bits as x has, or varies with its "
            "rows; try dots");
  EXPECT_EQ(said({.scaled = "exp({N})"}),
            "'way' weights: what is done to its numbers is more than to add and to multiply; try dots");
  EXPECT_EQ(said({.k = 1000, .group = 1000}),
            "'way' weights: it reads 16 bytes at a time along what is summed, and an operand does not lie so; try "
            "dots");
  EXPECT_EQ(said({.n = 136, .across = true}),
            "'way' weights: it reads up to 16 neighbouring columns at a time, and those of its numbers do not lie so; "
            "try elements");
  EXPECT_EQ(said({.group = 4, .across = true}),
            "'way' weights: a scale, or a zero, is for 4 numbers, and a thread has 8 at once; try elements");
  EXPECT_EQ(said({.stored = "f8e4m3", .number = "exp(" + kReal + ")"}),
            "'way' weights: what is done to its numbers is more than to add and to multiply; try elements");
  EXPECT_EQ(said({.group = 16, .stored = "u8", .number = "real(" + kFour + ")"}),
            "'way' weights: a scale, or a zero, is for 16 numbers, and a thread has 32 at once; try elements");
  EXPECT_EQ(said_of_words({.number = "real({W} - ({Z} - 1))"}),
            "'way' weights: its zeros are -1 higher than their bits say, 0 to 96 are possible; try elements");
  EXPECT_EQ(said_of_words({.number = "real(and({W}, 7) - {Z})"}),
            "'way' weights: what is done to its numbers is more than to add and to multiply; try elements");
  EXPECT_EQ(said_of_words({.number = "(real({W}) * 2 - real({Z}))"}),
            "'way' weights: zeros of words are not what is taken from its numbers first; try elements");
  EXPECT_EQ(said_of_words({.of = Words::Of::kColumns, .n = 136}),
            "'way' weights: it reads up to 64 neighbouring columns at a time, and those of its numbers do not lie so; "
            "try elements");
  EXPECT_EQ(said({.number = "real(mod(w[n, k * {G} + l], 7))"}),
            "'way' weights: what is done to its numbers is more than to add and to multiply; try elements");
}

TEST_F(NestWeightsOnDeviceTest, ComputesWhatTheProgramSays) {
  for (const std::string& text : AllTexts()) {
    SCOPED_TRACE(text);
    ExpectWhatItSays(text, 2e-2, Wholes::kAnyBits);
  }
}

}  // namespace
}  // namespace hone
