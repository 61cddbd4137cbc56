// Folds of the terms within a range that data say: loops go through those alone, and what comes of it is what the
// program says, where ranges are empty, end before they begin or reach beyond what there is, too: on a processor, as
// blocks on the host, and on a device where there is one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/lower.h"
#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"
#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

// Numbers that are drawn are up to 99, and there are 90 terms, or so many that they are summed in parts.
constexpr const char* kDeclared =
    "input b: i32[12]\ninput e: i32[12]\ninput x: f32[90, 8]\ninput t: f32[100, 8]\ninput c: u8[90]\n"
    "input of: u8[1400]\n";
const std::pair<std::string, std::string> kNests[] = {
    {"output y: f32[12, 8]", "[i < 12, j < 8] (sum [k < 90] (select(and(b[i] <= k, k < e[i]), x[k, j], 0)))"},
    {"output y: f32[12, 8]", "[i < 12, j < 8] (sum [k < 90] (select(and(b[i] <= k, k < e[i]), t[c[k], j], 0)) / 3)"},
    {"output y: f32[12, 8]", "[i < 12, j < 8] (sum [k < 1400] (select(k < e[i] * 14, t[min(of[k], 99), j], 0)))"},
    {"output y: f32[12, 8]", "[i < 12, j < 8] (max [k < 90] (select(and(b[i] < k, k <= e[i]), x[k, j], -inf)))"},
    {"output y: f32[12, 8]",
     "[i < 12, j < 8] (select(b[i] < e[i], min [k < 90] (select(and(b[i] <= k, k < e[i]), t[c[k], j], inf)), 0))"},
    {"output y: f32[12]",
     "[i < 12] (sum [k < 90, j < 8] (select(and(and(b[i] <= k, k < e[i]), 0.25 < x[k, j]), x[k, j], 0)))"},
    {"output y: i64[12]", "[i < 12] (sum [k < 90] (select(k < e[i], int(c[k]), 0)))"},
    // What lies in a range of its own, at the innermost index, is asked at each term where results lie side by side.
    {"output y: f32[8, 12]", "[j < 8, i < 12] (sum [k < 90] (select(and(b[i] <= k, k < e[i]), x[k, j], 0)))"},
    {"output y: f32[]", "(sum [k < 90] (select(k < e[3], x[k, 2], 0)))"},
};

std::string RangedProgram(std::size_t n, const std::string& settings = "") {
  return fmt::format("{}{}\ny = nest {}{}", kDeclared, kNests[n].first, kNests[n].second, settings);
}

TEST(RangedNestTest, AProcessorGoesThroughTheRange) {
  std::mt19937 random(11);
  for (std::size_t n = 0; n < std::size(kNests); ++n) {
    for (const std::string settings : {"", " with {inner: fold}", " with {inner: result, vector: 32}"}) {
      const std::string text = "program p\n" + RangedProgram(n, settings);
      SCOPED_TRACE(text);
      testing::ExpectRight(testing::MustCheck(text), 2, random, 2e-5);
    }
  }
  const auto program = testing::MustCheck("program p\n" + RangedProgram(0));
  EXPECT_NE(EmitCpu(program).find("= begin; "), std::string::npos) << EmitCpu(program);
}

using RangedNestOnHostTest = testing::DeviceBlocksTest;
using RangedNestOnDeviceTest = hone::testing::ProgramOnDeviceTest;

TEST_F(RangedNestOnHostTest, BlocksGoThroughTheRange) {
  for (std::size_t n = 0; n < std::size(kNests); ++n) ExpectBlocksSay(RangedProgram(n, " with {way: elements}"), 1e-5);
  for (const std::size_t n : {1, 2}) ExpectBlocksSay(RangedProgram(n, " with {way: rows, split: 1}"), 1e-5);
  const auto text = [](const std::string& settings) {
    return testing::CudaText(testing::MustCheck("program p\n" + RangedProgram(1, settings), TypicalDevice()));
  };
  EXPECT_NE(text(" with {way: rows, split: 1}").find("= begin; "), std::string::npos);
  EXPECT_NE(text(" with {way: elements}").find("= begin; "), std::string::npos);
}

TEST_F(RangedNestOnDeviceTest, ItComputesWhatTheProgramSays) {
  for (std::size_t n = 0; n < std::size(kNests); ++n) ExpectWhatItSays(RangedProgram(n));
  for (const std::size_t n : {1, 2}) ExpectWhatItSays(RangedProgram(n, " with {way: rows, split: 4}"));
}

}  // namespace
}  // namespace hone::dsl
