// Outputs that are written into inputs: what a text may say of them, and that both kinds of machines write them in
// place.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"
#include "dsl/testing/module.h"
#include "dsl/way.h"

namespace hone::dsl {
namespace {

constexpr std::string_view kCache = R"(input x: f32[3, 2, 16]
input at: i64[1]
input slots: i64[5]
input cache: f32[3, 40, 16]
)";

std::string Complained(const std::string& text) {
  auto lowered = Lower("program p\n" + text, nullptr, {});
  const auto* complaint = std::get_if<Complaint>(&lowered);
  return complaint ? complaint->message : "";
}

TEST(UpdatesTest, ATextIsPrintedAsItWas) {
  const std::string text =
      "program p\ninput updates: f32[4]\noutput \"y\": f32[4] updates updates\ny = map(updates) -> it + 1\n";
  auto parsed = Parse(text);
  ASSERT_TRUE(std::holds_alternative<Program>(parsed)) << ToString(std::get<Complaint>(parsed));
  EXPECT_EQ(std::get<Program>(parsed).declarations[1].updates, "updates");
  EXPECT_NE(Print(std::get<Program>(parsed)).find("output y: f32[4] updates updates\n"), std::string::npos);
  // A value of that name is none of it.
  EXPECT_EQ(Complained("input x: f32[4]\noutput y: f32[4]\nupdates = map(x) -> it\ny = map(updates)"), "");
}

TEST(UpdatesTest, WhatCannotBeWrittenIntoIsRefused) {
  EXPECT_EQ(Complained("input x: f32[4]\noutput y: f32[4] updates z\ny = map(x)"),
            "'y' updates 'z', which is not declared; did you mean 'x'?");
  EXPECT_EQ(Complained("input x: f32[4]\nparam w: f32[4]\noutput y: f32[4] updates w\ny = map(x)"),
            "'y' updates 'w', which is no input");
  EXPECT_EQ(Complained("input x: f32[2, 2]\noutput y: f32[4] updates x\ny: [4] = map(x)"),
            "'y' is f32[4] and updates 'x', which is f32[2, 2]: they have to agree");
  EXPECT_EQ(Complained("input x: f32[4]\noutput y: f32[4] updates x\noutput z: f32[4] updates x\n"
                       "y = map(x)\nz = map(y)"),
            "'z' is the second that updates 'x'");
}

TEST(UpdatesTest, AnInputIsReadBeforeItIsWrittenInto) {
  const std::string head = "input x: f32[4]\noutput y: f32[4] updates x\noutput z: f32[4]\n";
  EXPECT_EQ(Complained(head + "z = map(x) -> it * 2\ny = map(x) -> it + 1"), "");
  EXPECT_EQ(Complained(head + "y = map(x) -> it + 1\nz = map(y) -> it * 2"), "");
  EXPECT_EQ(Complained(head + "y = map(x) -> it + 1\nz = map(x) -> it * 2"),
            "'x' is read after 'y' has been written into it: read 'y', or move this statement up");
  EXPECT_EQ(Complained(head + "view turned = x: [4] strides [-1] offset 3\ny = map(x) -> it + 1\nz = map(turned)"),
            "'turned' is read after 'y' has been written into it: read 'y', or move this statement up");
}

TEST(UpdatesTest, AStatementReadsTheElementThatItWrites) {
  const std::string head = "input x: f32[4, 96]\noutput y: f32[4, 96] updates x\n";
  const std::string other =
      "'y' is written into 'x', of which a map, a nest, a norm or a softmax may read the element that it writes, and a "
      "nest others of a row of up to 64: make a value of it first, and 'y = map(...)' of that";
  EXPECT_EQ(Complained(head + "y = nest [i < 4, j < 96] (select(j == 2, 0, x[i, j]))"), "");
  EXPECT_EQ(Complained(head + "y = nest [i < 4, j < 96] (x[i, 95 - j])"), other);
  EXPECT_EQ(Complained(head + "y = nest [i < 4, j < 96] (sum [k < 96] (x[i, k]))"), other);
  EXPECT_EQ(Complained(head + "view t = x: [4, 96] strides [1, 4]\ny = map(t)"), other);
  EXPECT_EQ(Complained(head + "y = scan sum(x) over [1]"), other);
  EXPECT_EQ(Complained(head + "output z: f32[4, 96]\ny = map(x) -> it + 1 also z = x * 2"), "");
  EXPECT_EQ(Complained(head + "view t = x: [4, 96] strides [1, 4]\noutput z: f32[4, 96]\ny = map(x) also z = t"),
            other);
}

TEST(UpdatesTest, ANormReadsTheRowsThatItWrites) {
  const std::string head = "input x: f32[4, 96]\ninput s: f32[4, 1]\noutput y: f32[4, 96] updates x\n",
                    row = "output z: f32[4, 1] updates s\n", other = "'{0}' is written into '{1}'";
  EXPECT_EQ(Complained(head + "y = softmax(x) over [1]"), "");
  EXPECT_EQ(Complained(head + "y = norm(x) over [1] let m = sum(it) -> it / m"), "");
  EXPECT_EQ(Complained(head + "y = norm(x) over [0] let m = sum(it * s) -> x / m"), "");
  EXPECT_EQ(Complained(head + row + "y = norm(x) over [1] let m = sum(it) -> it also z: [4, 1] = s + m"), "");
  EXPECT_NE(Complained(head + "view t = x: [4, 96] strides [96, -1] offset 95\n"
                              "y = norm(x) over [1] let m = sum(it * t) -> it / m"),
            "");
  // What a row has one of is read by all of its elements.
  EXPECT_NE(Complained(head + row + "y = norm(x) over [1] let m = sum(it) -> it * s also z: [4, 1] = s + m"), "");
  EXPECT_NE(Complained(head + row + "y = norm(x * s) over [1] let m = sum(it) -> it also z: [4, 1] = m"), "");
}

TEST(UpdatesTest, ANestReadsTheShortRowThatItWrites) {
  const std::string head = "input x: f32[4, 3, 6]\ninput w: f32[4, 3]\noutput y: f32[4, 3, 6] updates x\n";
  const auto chosen = [&](const std::string& nest) {
    const auto lowered = Lower("program p\n" + head + nest, nullptr, {});
    const auto* program = std::get_if<KernelProgram>(&lowered);
    return program == nullptr ? ToString(std::get<Complaint>(lowered)) : std::string(program->kernels[0].way->name);
  };
  EXPECT_EQ(chosen("y = nest [i < 4, l < 3, j < 6] (x[i, l, 5 - j])"), "window");
  EXPECT_EQ(chosen("y = nest [i < 4, l < 3, j < 6] (x[i, 2 - l, j])"), "window") << "of 18 elements";
  EXPECT_EQ(chosen("y = nest [i < 4, l < 3, j < 6] (sum [k < 6] (x[i, l, k]) + x[i, l, j])"), "window");
  EXPECT_EQ(chosen("view v = x: [12, 5] strides [6, 1] offset 1\n"
                   "y: [4, 3, 6] = nest [r < 12, j < 6] (select(j < 5, v[r, j], 0))"),
            "window");
  EXPECT_EQ(chosen("y = nest [i < 4, l < 3, j < 6] (x[i, l, j] + w[i, l])"), "elements");
  const std::string elements = chosen("y = nest [i < 4, l < 3, j < 6] (x[i, l, 5 - j]) with {way: elements}");
  EXPECT_NE(elements.find("it may have written what is still to be read of the row that it updates; try window"),
            std::string::npos)
      << elements;
  EXPECT_NE(Complained(head + "y = nest [i < 4, l < 3, j < 6] (x[3 - i, l, j])"), "") << "of 72";
}

// Pieces of caches that are written: by one place, by a range, beyond the end, by a condition out of data, all.
const std::string kNests[] = {
    "select(j == at[0], x[i, 0, k], cache[i, j, k])",
    "select(7 <= j, select(j < 9, x[i, j - 7, k], cache[i, j, k]), cache[i, j, k])",
    "select(select(7 <= j, int(j < 9), 0) > 0, x[i, select(j > 7, 1, 0), k], cache[i, j, k])",
    "select(j + 3 == at[0], x[i, 1, k] * 2, cache[i, j, k])",
    "select(x[i, 0, k] > 0, x[i, 1, 15 - k], cache[i, j, k])",
    "select(j == 39, cache[i, j, k], x[i, 1, k])",
    "select(j < 0, x[i, 0, k], cache[i, j, k])",
    "cache[i, j, k] * 0.5 + x[i, 1, k]",
    "select(0 <= max [m < 5] (select(mod(slots[m], 7) == j, m, -1)), x[i, mod(max [m < 5] (select(mod(slots[m], 7) == "
    "j, m, -1)), 2), "
    "k], "
    "cache[i, j, k])",
    "select(and(j == 5, j < 3), x[i, 0, k], cache[i, j, k])",
    "select(and(2 < j, j == 2), x[i, 0, k], cache[i, j, k])",
    "select(and(j == at[0], j < 99), x[i, 0, k], cache[i, j, k])",
};

TEST(UpdatesTest, AProcessorWritesInPlace) {
  std::mt19937 random(3);
  for (const auto& nest : kNests) {
    for (const std::string with : {"", " with {way: elements}"}) {
      testing::ExpectRight(testing::MustCheck(fmt::format("program p\n{}output after: f32[3, 40, 16] updates cache\n"
                                                          "output y: f32[3, 16]\nafter = nest [i < 3, j < 40, k < 16] "
                                                          "({}){}\ny = reduce sum(after) over [1]",
                                                          kCache, nest, with)),
                           2, random);
    }
  }
}

// Each of the results needs what another one replaces.
const std::string kStep = R"(input x: {0}[7, 33]
input a: {0}[7, 33]
input b: {0}[7, 33]
output c: {0}[7, 33] updates a
output y: f32[7, 33]
output d: {0}[7, 33] updates b
c = map(a){1} -> it * 0.5 + b
  also y = a + x * b
  also d = b + a)";

TEST(UpdatesTest, SeveralResultsAreMadeOfWhatWasThere) {
  std::mt19937 random(4);
  const std::string text = "program p\n" + fmt::format(fmt::runtime(kStep), "f32", "");
  testing::ExpectRight(testing::MustCheck(text), 2, random);
}

// A state that decays by what there is one of a row, and the sum of each row of what it becomes; a further result of
// what was there; what there is one of a row, written into what there was; rows and columns; softmax.
const std::string kFolds[] = {
    "input x: {0}[7, {1}]\ninput a: {0}[7, {1}]\ninput c: {0}[{1}]\ninput d: {0}[7]\noutput after: {0}[7, {1}] "
    "updates a\noutput y: f32[7]\nview e = d: [7, 1] strides [1, 0]\n"
    "after = norm(a * exp(c * softplus(e)) + x * softplus(e)) over [1]{2}\n  let s = sum(it * c)\n  -> it\n"
    "  also y: [7] = s * sigmoid(e) + 2",
    "input x: {0}[7, {1}]\ninput a: {0}[7, {1}]\noutput after: {0}[7, {1}] updates a\noutput z: f32[7, {1}]\n"
    "after = norm(a) over [1]{2}\n  let m = max_over(it)\n  let s = sum(it - m + x)\n  -> it * 0.5 + s\n"
    "  also z = it * x + m",
    "input a: {0}[7, {1}]\ninput b: {0}[7, {1}]\ninput d: {0}[7, 1]\noutput y: f32[7, {1}]\noutput after: "
    "{0}[7, {1}] updates b\noutput most: {0}[7, 1] updates d\ny = norm(a + b) over [1]{2}\n  let m = max_over(it)\n"
    "  -> it - m\n  also after = b * 0.5 + a\n  also most: [7, 1] = max(d, m)",
    "input a: {0}[7, {1}]\noutput after: {0}[7, {1}] updates a\nafter = softmax(a * 0.5) over [1]{2}",
    "input a: {0}[7, {1}]\noutput after: {0}[7, {1}] updates a\noutput z: f32[7, {1}]\n"
    "after = norm(a) over [0]{3}\n  let m = mean(it)\n  let v = mean(square(it - m))\n  -> (it - m) * rsqrt(v + 0.1)\n"
    "  also z = it - m",
};

std::string Folding(const std::string& fold, const std::string& type, int row, const std::string& with) {
  const bool columns = fold.find("over [0]") != std::string::npos;
  return fmt::format(fmt::runtime(fold), type, row, columns ? "" : with, columns ? with : "");
}

TEST(UpdatesTest, ANormWritesInPlaceOnAProcessor) {
  std::mt19937 random(5);
  for (const auto& fold : kFolds) {
    for (const int row : {33, 3000}) {
      for (const std::string with : {"", " with {split: 3}", " with {accumulators: 2}", " with {threads: 1}"})
        testing::ExpectRight(testing::MustCheck("program p\n" + Folding(fold, "f32", row, with)), 2, random);
      for (const std::string fetch : {"row", "ahead"}) {
        if (fold.find("over [0]") == std::string::npos)
          testing::ExpectRight(
              testing::MustCheck("program p\n" + Folding(fold, "f32", row, " with {prefetch: " + fetch + "}")), 2,
              random);
      }
    }
  }
  for (const std::string passes : {"three", "online"})
    testing::ExpectRight(
        testing::MustCheck("program p\n" + Folding(kFolds[3], "f32", 9000, " with {passes: " + passes + "}")), 2,
        random);
  EXPECT_NE(Complained(Folding(kFolds[3], "f32", 9000, " with {passes: blocks}")).find("try online"),
            std::string::npos);
}

// Windows that move on, in one dimension and in two, turned, with a fold of the row, with an element that is looked up
// in it; rows that are no pack, and all of it as one.
const std::string kWindows[] = {
    "input w: {0}[50, 9, 4]\ninput x: {0}[50, 9]\noutput after: {0}[50, 9, 4] updates w\n"
    "after = nest [i < 50, c < 9, j < 4] (select(j < 3, w[i, c, j + 1], x[i, c])){1}",
    "input w: {0}[50, 9, 7]\ninput x: {0}[50, 9]\noutput after: {0}[50, 9, 7] updates w\n"
    "view v = w: [450, 7] strides [7, 1]\nview u = x: [450] strides [1]\n"
    "after: [50, 9, 7] = nest [r < 450, j < 7] (select(0 < j, v[r, j - 1], u[r])){1}",
    "input w: {0}[50, 4, 8]\ninput x: {0}[50, 8]\noutput after: {0}[50, 4, 8] updates w\n"
    "after = nest [i < 50, l < 4, j < 8] (select(l < 3, w[i, l + 1, j], x[i, j])){1}",
    "input w: {0}[50, 64]\noutput after: {0}[50, 64] updates w\nafter = nest [i < 50, j < 64] (w[i, 63 - j] * 0.5){1}",
    "input w: {0}[50, 6]\noutput after: {0}[50, 6] updates w\n"
    "after = nest [i < 50, j < 6] (w[i, j] - sum [k < 6] (w[i, k])){1}",
    "input w: {0}[50, 6]\ninput k: i64[6]\noutput after: {0}[50, 6] updates w\n"
    "after = nest [i < 50, j < 6] (w[i, mod(k[j], 6)] + w[i, mod(j + 1, 6)]){1}",
    "input w: {0}[8]\noutput after: {0}[8] updates w\nafter = nest [j < 8] (w[7 - j]){1}",
};

TEST(UpdatesTest, AProcessorMovesAWindowInPlace) {
  std::mt19937 random(6);
  for (const auto& window : kWindows) {
    for (const std::string with : {"", " with {threads: 1}"}) {
      const std::string text = "program p\n" + fmt::format(fmt::runtime(window), "f32", with);
      const KernelProgram program = testing::MustCheck(text);
      EXPECT_EQ(program.kernels[0].way->name, "window") << text;
      testing::ExpectRight(program, 2, random);
    }
  }
}

std::string OnDevice(const std::string& nest, const std::string& type, const std::string& with) {
  return fmt::format(
      "input x: {0}[3, 2, 16]\ninput at: i64[1]\ninput slots: i64[5]\ninput cache: {0}[3, 40, 16]\noutput after: "
      "{0}[3, 40, 16] updates "
      "cache\nafter = nest [i < 3, j < 40, k < 16] ({1}){2}",
      type, nest, with);
}

using UpdatesOnHostTest = testing::DeviceBlocksTest;
using ResultsOnDeviceTest = hone::testing::ProgramOnDeviceTest;
class UpdatesOnDeviceTest : public hone::testing::ProgramOnDeviceTest,
                            public ::testing::WithParamInterface<std::string> {};
using UpdatesInKernelsTest = hone::testing::CudaProgramTest;

TEST_F(UpdatesOnHostTest, BlocksWriteInPlace) {
  for (const auto& nest : kNests) {
    ExpectBlocksSay(OnDevice(nest, "f32", ""), 1e-6);
    ExpectBlocksSay(OnDevice(nest, "f16", " with {way: elements}"), 1e-3);
  }
}

TEST_F(UpdatesOnHostTest, BlocksMakeSeveralResultsOfWhatWasThere) {
  for (const std::string with : {"", " with {pack: 1}", " with {pack: 1, unroll: 4}"})
    ExpectBlocksSay(fmt::format(fmt::runtime(kStep), "f32", with), 1e-6);
}

TEST_F(UpdatesOnHostTest, BlocksFoldWhatTheyWriteInPlace) {
  for (const auto& fold : kFolds) {
    const std::string lanes = fold.find("over [0]") == std::string::npos ? "lanes: 32" : "lanes: 2";
    ExpectBlocksSay(Folding(fold, "f32", 32, ""), 1e-5);
    ExpectBlocksSay(Folding(fold, "f16", 48, " with {lanes: 4}"), 4e-3);
    ExpectBlocksSay(Folding(fold, "f32", 33, " with {keep: no, pack: 1, " + lanes + "}"), 1e-5);
    ExpectBlocksSay(Folding(fold, "f32", 36, " with {split: 2, " + lanes + "}"), 1e-5);
    ExpectBlocksSay(Folding(fold, "f32", 300,
                            " with {keep: no, pack: 2, lanes: " + std::string(lanes == "lanes: 2" ? "8}" : "64}")),
                    1e-5);
  }
}

TEST_F(UpdatesOnHostTest, BlocksMoveWindowsInPlace) {
  for (const auto& window : kWindows) {
    ExpectBlocksSay(fmt::format(fmt::runtime(window), "f32", ""), 1e-6);
    ExpectBlocksSay(fmt::format(fmt::runtime(window), "bf16", " with {block: 32}"), 1e-2);
  }
}

TEST_P(UpdatesOnDeviceTest, ADeviceWritesInPlace) {
  for (const std::string type : {"bf16", "f32"}) ExpectWhatItSays(OnDevice(GetParam(), type, ""), 1e-2);
}
INSTANTIATE_TEST_SUITE_P(Nests, UpdatesOnDeviceTest, ::testing::ValuesIn(kNests));

TEST_F(ResultsOnDeviceTest, ADeviceMakesSeveralResultsOfWhatWasThere) {
  ExpectWhatItSays(fmt::format(fmt::runtime(kStep), "f32", ""), 1e-6);
}

TEST_F(ResultsOnDeviceTest, ADeviceFoldsWhatItWritesInPlace) {
  for (const auto& fold : kFolds) ExpectWhatItSays(Folding(fold, "f32", 48, ""), 1e-5);
  for (const std::string with :
       {"ahead: 4, lanes: 128, split: 1", "lanes: 256, cluster: 2, split: 1", "lanes: 128, team: 4", "split: 4"})
    ExpectWhatItSays(Folding(kFolds[1], "f32", 8192, " with {" + with + "}"), 1e-5);
}

TEST_F(ResultsOnDeviceTest, ADeviceMovesWindowsInPlace) {
  for (const auto& window : kWindows) {
    for (const std::string type : {"bf16", "f32"}) ExpectWhatItSays(fmt::format(fmt::runtime(window), type, ""), 1e-2);
  }
}

TEST_F(UpdatesInKernelsTest, FoldsOfWhatIsWrittenCompile) {
  for (const std::string with : {"ahead: 4, lanes: 128, split: 1", "lanes: 256, cluster: 2, split: 1",
                                 "lanes: 128, team: 4", "split: 4", "keep: no, split: 1"}) {
    const std::string text = Folding(kFolds[0], "bf16", 8192, " with {" + with + "}");
    BuiltOf(text);
    // Whoever reads without coherence says that nobody writes there. What is the same for a row is made once for it.
    const std::string device = testing::CudaText(std::get<KernelProgram>(Lowered(text)));
    EXPECT_EQ(device.find("LoadOnce(reinterpret_cast<const Pack<__nv_bfloat16, 4>*>(t_after"), std::string::npos)
        << device;
    EXPECT_EQ(device.find("const __nv_bfloat16* __restrict__ t_a,"), std::string::npos) << device;
    if (with != "split: 4") {
      EXPECT_EQ(device.find("log1pf("), device.rfind("log1pf(")) << device;
    }
  }
}

TEST_F(UpdatesInKernelsTest, WindowsAreReadAndWrittenByPacks) {
  for (const auto& window : kWindows) ExpectLaunchesWithoutSpills(fmt::format(fmt::runtime(window), "f32", ""), 1);
  const std::string text =
      testing::CudaText(std::get<KernelProgram>(Lowered(fmt::format(fmt::runtime(kWindows[0]), "f32", ""))));
  EXPECT_NE(text.find("Pack<float, 4> before[1], made[1];"), std::string::npos) << text;
  EXPECT_EQ(text.find("t_after["), std::string::npos) << text;
}

TEST_F(UpdatesInKernelsTest, ThreadsAreOfWhatIsWritten) {
  const auto threads = [](const std::string& nest) {
    const auto lowered = Lowered(OnDevice(nest, "bf16", " with {block: 32}"));
    const Plan plan = EmitCuda(std::get<KernelProgram>(lowered));
    EXPECT_EQ(BuiltOf(OnDevice(nest, "bf16", " with {block: 32}")).launches.size(), 1u);
    const auto* launch = plan.steps.empty() ? nullptr : std::get_if<LaunchStep>(&plan.steps[0]);
    return launch == nullptr ? 0 : launch->grid[0] * launch->block[0];
  };
  for (const auto& nest : kNests) {
    const bool none = nest.find("j < 0") != std::string::npos || nest.find("and(j == 5") != std::string::npos ||
                      nest.find("and(2 < j") != std::string::npos;
    ExpectLaunchesWithoutSpills(OnDevice(nest, "bf16", ""), none ? 0 : 1);
  }
  EXPECT_EQ(threads(kNests[0]), 32) << "3 rows of 16, by packs of 8";
  EXPECT_EQ(threads(kNests[8]), 32) << "3 rows of 16 for each of 5 slots";
  EXPECT_EQ(threads("select(j < 20, x[i, 0, k], cache[i, j, k])"), 128) << "60 rows, by two packs each";
  const auto refused = Lowered(OnDevice(kNests[7], "bf16", " with {way: places}"));
  ASSERT_TRUE(std::holds_alternative<Complaint>(refused));
  EXPECT_NE(ToString(std::get<Complaint>(refused)).find("has places that it leaves alone"), std::string::npos);
}

// Launches that read an input do not go behind the one that writes into it.
TEST_F(UpdatesInKernelsTest, ReadersStayBeforeTheWriter) {
  const auto built = BuiltOf(R"(input x: f32[64, 64]
input cache: f32[64, 64]
output after: f32[64, 64] updates cache
output y: f32[64]
output z: f32[64, 64]
z = map(x) -> it * 2
y = reduce sum(cache) over [1]
after = map(cache) -> it + z)");
  std::size_t reads = 9, writes = 9;
  for (std::size_t i = 0; i < built.launches.size(); ++i) {
    if (built.launches[i].name.find("t_y") != std::string::npos) reads = i;
    if (built.launches[i].name.find("t_after") != std::string::npos) writes = i;
  }
  ASSERT_LT(writes, built.launches.size());
  EXPECT_LT(reads, writes);
}

}  // namespace
}  // namespace hone::dsl
