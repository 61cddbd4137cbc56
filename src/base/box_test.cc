#include "base/box.h"

#include <gtest/gtest.h>

#include <string>

namespace hone {
namespace {

TEST(BoxTest, ACopyIsADeepOne) {
  Box<std::string> one = std::string("one");
  Box<std::string> other = one;
  *other = "other";
  EXPECT_EQ(*one, "one");
  one = other;
  other.reset();
  EXPECT_EQ(*one, "other");
  EXPECT_FALSE(other);
  one = Box<std::string>(std::nullopt);
  EXPECT_FALSE(one.has_value());
  EXPECT_EQ(one.emplace(3, 'x'), "xxx");
}

TEST(SeldomTest, WhatNobodyWroteReadsAsNothingAndTakesAWord) {
  static_assert(sizeof(Seldom<std::string>) == sizeof(void*));
  Seldom<std::string> one;
  const Seldom<std::string>& read = one;
  EXPECT_EQ(*read, "");
  EXPECT_TRUE(read->empty());
  EXPECT_FALSE(one.Written());
  *one = "one";
  const Seldom<std::string> copy = one;
  one->append(" more");
  EXPECT_EQ(*read, "one more");
  EXPECT_EQ(*copy, "one");
  one.Clear();
  EXPECT_EQ(*read, "");
}

}  // namespace
}  // namespace hone
