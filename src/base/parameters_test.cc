#include "base/parameters.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace hone {
namespace {

constexpr Parameter kTwo[] = {
    {.name = "epsilon", .help = "how often", .otherwise = "0.35", .at_least = 0, .at_most = 1},
    {.name = "throttle", .type = Parameter::Type::kInteger, .help = "how many", .otherwise = "5", .at_least = 1}};
constexpr Parameter kOneFile[] = {{.name = "file", .type = Parameter::Type::kFile, .help = "what was recorded"}};

constexpr Parameter kOneFolder[] = {{.name = "folder", .type = Parameter::Type::kFolder, .help = "where"}};

struct Row {
  std::string_view name, doc;
  std::span<const Parameter> parameters = {};
};
constexpr Row kPlain{"plain", "takes nothing"}, kEpsilon{"epsilon", "by chance", kTwo};
constexpr const Row* kRows[] = {&kEpsilon, &kPlain};

Result<Chosen<Row>> ChooseRow(std::string_view words) {
  return Choose<Row>("strategy", std::span<const Row* const>(kRows), words);
}

TEST(ParametersTest, TheFirstValueNeedsNoName) {
  for (const char* words :
       {"epsilon:0.2,throttle=8", "epsilon:throttle=8,epsilon=0.2", "epsilon:epsilon=.2,throttle=8"}) {
    const auto chosen = ChooseRow(words);
    ASSERT_TRUE(chosen) << words << ": " << chosen.error().message;
    EXPECT_EQ(chosen->row, &kEpsilon);
    EXPECT_EQ(chosen->parameters.Real("epsilon"), 0.2);
    EXPECT_EQ(chosen->parameters.Integer("throttle"), 8);
    EXPECT_EQ(chosen->Identity(), "epsilon:epsilon=0.2,throttle=8");
  }
}

TEST(ParametersTest, WhatIsNotGivenIsAsDeclaredAndPartOfTheIdentity) {
  EXPECT_EQ(ChooseRow("epsilon")->Identity(), "epsilon:epsilon=0.35,throttle=5");
  EXPECT_EQ(ChooseRow("epsilon:")->Identity(), ChooseRow("epsilon:0.350")->Identity());
  EXPECT_EQ(ChooseRow("plain")->Identity(), "plain");
}

TEST(ParametersTest, AFolderIsItsPathAndNeedNotBeThere) {
  const auto folder = Parameters::Parse("try", kOneFolder, "no/such,folder");
  ASSERT_TRUE(folder) << folder.error().message;
  EXPECT_EQ(folder->Folder("folder"), "no/such,folder");
  EXPECT_EQ(folder->identity(), "folder=no/such,folder");
}

TEST(ParametersTest, BadWordsGiveOneLine) {
  const auto message = [](std::string_view words) { return ChooseRow(words).error().message; };
  EXPECT_EQ(message("plan"), "there is no strategy 'plan'; did you mean 'plain'?; known are epsilon, plain");
  EXPECT_EQ(message("plain:3"), "strategy plain takes no parameters, so not '3'");
  EXPECT_EQ(message("epsilon:2"), "strategy epsilon: epsilon is a number from 0 to 1, not '2'");
  EXPECT_EQ(message("epsilon:nan"), "strategy epsilon: epsilon is a number from 0 to 1, not 'nan'");
  EXPECT_EQ(message("epsilon:0.2,root=3"), "strategy epsilon has no parameter 'root'; known are epsilon, throttle");
  EXPECT_EQ(message("epsilon:throtle=3"),
            "strategy epsilon has no parameter 'throtle'; did you mean 'throttle'?; known are epsilon, throttle");
  EXPECT_EQ(message("epsilon:throttle=0"), "strategy epsilon: throttle is a whole number from 1 on, not '0'");
  EXPECT_EQ(message("epsilon:throttle=2.5"), "strategy epsilon: throttle is a whole number from 1 on, not '2.5'");
  EXPECT_EQ(message("epsilon:0.2,epsilon=0.3"), "strategy epsilon: epsilon is given twice");
  EXPECT_EQ(Parameters::Parse("proposer replay", kOneFile, "").error().message,
            "proposer replay needs file: what was recorded");
}

TEST(ParametersTest, AFileCountsByItsContent) {
  const auto folder = TempDirectory::Create("parameters");
  ASSERT_TRUE(folder);
  const std::string one = folder->path() + "/a,b.jsonl", same = folder->path() + "/c=d", other = folder->path() + "/e";
  ASSERT_TRUE(WriteFileAtomically(one, "text"));
  ASSERT_TRUE(WriteFileAtomically(same, "text"));
  ASSERT_TRUE(WriteFileAtomically(other, "another text"));
  const auto first = Parameters::Parse("proposer replay", kOneFile, one);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->File("file"), "text");
  EXPECT_EQ(first->identity(), Parameters::Parse("proposer replay", kOneFile, "file=" + same)->identity());
  EXPECT_NE(first->identity(), Parameters::Parse("proposer replay", kOneFile, other)->identity());
  EXPECT_EQ(Parameters::Parse("proposer replay", kOneFile, "absent").error().message,
            "proposer replay: file: cannot read absent: No such file or directory");
}

TEST(ParametersTest, HelpSaysHowItIsTyped) {
  EXPECT_EQ(HelpOn("epsilon", "by chance", kTwo).words, "epsilon:0.35,throttle=5");
  EXPECT_EQ(HelpOn("epsilon", "by chance", kTwo).help, "by chance; epsilon: how often; throttle: how many");
  EXPECT_EQ(HelpOn("replay", "again", kOneFile).words, "replay:FILE");
  EXPECT_EQ(HelpOn("plain", "takes nothing", {}).words, "plain");
}

TEST(ParametersTest, WhatCameLaterIsNoPartOfTheIdentityUnlessItIsGivenAnotherValue) {
  constexpr Parameter kDeclared[] = {
      {.name = "old", .otherwise = "1"},
      {.name = "new", .type = Parameter::Type::kInteger, .otherwise = "1", .later = true},
  };
  const auto identity = [&](std::string_view words) {
    return Parameters::Parse("search strategy some", kDeclared, words)->identity();
  };
  EXPECT_EQ(identity(""), "old=1");
  EXPECT_EQ(identity("new=1"), "old=1");
  EXPECT_EQ(identity("new=0"), "old=1,new=0");
  EXPECT_EQ(Parameters::Parse("search strategy some", kDeclared, "")->Integer("new"), 1);
}

}  // namespace
}  // namespace hone
