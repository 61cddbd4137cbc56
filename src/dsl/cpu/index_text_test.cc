#include "dsl/cpu/index_text.h"

#include <gtest/gtest.h>

namespace hone::dsl {
namespace {

TEST(IndexTextTest, WhatIsKnownToBeZeroOrOneLeavesNoTrace) {
  EXPECT_EQ(Plus("i", "j"), "i + j");
  EXPECT_EQ(Plus("0", "j"), "j");
  EXPECT_EQ(Plus("i", "0"), "i");
  EXPECT_EQ(Plus("i", 4), "i + 4");
  EXPECT_EQ(Plus("i", -4), "i - 4");
  EXPECT_EQ(Plus("0", -4), "-4");
  EXPECT_EQ(Plus("i", 0), "i");
  EXPECT_EQ(Scaled("i", 1), "i");
  EXPECT_EQ(Scaled("0", 7), "0");
}

TEST(IndexTextTest, ASumIsScaledAsAWhole) {
  EXPECT_EQ(Scaled("i", 4), "i * 4");
  EXPECT_EQ(Scaled("i + 1", 4), "(i + 1) * 4");
}

TEST(IndexTextTest, WhatIsLeftIsAConstantWhereBlocksDivideTheWhole) {
  EXPECT_EQ(Left("rows", 96, "i0", 32), "constexpr long rows = 32;");
  EXPECT_EQ(Left("rows", 100, "i0", 32), "const long rows = 100 - i0 < 32 ? 100 - i0 : 32;");
  EXPECT_EQ(Left("rows", "end", "i0", 32), "const long rows = end - i0 < 32 ? end - i0 : 32;");
}

}  // namespace
}  // namespace hone::dsl
