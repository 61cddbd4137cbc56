#include "judge/dice.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(DiceTest, TextBringsThemBack) {
  const Dice dice{.key = SecretRandom::NewKey(), .draws = 2, .timings = 17};
  const auto back = ParseDice(ToString(dice));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->key, dice.key);
  EXPECT_EQ(back->draws, 2u);
  EXPECT_EQ(back->timings, 17u);
  EXPECT_EQ(back->ForDraws()(), dice.ForDraws()());
  EXPECT_NE(dice.ForTiming()(), dice.ForDraws()());
}

TEST(DiceTest, OtherTextIsRefused) {
  const std::string good = ToString(Dice{});
  for (const std::string& text : {std::string(), std::string("7"), good.substr(2), good + " ", good + ".1",
                                  "x" + good.substr(1), " 0" + good.substr(2), good.substr(0, 64)}) {
    const auto dice = ParseDice(text);
    ASSERT_FALSE(dice) << text;
    EXPECT_EQ(dice.error().kind, ErrorKind::kUsage);
  }
}

}  // namespace
}  // namespace hone
