#include "propose/joint.h"

#include <gtest/gtest.h>

#include "propose/testing/small_graph.h"

namespace hone {
namespace {

// Has so many rounds for each attempt, of one proposal whose text says of what; keeps what it was asked.
class Counted : public Proposer {
 public:
  Counted(std::string name, int rounds, Pace pace, std::vector<std::string>& asked)
      : name_(std::move(name)), rounds_(rounds), pace_(pace), asked_(asked) {}
  Pace pace() const override { return pace_; }
  void Interrupt() override { asked_.push_back(name_ + " interrupted"); }
  Result<Round> Propose(const Question& question) override {
    const std::string which = name_ + std::to_string(question.turn);
    asked_.push_back(which);
    Round round{.cost = {.input_tokens = pace_ == Pace::kSlow ? 5 : 0}};
    if (question.turn < rounds_) round.proposals.push_back({.candidate = {CandidateKind::kProgram, which}});
    return round;
  }

 private:
  const std::string name_;
  const int rounds_;
  const Pace pace_;
  std::vector<std::string>& asked_;
};

class JointTest : public ::testing::Test {
 protected:
  Member Of(const std::string& name, int rounds, Pace pace) {
    return {name, std::make_unique<Counted>(name, rounds, pace, asked_)};
  }
  std::unique_ptr<Proposer> ExpertAndTeam(int team_rounds = 99) {
    std::vector<Member> members;
    members.push_back(Of("team", team_rounds, Pace::kSlow));
    members.push_back(Of("expert", 2, Pace::kPrompt));
    return Join(std::move(members), kBound);
  }
  // The first five answers' texts; "-" for an empty one, behind which nobody asks.
  static std::string Answers(Proposer& proposer, const Attempt* from) {
    std::string texts;
    for (int turn = 0; turn < 5; ++turn) {
      Question question{.parent = from == nullptr ? 0 : 1, .turn = turn};
      if (from != nullptr) question.history = {from};
      const Round round = *proposer.Propose(question);
      texts += (turn > 0 ? " " : "") + (round.proposals.empty() ? "-" : round.proposals.front().candidate.text);
      if (round.proposals.empty()) break;
    }
    return texts;
  }
  static Attempt Taking(double us) {
    Attempt attempt{.number = 1};
    attempt.evaluation.verdict.outcome = Outcome::kAccepted;
    attempt.evaluation.timing = Timing{.warm = {.median_us = us}};
    return attempt;
  }

  static constexpr double kBound = 10;
  std::vector<std::string> asked_;
};

TEST_F(JointTest, WhoCostsNothingComesFirst) {
  const auto joint = ExpertAndTeam();
  EXPECT_EQ(joint->pace(), Pace::kSlow);
  EXPECT_EQ(Answers(*joint, nullptr), "expert0 expert1 team0 team1 team2");
  const Attempt near = Taking(1.9 * kBound);
  EXPECT_EQ(Answers(*joint, &near), "expert0 expert1 team0 team1 team2");
}

TEST_F(JointTest, TheOtherOneBeginsWhereTheBoundIsFar) {
  const Attempt far = Taking(2.1 * kBound);
  EXPECT_EQ(Answers(*ExpertAndTeam(), &far), "team0 expert0 expert1 team1 team2");
  // What has no answer there costs the others nothing, but is counted.
  const auto joint = ExpertAndTeam(0);
  const Round round = *joint->Propose({.parent = 1, .history = {&far}});
  EXPECT_EQ(round.proposals.at(0).candidate.text, "expert0");
  EXPECT_EQ(round.cost.input_tokens, 5);
}

TEST_F(JointTest, EndsWhenNobodyHasMore) { EXPECT_EQ(Answers(*ExpertAndTeam(1), nullptr), "expert0 expert1 team0 -"); }

TEST_F(JointTest, ARefusedAttemptIsItsAuthors) {
  Attempt refused{.number = 1};
  refused.evaluation.verdict.outcome = Outcome::kCompileError;
  std::vector<Member> members;
  members.push_back(Of("expert", 0, Pace::kPrompt));
  members.push_back(Of("team", 99, Pace::kSlow));
  const auto joint = Join(std::move(members), kBound);
  refused.proposal.origin = "expert: tile 64 -> 128";
  EXPECT_EQ(Answers(*joint, &refused), "-");
  refused.proposal.origin = "team: put it on its head";
  EXPECT_EQ(Answers(*joint, &refused), "team0 team1 team2 team3 team4");
}

TEST_F(JointTest, AnInterruptReachesWhoThinks) {
  ExpertAndTeam()->Interrupt();
  EXPECT_EQ(asked_.back(), "team interrupted");
}

TEST(ChosenProposersTest, AreNamedWithCommas) {
  const auto identity = [](std::string_view words) {
    const auto chosen = ChosenProposers::Parse(words);
    return chosen ? chosen->Identity() : chosen.error().message;
  };
  EXPECT_EQ(identity("expert"), "expert");
  EXPECT_EQ(identity("expert,model:coder,tokens=9000,lookups=0"), "expert,model:name=coder,tokens=9000,lookups=0");
  EXPECT_EQ(identity("model:coder,tokens=9000,lookups=0,expert"), "model:name=coder,tokens=9000,lookups=0,expert");
  EXPECT_TRUE(identity("expert,teem").starts_with("there is no proposer 'teem'; did you mean 'team'"))
      << identity("expert,teem");
  EXPECT_FALSE(identity("expert,").empty());
  EXPECT_FALSE(ChosenProposers::Parse("expert,"));
  EXPECT_EQ(identity("expert,team,mailbox:/tmp"),
            "--proposer: team and mailbox both take their time to answer, and one run has room for one such: leave one "
            "of them out");
  EXPECT_EQ(ChosenProposers::Parse("expert,team")->pace(), Pace::kSlow);
  EXPECT_TRUE(ChosenProposers::Parse("expert,team")->Take("coder"));
  EXPECT_FALSE(ChosenProposers::Parse("expert")->Take("coder"));
  EXPECT_EQ(PaceOfProposers("expert,mailbox:folder=/not/here,tokens=8000"), Pace::kSlow);
  EXPECT_EQ(PaceOfProposers("replay:rounds=0123"), Pace::kPrompt);
  EXPECT_FALSE(PaceOfProposers("expert,teem"));
}

TEST(ChosenProposersTest, OneAloneIsItself) {
  const Graph graph = testing::SmallGraph();
  const auto chosen = ChosenProposers::Parse("expert");
  ASSERT_TRUE(chosen);
  const auto proposer = chosen->Make({.graph = graph, .machine = {}});
  ASSERT_TRUE(proposer);
  EXPECT_EQ((*proposer)->pace(), Pace::kPrompt);
}

}  // namespace
}  // namespace hone
