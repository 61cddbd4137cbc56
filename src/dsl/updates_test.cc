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
  const std::string head = "input x: f32[4, 6]\noutput y: f32[4, 6] updates x\n";
  const std::string value = ": make a value of it first, and 'y = map(...)' of that",
                    other =
                        "'y' is written into 'x', of which a map or a nest may read the element that it writes, and "
                        "no other" +
                        value;
  EXPECT_EQ(Complained(head + "y = nest [i < 4, j < 6] (select(j == 2, 0, x[i, j]))"), "");
  EXPECT_EQ(Complained(head + "y = nest [i < 4, j < 6] (x[i, 5 - j])"), other);
  EXPECT_EQ(Complained(head + "y = nest [i < 4, j < 6] (sum [k < 6] (x[i, k]))"), other);
  EXPECT_EQ(Complained(head + "view t = x: [4, 6] strides [1, 4]\ny = map(t)"), other);
  EXPECT_EQ(Complained(head + "y = softmax(x) over [1]"), other);
  EXPECT_EQ(Complained(head + "output z: f32[4, 6]\ny = map(x) -> it + 1 also z = x * 2"), "");
  EXPECT_EQ(Complained(head + "view t = x: [4, 6] strides [1, 4]\noutput z: f32[4, 6]\ny = map(x) also z = t"), other);
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

TEST_P(UpdatesOnDeviceTest, ADeviceWritesInPlace) {
  for (const std::string type : {"bf16", "f32"}) ExpectWhatItSays(OnDevice(GetParam(), type, ""), 1e-2);
}
INSTANTIATE_TEST_SUITE_P(Nests, UpdatesOnDeviceTest, ::testing::ValuesIn(kNests));

TEST_F(ResultsOnDeviceTest, ADeviceMakesSeveralResultsOfWhatWasThere) {
  ExpectWhatItSays(fmt::format(fmt::runtime(kStep), "f32", ""), 1e-6);
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
