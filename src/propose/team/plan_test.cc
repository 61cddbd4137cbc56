#include "propose/team/plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing/must.h"

namespace hone {
namespace {

using testing::Must;

constexpr std::string_view kSource = "program p\ninput x: f32[4]\n\ny = relu(x)\n";

Attempt From(std::string_view source = kSource) {
  Attempt attempt;
  attempt.number = 3;
  attempt.proposal.candidate = {CandidateKind::kProgram, std::string(source)};
  return attempt;
}
std::string Marked(std::string_view inside = "y = relu(x)", std::string_view head = "change: do less\ngain: 1.5\n") {
  return fmt::format("{}```program\nprogram p\ninput x: f32[4]  \n\n{}\n{}\n{}\n```\n", head, kAnchorBegins, inside,
                     kAnchorEnds);
}
std::string Message(const std::string& plan, bool begins = false) {
  const Attempt from = From();
  const auto parsed = ParsePlan(plan, begins ? nullptr : &from);
  return parsed ? "no error" : parsed.error().message;
}

TEST(PlanTest, PlacesAreMarkedInTheAttemptsOwnText) {
  const Attempt from = From();
  const ChangePlan plan = *Must(ParsePlan(Marked(), &from));
  EXPECT_EQ(plan.change, "do less");
  EXPECT_EQ(plan.gain, 1.5);
  EXPECT_EQ(plan.kind, CandidateKind::kProgram);
  EXPECT_NE(plan.marked.find("<<<IMPROVE BEGINS>>>\ny = relu(x)\n<<<IMPROVE ENDS>>>\n"), std::string::npos);
  const std::string told = RenderPlan(plan, 3);
  for (const char* part : {"# The plan\n\ndo less\n", "1.5 times as fast", "## Attempt 3", "<<<IMPROVE BEGINS>>>"})
    EXPECT_NE(told.find(part), std::string::npos) << told;
  EXPECT_FALSE(Must(ParsePlan(" done\n", &from)));
}

TEST(PlanTest, APlanToBeginWithHasAKindAndNoText) {
  const ChangePlan plan = *Must(ParsePlan("change: one pass\nkind: module\n", nullptr));
  EXPECT_EQ(plan.kind, CandidateKind::kModule);
  EXPECT_NE(RenderPlan(plan, 0).find("The candidate is to be a module."), std::string::npos);
  EXPECT_EQ(Message("change: one pass\n", true), "the plan has no line \"kind: ...\"");
  EXPECT_EQ(Message("change: one pass\nkind: poem\n", true),
            "line 2 of the plan: a kind is program, module, plan or cuda_module");
}

TEST(PlanTest, AnotherTextIsNoPlan) {
  EXPECT_EQ(
      Message(Marked("y = tanh(x)")),
      "line 3 of the plan: the marked text is not the attempt's: it has 'y = tanh(x)' where that has 'y = relu(x)'");
  EXPECT_EQ(Message(Marked("y = relu(x)\nz = relu(y)")),
            "line 3 of the plan: the marked text has 5 lines and the attempt 4");
  EXPECT_NE(Message(Marked("#include \"/etc/passwd\"")), "no error");
}

TEST(PlanTest, AnchorsArePairs) {
  const std::string begins(kAnchorBegins), ends(kAnchorEnds);
  EXPECT_EQ(Message("change: c\n```program\n" + std::string(kSource) + "```\n"),
            "line 2 of the plan: no place is marked with <<<IMPROVE BEGINS>>>");
  EXPECT_EQ(Message(Marked(begins + "\ny = relu(x)")),
            "line 8 of the plan: <<<IMPROVE BEGINS>>> without <<<IMPROVE ENDS>>> before it");
  EXPECT_EQ(Message(Marked(ends + "\n" + ends + "\ny = relu(x)")),
            "line 9 of the plan: <<<IMPROVE ENDS>>> without <<<IMPROVE BEGINS>>> before it");
  EXPECT_EQ(Message("change: c\n```program\n" + begins + "\n" + std::string(kSource) + "```\n"),
            "line 7 of the plan: the last <<<IMPROVE BEGINS>>> has no <<<IMPROVE ENDS>>> behind it");
  EXPECT_EQ(Message(Marked(ends + "\n" + begins + "\ny = relu(x)")), "no error") << "several places";
}

TEST(PlanTest, WhatIsMalformedIsOneLineThatSaysWhere) {
  EXPECT_EQ(Message("Sure! Here is my plan.\n"),
            "line 1 of the plan: 'Sure! Here is my plan.' does not belong here; leave out all else");
  EXPECT_EQ(Message(Marked("y = relu(x)", "")), "the plan has no line \"change: ...\"");
  EXPECT_EQ(Message("change: c\n"), "the plan has no fence with the attempt's text and the places marked in it");
  EXPECT_EQ(Message("change: c\ngain: lots\n"),
            "line 2 of the plan: gain is how many times as fast, like 1.4, not 'lots'");
  EXPECT_EQ(Message("change: c\n```program\nprogram p\n"), "line 2 of the plan: this fence is not closed");
  EXPECT_EQ(Message(Marked() + "Good luck!\n"), "line 11 of the plan: nothing stands behind the fence");
  EXPECT_EQ(Message("change: " + std::string(300, 'x') + "\n"), "line 1 of the plan: a change has 1 to 200 bytes");
}

TEST(PlanTest, TheSameChangeInOtherSignsIsTheSame) {
  EXPECT_TRUE(SameChange("Load 4 columns at a time.", "load 4 columns, at a time"));
  EXPECT_FALSE(SameChange("load 4 columns", "load 8 columns"));
}

}  // namespace
}  // namespace hone
