#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/testing/must.h"
#include "model/testing/loopback.h"
#include "model/testing/speech.h"
#include "propose/proposer.h"
#include "propose/testing/small_graph.h"

namespace hone {
namespace {

using namespace testing;
using Json = nlohmann::json;

constexpr char kSource[] = "int y;\n";

class TeamTest : public ::testing::Test {
 protected:
  TeamTest() {
    attempts_[0] = Attempted(1, 0, kSource, "begin", true);
    attempts_[1] = Attempted(2, 1, "int wrong;\n", "Use wider loads", false);
  }

  static Attempt Attempted(int number, int parent, const std::string& text, const std::string& key, bool accepted) {
    Attempt attempt{.number = number, .parent = parent};
    attempt.proposal = {.candidate = {CandidateKind::kModule, text}, .origin = "test", .key = key};
    attempt.evaluation.verdict.outcome = accepted ? Outcome::kAccepted : Outcome::kWrongResult;
    attempt.evaluation.verdict.reason = accepted ? "" : "y[3] is off";
    if (accepted) attempt.evaluation.timing.emplace().warm.median_us = 20;
    return attempt;
  }

  // What the team proposes when these are the answers, in the order of asking.
  Round Propose(int parent, const std::vector<std::string>& answers) {
    std::vector<Saying> sayings;
    for (const std::string& answer : answers) sayings.push_back({{ChatAnswer(answer)}});
    server_ = std::make_unique<Loopback>(std::move(sayings));
    std::string models =
        fmt::format("[providers.here]\ndialect = \"openai-chat\"\nurl = \"{}\"\nretries = 0\n", server_->url());
    for (const char* role : {"planner", "coder", "debugger"})
      models += fmt::format("[models.{0}]\nprovider = \"here\"\nmodel = \"m-{0}\"\n", role);
    const std::string path = folder_.path() + "/models.toml";
    Must(WriteFileAtomically(path, models));
    const auto chosen = Must(ChooseProposer("team"));
    const auto proposer =
        Must(chosen.row->make({.graph = graph_, .machine = machine_, .parameters = chosen.parameters, .models = path}));
    EXPECT_EQ(proposer->pace(), Pace::kSlow);
    Question question{.parent = parent};
    if (parent > 0) question.history = {&attempts_[0], &attempts_[1]};
    Round round = Must(proposer->Propose(question));
    EXPECT_EQ(server_->heard().size(), answers.size()) << "each answer was asked for";
    return round;
  }
  // The text of a message of the request with that number.
  std::string Told(std::size_t request, std::size_t message = 1) const {
    return Json::parse(server_->heard().at(request).body)["messages"][message]["content"];
  }
  std::string Model(std::size_t request) const { return Json::parse(server_->heard().at(request).body)["model"]; }

  static std::string Marked(const std::string& change, const std::string& source = kSource) {
    return fmt::format("change: {}\ngain: 2\n```module\n<<<IMPROVE BEGINS>>>\n{}<<<IMPROVE ENDS>>>\n```\n", change,
                       source);
  }
  static std::string Written(const std::string& text) {
    return fmt::format("idea: as planned\n```module\n{}```\n", text);
  }

  TempDirectory folder_ = Must(TempDirectory::Create("team"));
  const Graph graph_ = testing::SmallGraph();
  const DeviceModel machine_;
  Attempt attempts_[2];
  std::unique_ptr<Loopback> server_;
};

bool Has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

TEST_F(TeamTest, TheFirstPlanIsWrittenByTheCoder) {
  const Round round = Propose(0, {"change: one pass\nkind: module\n", Written("int x;\n")});
  ASSERT_EQ(round.proposals.size(), 1u);
  EXPECT_EQ(round.proposals[0].key, "one pass");
  EXPECT_EQ(round.proposals[0].origin, "team: one pass");
  EXPECT_EQ(round.proposals[0].candidate.text, "int x;\n");
  EXPECT_EQ(Model(0), "m-planner");
  EXPECT_EQ(Model(1), "m-coder");
  EXPECT_TRUE(Has(Told(0, 0), "You plan how kernels"));
  EXPECT_TRUE(Has(Told(0, 0), "A line \"change: \""));
  EXPECT_TRUE(Has(Told(1, 0), "after a plan that somebody else made"));
  EXPECT_TRUE(Has(Told(1), "# The plan\n\none pass\n"));
}

TEST_F(TeamTest, AnImprovementGoesFromMarkedPlaces) {
  const Round round = Propose(1, {Marked("fewer bytes"), Written("int faster;\n")});
  ASSERT_EQ(round.proposals.size(), 1u);
  EXPECT_EQ(round.proposals[0].key, "fewer bytes");
  EXPECT_EQ(round.proposals[0].predicted_us, 10) << "by the planner's gain";
  EXPECT_TRUE(Has(Told(0), "## Attempt 1: 20 us"));
  EXPECT_TRUE(Has(Told(0), "Use wider loads: wrong_result: y[3] is off")) << "what was tried from there";
  EXPECT_TRUE(Has(Told(1), "<<<IMPROVE BEGINS>>>\nint y;\n<<<IMPROVE ENDS>>>"));
}

TEST_F(TeamTest, EachMalformedAnswerGetsOneRepairTurn) {
  const Round round = Propose(1, {Marked("fewer bytes", "int other;\n"), Marked("fewer bytes"),
                                  Written("<<<IMPROVE BEGINS>>>\nint z;\n<<<IMPROVE ENDS>>>\n"), Written("int z;\n")});
  ASSERT_EQ(round.proposals.size(), 1u);
  EXPECT_TRUE(Has(Told(1, 3), "the marked text is not the attempt's: it has 'int other;' where that has 'int y;'"));
  EXPECT_TRUE(Has(Told(3, 3), "leave the anchors out"));
  EXPECT_TRUE(Propose(1, {"I cannot.", "I will not."}).proposals.empty()) << "and then it counts as none";
  EXPECT_TRUE(Propose(1, {Marked("c"), Written("int a;\n") + "and more", "no"}).proposals.empty());
}

TEST_F(TeamTest, APlanThatWasTriedEndsTheBranchBeforeAnythingIsWritten) {
  const Round round = Propose(1, {Marked("use wider loads!")});
  EXPECT_TRUE(round.proposals.empty());
  ASSERT_EQ(round.notes.size(), 1u);
  EXPECT_EQ(round.notes[0], "model planner planned for attempt 1 what attempt 2 was: use wider loads!");
  EXPECT_TRUE(Propose(1, {Marked("the same text"), Written("int  y; // known\n")}).proposals.empty());
}

TEST_F(TeamTest, WhatWasRefusedGoesToTheDebuggerAlone) {
  const Round round = Propose(2, {Written("int mended;\n")});
  ASSERT_EQ(round.proposals.size(), 1u);
  EXPECT_EQ(round.proposals[0].origin, "team, repair: as planned");
  EXPECT_EQ(Model(0), "m-debugger");
  EXPECT_TRUE(Has(Told(0), "## Attempt 2: wrong_result: y[3] is off"));
  EXPECT_TRUE(Has(Told(0), "## What it was made from: attempt 1, 20 us"));
  EXPECT_TRUE(Propose(2, {"done"}).proposals.empty());
}

TEST_F(TeamTest, AnAnswerOfAnotherShapeIsMalformed) {
  EXPECT_TRUE(Has((Propose(1, {Marked("c"), "idea: a\n```program\nprogram p\n```\n", Written("int a;\n")}), Told(2, 3)),
                  "the candidate is a program and the plan is for a module"));
  EXPECT_TRUE(Has((Propose(2, {Written("int a;\n") + "idea: b\n```module\nint b;\n```\n", "done"}), Told(1, 3)),
                  "it has several candidates where one is asked for"));
}

TEST_F(TeamTest, RolesMayHaveOtherModels) {
  EXPECT_EQ(Must(ChooseProposer("team:big,coder=small")).Identity(),
            "team:planner=big,coder=small,debugger=debugger,tokens=8000,lookups=12000");
}

}  // namespace
}  // namespace hone
