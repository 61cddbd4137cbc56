// Folds of rows that data choose: by packs, compiled without spills, the default where rows are looked up, refused in a
// line elsewhere, and what the program says. The last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"
#include "dsl/way.h"

namespace hone {
namespace {

using dsl::KernelProgram;

std::string Program(const std::string& declared, const std::string& nest, const std::string& settings = "way: rows") {
  return fmt::format("{}\ny = nest {} with {{{}}}", declared, nest, settings);
}
// Tables of halves and of floats, one fold and two, folds shared by threads, more threads than there is work, lists of
// places that lie side by side and not, and something behind.
const std::pair<std::string, std::string> kPrograms[] = {
    {"input t: f16[16, 100, 32]\ninput c: u8[50, 37, 16]\noutput y: f32[50, 32]",
     "[i < 50, j < 32] (max [k < 37] (sum [l < 16] (t[l, c[i, k, l], j])))"},
    {"input t: f32[100, 64]\ninput c: i64[70, 5]\ninput w: f32[70, 5]\noutput y: f32[70, 64]",
     "[i < 70, j < 64] (relu(sum [k < 5] (t[c[i, k], j] * w[i, k])))"},
    {"input t: bf16[100, 24]\ninput c: i32[300, 20]\noutput y: bf16[300, 24]",
     "[i < 300, j < 24] (real(min [k < 20] (t[c[i, k], j] + k)) * 0.5)"},
    {"input t: i32[100, 8]\ninput c: u8[9, 48]\noutput y: i64[9, 8]", "[i < 9, j < 8] (sum [k < 48] (t[c[i, k], j]))"},
};

using NestRowsTest = testing::CudaProgramTest;
using NestRowsOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(NestRowsTest, RowsAreReadByPacksWithoutSpills) {
  for (const auto& [declared, nest] : kPrograms) {
    for (const std::string settings : {"way: rows", "way: rows, split: 1", "way: rows, split: 4, block: 64"}) {
      const std::string text = Program(declared, nest, settings);
      SCOPED_TRACE(text);
      const auto built = BuiltOf(text);
      ASSERT_EQ(built.launches.size(), 1u);
      EXPECT_EQ(built.launches[0].spill_load_bytes + built.launches[0].spill_store_bytes, 0);
      EXPECT_NE(dsl::testing::CudaText(std::get<KernelProgram>(Lowered(text))).find("Pack<"), std::string::npos);
    }
  }
}

TEST_F(NestRowsTest, TheyAreTheDefaultWhereRowsAreLookedUp) {
  const auto said = [&](const std::string& text) {
    const auto lowered = Lowered(text);
    const auto* complaint = std::get_if<dsl::Complaint>(&lowered);
    return complaint ? complaint->message : std::string(std::get<KernelProgram>(lowered).kernels[0].way->name);
  };
  EXPECT_EQ(said(Program(kPrograms[1].first, kPrograms[1].second, "block: 128")), "rows");
  EXPECT_EQ(said(Program("input x: f32[9, 5, 64]\noutput y: f32[9, 64]", "[i < 9, j < 64] (sum [k < 5] (x[i, k, j]))",
                         "block: 128")),
            "elements");
  EXPECT_EQ(said(Program("input x: f32[9, 5, 3]\ninput c: i64[9]\noutput y: f32[9, 3]",
                         "[i < 9, j < 3] (sum [k < 5] (x[c[i], k, j]))")),
            "'way' rows: what is folded does not lie in packs along the innermost index; try elements");
  EXPECT_EQ(said(Program("input t: f32[50, 64]\ninput c: i64[9, 600]\noutput y: f32[9, 64]",
                         "[i < 9, j < 64] (sum [k < 600] (t[c[i, k], j]))")),
            "'way' rows: a sum of 600 reals would be as far off as they are many: 512 at most; try elements");
  EXPECT_EQ(said(Program("input x: f32[9, 64]\noutput y: f32[9, 64]", "[i < 9, j < 64] (x[i, 63 - j])")),
            "'way' rows: it is no sum, maximum or minimum, or has several side by side; try elements");
}

TEST_F(NestRowsOnDeviceTest, ComputesWhatTheProgramSays) {
  for (const auto& [declared, nest] : kPrograms) {
    for (const std::string settings : {"way: rows", "way: rows, split: 4, block: 64"}) {
      SCOPED_TRACE(Program(declared, nest, settings));
      ExpectWhatItSays(Program(declared, nest, settings));
    }
  }
}

}  // namespace
}  // namespace hone
