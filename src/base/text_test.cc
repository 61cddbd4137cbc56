#include "base/text.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(TextTest, EditDistanceCountsEditsAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("store", ""), 5u);
  EXPECT_EQ(EditDistance("store", "sotre"), 1u);
  EXPECT_EQ(EditDistance("budget", "buget"), 1u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

TEST(TextTest, ANearWordIsProposedAndAFarOneIsNot) {
  constexpr std::string_view kKnown[] = {"softmax", "sum", "sub"};
  EXPECT_EQ(DidYouMean("sofmax", kKnown), "; did you mean 'softmax'?");
  EXPECT_EQ(DidYouMean("su", kKnown), "; did you mean 'sum'?");
  EXPECT_EQ(DidYouMean("convolution", kKnown), "");
  EXPECT_EQ(DidYouMean("softmax", {}), "");
}

TEST(TextTest, TheLastLineIsTheLastThatHoldsSomething) {
  EXPECT_EQ(LastLine(""), "");
  EXPECT_EQ(LastLine("\n \r\n"), "");
  EXPECT_EQ(LastLine("one"), "one");
  EXPECT_EQ(LastLine("one\ntwo \n\n"), "two");
}

TEST(TextTest, WhatMovesATerminalIsShownAsAQuestionMark) {
  EXPECT_EQ(Printable("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(Printable("\x1b[2J\x07\r\x7f"), "?[2J???");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "2J \xc2\x80\xc2\x9f"),
            "?2J ??")
      << "the second set, in UTF-8";
  EXPECT_EQ(Printable("\xc2\xa0\xc3\xa4\xe2\x82\xac\xc2"), "\xc2\xa0\xc3\xa4\xe2\x82\xac\xc2") << "letters stay";
}

}  // namespace
}  // namespace hone
