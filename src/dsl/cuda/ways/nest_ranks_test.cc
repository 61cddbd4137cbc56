// Places in order: compiled, refused where nothing is counted so, and what the program says. The last is skipped where
// there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"
#include "dsl/way.h"

namespace hone {
namespace {

using dsl::KernelProgram;

std::string Program(const std::string& declared, const std::string& nest, const std::string& settings) {
  return fmt::format("{}\ny = nest {} with {{{}}}", declared, nest, settings);
}
// Whole numbers and reals, ascending and descending, rows of one chunk and of several, along either dimension, many
// equals (what is drawn of whole numbers is below 100), and something behind the place.
const std::pair<std::string, std::string> kPrograms[] = {
    {"input x: i64[3000]\noutput y: i64[3000]",
     "[j < 3000] (sum [k < 3000] (int(select(k < j, not(x[j] < x[k]), x[k] < x[j]))))"},
    {"input x: i32[5, 5000]\noutput y: i64[5, 5000]",
     "[i < 5, j < 5000] (sum [k < 5000] (int(select(k < j, not(x[i, k] < x[i, j]), x[i, j] < x[i, k]))) * 2 + i)"},
    {"input x: f32[700, 3]\noutput y: i64[700, 3]",
     "[i < 700, j < 3] (sum [k < 700] (int(select(k < i, not(or(x[i, j] < x[k, j], and(isnan(x[k, j]), not(isnan(x[i, "
     "j]))))), or(x[k, j] < x[i, j], and(isnan(x[i, j]), not(isnan(x[k, j]))))))))"},
    {"input x: bf16[2, 100]\noutput y: f32[2, 100]",
     "[i < 2, j < 100] (real(sum [k < 100] (int(select(k < j, not(or(x[i, k] * 2 < x[i, j] * 2, and(isnan(x[i, j] * "
     "2), "
     "not(isnan(x[i, k] * 2))))), or(x[i, j] * 2 < x[i, k] * 2, and(isnan(x[i, k] * 2), not(isnan(x[i, j] * "
     "2)))))))))"},
};

using NestRanksTest = testing::CudaProgramTest;
using NestRanksOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(NestRanksTest, ChunksAreSortedAndPlacesFound) {
  for (const auto& [declared, nest] : kPrograms) {
    const std::string text = Program(declared, nest, "way: ranks");
    SCOPED_TRACE(text);
    const auto lowered = Lowered(text);
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    const auto built = Build(std::get<KernelProgram>(lowered));
    ASSERT_EQ(built.launches.size(), 2u);
    for (const auto& launch : built.launches) EXPECT_EQ(launch.spill_load_bytes, 0) << launch.name;
  }
}

TEST_F(NestRanksTest, TheyAreTheDefaultOfLongRowsAlone) {
  const auto way = [&](std::size_t program) {
    const auto lowered = Lowered(Program(kPrograms[program].first, kPrograms[program].second, "block: 128"));
    EXPECT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    return std::string(std::get<KernelProgram>(lowered).kernels[0].way->name);
  };
  EXPECT_EQ(way(1), "ranks");
  EXPECT_EQ(way(3), "elements");
  const auto refused = Lowered(
      Program("input x: i64[50]\noutput y: i64[50]", "[j < 50] (sum [k < 50] (int(x[k] < x[j])))", "way: ranks"));
  ASSERT_TRUE(std::holds_alternative<dsl::Complaint>(refused));
  EXPECT_EQ(std::get<dsl::Complaint>(refused).message,
            "'way' ranks: it has no fold, or more than one, that counts what comes before an element of its row; try "
            "elements");
}

TEST_F(NestRanksOnDeviceTest, ComputesWhatTheProgramSays) {
  for (const auto& [declared, nest] : kPrograms) {
    const std::string text = Program(declared, nest, "way: ranks");
    SCOPED_TRACE(text);
    ExpectWhatItSays(text, 0);
  }
}

}  // namespace
}  // namespace hone
