#include "search/record.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing/must.h"

namespace hone {
namespace {

using testing::Must;

TEST(RunSettingsTest, AreWrittenAsBeforeThereWereOthersAndReadBack) {
  EXPECT_EQ(ToJson(RunSettings{}), R"({"proposer":"expert","search":"greedy","seed":1})") << "earlier runs go on";
  const RunSettings settings{.seed = 3,
                             .search = "epsilon:epsilon=0.2,throttle=5,dead=3",
                             .proposer = "replay:file=0123456789abcdef",
                             .objective = Must(Objective::Parse("time:0.02,energy")),
                             .lanes = 2,
                             .profile = "triage"};
  const RunSettings read = Must(ParseRunSettings(ToJson(settings)));
  EXPECT_EQ(read.search, settings.search);
  EXPECT_EQ(read.proposer, settings.proposer);
  EXPECT_EQ(read.objective.Text(), "time:0.02,energy");
  EXPECT_EQ(read.lanes, 2);
  EXPECT_EQ(read.profile, "triage");
  EXPECT_EQ(ToJson(read), ToJson(settings));
  EXPECT_NE(ToJson(settings), ToJson(RunSettings{.seed = 3, .search = settings.search, .lanes = 2}));
  EXPECT_NE(ToJson(RunSettings{}), ToJson(RunSettings{.threads = 2})) << "times with another number are others";
  EXPECT_EQ(Must(ParseRunSettings(ToJson(RunSettings{.threads = 2}))).threads, 2);
}

TEST(RunSettingsTest, WhatAreNoneOfOursAreCorruptAndSayWhy) {
  const auto why = [](const char* text) {
    const auto read = ParseRunSettings(text);
    EXPECT_FALSE(read) << text;
    if (read) return std::string();
    EXPECT_EQ(read.error().kind, ErrorKind::kCorrupt);
    return read.error().message;
  };
  EXPECT_TRUE(why(R"({"seed": "one"})").starts_with(R"(not the settings of a run of ours: {"seed": "one"}: )"));
  const std::string beauty = why(R"({"seed": 1, "objective": "beauty"})");
  EXPECT_NE(beauty.find("'beauty'"), std::string::npos) << beauty;
  for (const char* text : {"", "{", "[]", "null"}) EXPECT_TRUE(why(text).starts_with("not the settings")) << text;
}

TEST(RunSettingsTest, WhatASettingsTextLacksIsAsItWasBefore) {
  const RunSettings read = Must(ParseRunSettings(R"({"search": "random", "seed": 5, "proposer": "expert"})"));
  EXPECT_EQ(read.lanes, 1);
  EXPECT_TRUE(read.objective.IsTime());
  EXPECT_EQ(ToJson(Budget{.attempts = 3, .seconds = 1.5, .headroom = -1}),
            R"({"attempts":3,"headroom":-1.0,"seconds":1.5})");
}

class RecordTest : public ::testing::Test {
 protected:
  RecordTest() {
    RunRecord wanted;
    wanted.problem_name = "p";
    wanted.settings = ToJson(RunSettings{});
    run_ = Must(store_.CreateRun(wanted, "{}"));
  }
  TempDirectory folder_ = Must(TempDirectory::Create("record"));
  std::string path_ = folder_.path() + "/runs.db";
  Store store_ = Must(Store::Open(path_));
  RunRecord run_;
};

TEST(RunSettingsTest, WhoSaysWhatFactsMeanIsPartOfARunUnlessNobodyDoes) {
  EXPECT_EQ(ToJson(RunSettings()).find("tools"), std::string::npos) << "runs of earlier versions are found again";
  RunSettings settings;
  for (const char* words : {"none", "raw", "offered", "on", "/"}) {
    settings.tools = Must(Advisers::Parse(words));
    EXPECT_EQ(Must(ParseRunSettings(ToJson(settings))).tools, settings.tools) << words;
  }
  const RunSettings gone = Must(ParseRunSettings(R"({"search": "greedy", "proposer": "expert", "tools": "/gone"})"));
  EXPECT_EQ(gone.tools.Text(), "/gone") << "a run is shown all the same";
}

TEST_F(RecordTest, AnAttemptReadsBackWithItsRoundItsJoulesAndItsInsight) {
  Attempt attempt{.number = 1, .round = 4};
  attempt.proposal = {.candidate = {CandidateKind::kPlan, "text"}, .origin = "agent: idea", .key = "idea"};
  attempt.proposal.rule = "bank_conflict";
  attempt.proposal.promised = 0.25;
  attempt.evaluation.verdict.outcome = Outcome::kAccepted;
  attempt.evaluation.timing = Timing{.warm = {.median_us = 5}, .energy = Energy{.joules = 0.5}};
  attempt.insight->findings = {{.rule = "bank_conflict", .evidence = "4 ways", .advice = "pad the row", .loss_us = 2}};
  attempt.insight->limits.by_analysis = Class{Bottleneck::kLatency, 0.6, "3 % of the multiprocessors get a block"};
  attempt.insight->missing = "half of it";
  AttemptRecord record = StartedRecord(run_.id, attempt);
  ASSERT_TRUE(store_.BeginAttempt(record, attempt.proposal.candidate.text));
  Complete(record, attempt.evaluation, attempt.insight);
  ASSERT_TRUE(store_.EndAttempt(record, "", run_));

  const AttemptRecord row = Must(store_.Attempts(run_.id)).at(0);
  EXPECT_EQ(row.joules, 0.5);
  const Attempt read = Must(ReadAttempt(store_, row));
  EXPECT_EQ(read.round, 4);
  EXPECT_EQ(read.proposal.candidate.kind, CandidateKind::kPlan);
  EXPECT_EQ(read.evaluation.timing->energy->joules, 0.5);
  EXPECT_EQ(read.proposal.rule, "bank_conflict");
  EXPECT_EQ(read.proposal.promised, 0.25);
  EXPECT_EQ(row.brought, std::nullopt) << "nobody said so";
  const Insight& insight = read.insight;
  ASSERT_EQ(insight.findings.size(), 1u);
  EXPECT_EQ(insight.findings[0].rule, "bank_conflict");
  EXPECT_EQ(insight.findings[0].evidence, "4 ways");
  EXPECT_EQ(insight.findings[0].advice, "pad the row");
  EXPECT_EQ(insight.findings[0].loss_us, 2);
  ASSERT_TRUE(insight.limits.by_analysis);
  EXPECT_EQ(insight.limits.by_analysis->bottleneck, Bottleneck::kLatency);
  EXPECT_EQ(insight.limits.by_analysis->confidence, 0.6);
  EXPECT_EQ(insight.limits.by_analysis->why, "3 % of the multiprocessors get a block");
  EXPECT_FALSE(insight.limits.by_counters);
  EXPECT_EQ(insight.missing, "half of it");
}

TEST_F(RecordTest, ADamagedProposalIsFound) {
  const std::vector<Proposal> proposals = {{.candidate = {CandidateKind::kProgram, "one text"}, .key = "a"},
                                           {.candidate = {CandidateKind::kModule, "another"}, .key = "b"}};
  const RoundRecord round{.run = run_.id, .number = 1};
  ASSERT_TRUE(store_.AddRound(round, ProposalRecords(proposals)));
  const std::vector<Proposal> read = Must(ReadProposals(store_, round));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].candidate.kind, CandidateKind::kModule);
  EXPECT_EQ(read[1].candidate.text, "another");
  Connection connection = Must(Connection::Open(path_, IfAbsent::kFail));
  ASSERT_TRUE(connection.Execute("UPDATE proposal SET middle = 'an other' WHERE place = 1"));
  const auto damaged = ReadProposals(store_, round);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().kind, ErrorKind::kCorrupt);
  EXPECT_NE(damaged.error().message.find("a proposal of round 1"), std::string::npos) << damaged.error().message;
}

}  // namespace
}  // namespace hone
