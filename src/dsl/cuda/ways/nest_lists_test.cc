// Folds of terms that go where a key says: compiled, refused where there is no such fold, and what the program says.
// The last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"
#include "dsl/way.h"

namespace hone {
namespace {

using dsl::KernelProgram;

// Keys that are drawn are up to 99: some rows get nothing, some keys are of no row.
std::string Text(const std::string& nest, const std::string& type = "f32", const std::string& settings = "way: lists") {
  return fmt::format(
      "input x: {0}[700, 24]\ninput key: i64[700]\ninput keys: i32[700, 24]\ninput from: i32[700]\ninput own: {0}[90, "
      "24]\n"
      "input yes: bool[700]\noutput y: {0}[90, 24]\ny = nest [i < 90, j < 24] ({1}) with {{{2}}}",
      type, nest, settings);
}
constexpr std::string_view kNests[] = {
    "own[i, j] + sum [k < 700] (select(key[k] == i, x[k, j], 0))",
    "relu(sum [k < 700] (select(i == select(key[k] < 50, key[k] + 20, key[k]), x[from[k], j] * own[i, j], 0)))",
    "sum [k < 700] (select(keys[k, j] == i, x[k, j], 0))",
    "max [k < 700] (select(key[k] == i, x[k, j], -1))",
    "min [k < 700] (select(floordiv(key[k], 200) == i, x[k, j], inf))",  // all are of the first row
    "prod [k < 700] (select(keys[k, j] == i, x[k, 0], 1)) + own[i, j]",
    "real(sum [k < 700] (int(key[k] == i)))",
    "select(any [k < 700] (key[k] == i), own[i, j], 0)",
    "sum [a < 35, b < 20] (select(key[a * 20 + b] == i, x[a * 20 + b, j] * real(a + b), 0))",
    "sum [k < 700] (select(min(key[k], 7) == i, x[k, j], 0))",  // nearly all are of one row
};

using NestListsTest = testing::CudaProgramTest;
using NestListsOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(NestListsTest, EachIsCountedListedSortedAndFolded) {
  for (const auto nest : kNests) {
    for (const auto& [settings, kernels] : {std::pair("way: lists", 6u), std::pair("way: lists, order: any", 5u)}) {
      const std::string text = Text(std::string(nest), "f32", settings);
      SCOPED_TRACE(text);
      const auto lowered = Lowered(text);
      ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
      const auto built = Build(std::get<KernelProgram>(lowered));
      ASSERT_EQ(built.launches.size(), kernels);
      for (const auto& launch : built.launches) EXPECT_EQ(launch.spill_load_bytes, 0) << launch.name;
    }
  }
}

TEST_F(NestListsTest, TheyAreTheDefaultOfSuchFoldsAlone) {
  const auto way = [&](const std::string& nest, int rows = 90) {
    std::string text = Text(nest, "f32", "block: 128");
    const std::string given = std::to_string(rows);
    for (std::size_t at = 0; (at = text.find("90", at)) != std::string::npos; at += given.size())
      text.replace(at, 2, given);
    const auto lowered = Lowered(text);
    EXPECT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    return std::string(std::get<KernelProgram>(lowered).kernels[0].way->name);
  };
  EXPECT_EQ(way(std::string(kNests[0]), 3000), "lists");
  EXPECT_EQ(way(std::string(kNests[0])), "elements");  // so few are looked at sooner
  EXPECT_EQ(way("sum [k < 700] (x[k, j])"), "elements");
  EXPECT_EQ(way("own[i, j] * 2"), "elements");
  EXPECT_EQ(way("sum [k < 700] (select(key[k] < i, x[k, j], 0))"), "elements");
  const auto refused = Lowered(Text("sum [k < 700] (x[k, j])"));
  ASSERT_TRUE(std::holds_alternative<dsl::Complaint>(refused));
  EXPECT_EQ(
      std::get<dsl::Complaint>(refused).message,
      "'way' lists: it has no fold, or more than one, of terms that are taken where a key out of data is an index; "
      "try elements");
}

TEST_F(NestListsOnDeviceTest, ComputesWhatTheProgramSays) {
  for (const auto nest : kNests) {
    for (const auto& [type, settings] : {std::pair("f32", "way: lists"), std::pair("f16", "way: lists, order: any"),
                                         std::pair("f64", "way: lists, block: 64")}) {
      const std::string text = Text(std::string(nest), type, settings);
      SCOPED_TRACE(text);
      ExpectWhatItSays(text, std::string(type) == "f16" ? 1e-2 : 1e-5);
    }
  }
}

}  // namespace
}  // namespace hone
