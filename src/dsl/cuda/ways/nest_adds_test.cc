// Sums by keys that terms are added to as they come: two kernels, the default where single numbers are added, refused
// in a line elsewhere, and what the program says. The last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"
#include "dsl/way.h"

namespace hone {
namespace {

using dsl::KernelProgram;

// Keys that are drawn are up to 99: some elements get nothing, some keys are of none.
std::string Text(const std::string& element, const std::string& settings = "way: adds",
                 const std::string& type = "f32") {
  return fmt::format(
      "input x: {0}[5, 7000]\ninput key: i32[5, 7000]\ninput own: {0}[5, 90]\noutput y: {0}[5, 90]\n"
      "y = nest [i < 5, j < 90] ({1}) with {{{2}}}",
      type, element, settings);
}
constexpr std::string_view kElements[] = {
    "sum [k < 7000] (select(key[i, k] == j, x[i, k], 0))",
    "sum [k < 7000] (select(max(key[i, k], 60) == j, x[i, k], 0))",  // most are of one element
    "own[i, j] * 2 + sum [k < 7000] (select(key[i, k] == j, x[i, k] * 0.5, 0))",
    "0 + sum [a < 5, k < 7000] (select(select(key[a, k] < 50, key[a, k] + 20, key[a, k]) == j, x[a, k] * real(i), 0))",
};

// Whole numbers, of which the largest and the smallest are the same in any order, too; elements that get nothing.
std::string TextOfWhole(const std::string& element, const std::string& target) {
  return fmt::format(
      "input key: i32[5, 7000]\ninput x: i64[5, 7000]\noutput y: {0}[5, 90]\ny = nest [i < 5, j < 90] ({1}) with "
      "{{way: "
      "adds}}",
      target, element);
}
constexpr std::string_view kWhole[] = {
    "max [k < 7000] (select(key[i, k] == j, k, -1))",
    "min [k < 7000] (select(max(key[i, k], 60) == j, x[i, k] * 3 - k, 1000000))",
    "sum [k < 7000] (select(key[i, k] == j, 1, 0))",
};

using NestAddsTest = testing::CudaProgramTest;
using NestAddsOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(NestAddsTest, ElementsBeginAndTermsAreAdded) {
  for (const auto element : kElements) {
    for (const std::string type : {"f32", "f64"}) {
      SCOPED_TRACE(Text(std::string(element), "way: adds", type));
      const auto built = BuiltOf(Text(std::string(element), "way: adds", type));
      ASSERT_EQ(built.launches.size(), 2u);
      EXPECT_EQ(built.launches[1].spill_load_bytes, 0);
    }
  }
}

TEST_F(NestAddsTest, SoAreWholeNumbersAndTheirExtremes) {
  for (const auto element : kWhole) {
    for (const std::string type : {"i32", "i64"}) {
      SCOPED_TRACE(TextOfWhole(std::string(element), type));
      EXPECT_EQ(BuiltOf(TextOfWhole(std::string(element), type)).launches.size(), 2u);
    }
  }
}

TEST_F(NestAddsTest, TheyAreTheDefaultWhereSingleNumbersAreAdded) {
  const auto said = [&](const std::string& text) {
    const auto lowered = Lowered(text);
    const auto* complaint = std::get_if<dsl::Complaint>(&lowered);
    return complaint ? complaint->message : std::string(std::get<KernelProgram>(lowered).kernels[0].way->name);
  };
  const auto scatter = [](const std::string& element) {
    return "input x: f32[50, 7000]\ninput key: i32[50, 7000]\noutput y: f32[50, 900]\ny = nest [i < 50, j < 900] (" +
           element + ")";
  };
  EXPECT_EQ(said(scatter("sum [k < 7000] (select(key[i, k] == j, x[i, k], 0))")), "adds");
  EXPECT_EQ(said(scatter("max [k < 7000] (select(key[i, k] == j, x[i, k], 0))")), "lists");
  EXPECT_EQ(said(scatter("sum [k < 7000] (select(key[0, k] == j, x[i, k], 0))")), "lists");
  EXPECT_EQ(said("input key: i32[50, 7000]\noutput y: i64[50, 900]\ny = nest [i < 50, j < 900] (max [k < 7000] "
                 "(select(key[i, k] == j, k, -1)))"),
            "adds");
  // As soon as a second kernel begins sooner than all have looked at all: as an order is turned round, as one counts.
  const auto last = [&](int places) {
    return said(
        fmt::format("input key: i64[{0}]\noutput y: i64[{0}]\ny = nest [i < {0}] (max [k < {0}] (select(key[k] == "
                    "i, k, -1)))",
                    places));
  };
  EXPECT_EQ(last(4096), "adds");
  EXPECT_EQ(last(512), "dots");
  EXPECT_EQ(said("input key: i64[4096]\noutput y: f32[8]\ny = nest [i < 8] (sum [k < 4096] (real(key[k] == i)))"),
            "adds");
  EXPECT_EQ(said(Text("relu(sum [k < 7000] (select(key[i, k] == j, x[i, k], 0)))")),
            "'way' adds: something is made of the sum before it is stored; try dots");
  EXPECT_EQ(
      said(Text("sum [k < 7000] (select(key[i, k] == j, x[i, k], 0))", "way: adds", "f16")),
      "'way' adds: what is stored is not what is added: f32, or f64 where that is computed in, or whole numbers of "
      "32 or 64 bits; try dots");
  EXPECT_EQ(
      said(Text("sum [k < 7000] (x[i, k])")),
      "'way' adds: it has no sum, nor an extreme of whole numbers, or more than one fold, of terms that are taken "
      "where a key out of data is an index; try dots");
}

TEST_F(NestAddsOnDeviceTest, ComputesWhatTheProgramSays) {
  for (const auto element : kElements) {
    for (const std::string type : {"f32", "f64"}) {
      SCOPED_TRACE(Text(std::string(element), "way: adds", type));
      ExpectWhatItSays(Text(std::string(element), "way: adds", type), 1e-4);
    }
  }
  for (const auto element : kWhole) {
    for (const std::string type : {"i32", "i64"}) {
      SCOPED_TRACE(TextOfWhole(std::string(element), type));
      ExpectWhatItSays(TextOfWhole(std::string(element), type), 0);
    }
  }
}

}  // namespace
}  // namespace hone
