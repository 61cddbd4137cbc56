#include "report/line_diff.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

namespace hone {
namespace {

std::string Text(std::string_view before, std::string_view after, std::size_t around) {
  std::string text;
  for (const DiffLine& line : DiffOf(before, after, around)) text += fmt::format("{}{}\n", line.kind, line.text);
  return text;
}

TEST(LineDiffTest, ChangesStandBetweenTheirNeighbours) {
  EXPECT_EQ(Text("a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne\n", 1), "@\n b\n-c\n+X\n d\n@\n");
  EXPECT_EQ(Text("a\nb\n", "b\n", 1), "-a\n b\n");
  EXPECT_EQ(Text("", "one\ntwo", 1), "+one\n+two\n");
  EXPECT_EQ(Text("same\n", "same\n", 1), "");
}

TEST(LineDiffTest, TheSecondTextIsTheFirstWithItsChanges) {
  std::mt19937 chance(3);
  for (int round = 0; round < 200; ++round) {
    const auto draw = [&] {
      std::string text;
      for (unsigned i = chance() % 12; i > 0; --i) text += fmt::format("{}\n", chance() % 4);
      return text;
    };
    const std::string before = draw(), after = draw();
    std::string old_text, new_text;
    for (const DiffLine& line : DiffOf(before, after, 100)) {
      ASSERT_NE(line.kind, '@');
      if (line.kind != '+') old_text += fmt::format("{}\n", line.text);
      if (line.kind != '-') new_text += fmt::format("{}\n", line.text);
    }
    if (before == after) continue;
    EXPECT_EQ(old_text, before);
    EXPECT_EQ(new_text, after);
  }
}

TEST(LineDiffTest, VeryLongTextsAreChangedAsAWhole) {
  std::string before, after;
  for (int i = 0; i < 3000; ++i) {
    before += fmt::format("a{}\n", i);
    after += fmt::format("b{}\n", i);
  }
  EXPECT_EQ(DiffOf("same\n" + before, "same\n" + after, 1).size(), 6001U);
}

}  // namespace
}  // namespace hone
