// Long folds of rows, a warp each: by packs, compiled without spills, the default where rows are long, refused in a
// line elsewhere, and what the program says. The last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"
#include "dsl/way.h"

namespace hone {
namespace {

using dsl::KernelProgram;

std::string Program(const std::string& declared, const std::string& nest, const std::string& settings = "way: dots") {
  return fmt::format("{}\ny = nest {} with {{{}}}", declared, nest, settings);
}
// Halves and floats, rows of one and of two indices, whole rounds of a warp and what is left of them, something behind.
const std::pair<std::string, std::string> kPrograms[] = {
    {"input x: bf16[70, 512]\ninput w: bf16[100, 512]\ninput c: i64[70]\ninput s: f32[70]\noutput y: f32[70]",
     "[i < 70] (sum [k < 512] (x[i, k] * w[c[i], k]) - s[i])"},
    {"input x: f16[9, 3, 40]\ninput c: u8[9, 11]\noutput y: f16[9, 11]",
     "[i < 9, j < 11] (relu(max [l < 3, k < 40] (x[mod(c[i, j], 9), l, k])))"},
    // Candidates of groups of rows, the last one of which is cut off.
    {"input x: bf16[9, 128]\ninput w: bf16[300, 128]\nview t = w: [128, 300] strides [1, 128]\ninput c: "
     "i64[9, 3]\noutput y: f32[9, 3, 32]",
     "[i < 9, j < 3, l < 32] (select(mod(c[i, j], 10) * 32 + l < 300, sum [k < 128] (x[i, k] * t[k, "
     "min(mod(c[i, j], 10) * 32 + l, 299)]), -inf))"},
    {"input x: f32[100, 300]\ninput c: i32[17]\noutput y: f32[17]", "[i < 17] (min [k < 300] (x[c[i], k] * 2))"},
};

using NestDotsTest = testing::CudaProgramTest;
using NestDotsOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(NestDotsTest, RowsAreReadByPacksWithoutSpills) {
  for (const auto& [declared, nest] : kPrograms) {
    for (const std::string settings : {"way: dots", "way: dots, block: 512, lanes: 4", "way: dots, lanes: 16"}) {
      const std::string text = Program(declared, nest, settings);
      SCOPED_TRACE(text);
      const auto built = BuiltOf(text);
      ASSERT_EQ(built.launches.size(), 1u);
      EXPECT_EQ(built.launches[0].spill_load_bytes + built.launches[0].spill_store_bytes, 0);
      EXPECT_NE(dsl::testing::CudaText(std::get<KernelProgram>(Lowered(text))).find("Pack<"), std::string::npos);
    }
  }
}

TEST_F(NestDotsTest, TheyAreTheDefaultWhereRowsAreLong) {
  const auto said = [&](const std::string& text) {
    const auto lowered = Lowered(text);
    const auto* complaint = std::get_if<dsl::Complaint>(&lowered);
    return complaint ? complaint->message : std::string(std::get<KernelProgram>(lowered).kernels[0].way->name);
  };
  EXPECT_EQ(said(Program(kPrograms[0].first, kPrograms[0].second, "block: 128")), "dots");
  EXPECT_EQ(said(Program(kPrograms[2].first, kPrograms[2].second, "block: 128")), "dots");
  EXPECT_EQ(said(Program(kPrograms[1].first, kPrograms[1].second, "block: 128")), "dots");
  EXPECT_EQ(said(Program("input x: f16[9, 40]\ninput c: u8[9, 11]\noutput y: f16[9, 11]",
                         "[i < 9, j < 11] (max [k < 40] (x[mod(c[i, j], 9), k]))", "block: 128")),
            "elements");
  // Few elements leave a device without work where each is a thread's.
  const auto distances = [](int places) {
    return fmt::format("input i: i64[4096]\noutput y: i64[{0}]\ny = nest [j < {0}] (sum [k < 4096] (abs(i[k] - j)))",
                       places);
  };
  EXPECT_EQ(said(distances(64)), "dots");
  EXPECT_EQ(said(distances(10000)), "elements");
  EXPECT_EQ(
      said(Program("input x: f32[600, 9]\ninput c: i64[9]\noutput y: f32[9]", "[i < 9] (sum [k < 600] (x[k, c[i]]))")),
      "'way' dots: what is folded does not lie in packs along the folded index; try elements");
}

TEST_F(NestDotsOnDeviceTest, ComputesWhatTheProgramSays) {
  for (const auto& [declared, nest] : kPrograms) {
    for (const std::string settings :
         {"way: dots", "way: dots, lanes: 32", "way: dots, lanes: 8", "way: dots, lanes: 4"}) {
      const std::string text = Program(declared, nest, settings);
      SCOPED_TRACE(text);
      ExpectWhatItSays(text, 1e-2);
    }
  }
}

}  // namespace
}  // namespace hone
