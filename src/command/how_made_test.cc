#include "command/how_made.h"

#include <gtest/gtest.h>

#include "command/testing/silence.h"

namespace hone {
namespace {

TEST(HowMadeTest, IsTheCommandWithItsWordsQuotedAndWhatWasNotGivenToo) {
  testing::Silence silence;
  const Verb& verb = **FindVerb("compare");
  const std::vector<std::string> words = {"greedy", "greedy --idle 8", "--suite", "/", "--seeds", "3"};
  const auto call = VerbCall::Parse(verb, words, silence);
  ASSERT_TRUE(call) << call.error().message;
  const auto made = HowMade(*call, "compare", verb.options, call->Texts("arm"));
  EXPECT_EQ(made.at("command"), "hone compare --suite / --seeds 3 greedy 'greedy --idle 8'");
  EXPECT_EQ(made.at("seeds"), "3");
  EXPECT_EQ(made.at("budget"), "40");
  EXPECT_EQ(made.at("suite"), "/");
  EXPECT_FALSE(made.at("machine").empty());
  EXPECT_FALSE(made.contains("device"));  // over tables no device is meant
  EXPECT_TRUE(made.at("made by").starts_with("hone "));
}

}  // namespace
}  // namespace hone
