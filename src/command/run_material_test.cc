// The command that a report shows.
#include "command/run_material.h"

#include <gtest/gtest.h>

#include "base/testing/must.h"
#include "search/record.h"

namespace hone {
namespace {

using testing::Must;

constexpr const char* kProblem =
    R"({"hone_problem": 1, "name": "small", "contract": "fp32", "provenance": {"source": "/models/my model.py"},
        "tensors": [{"name": "x", "shape": [8], "dtype": "f32", "role": "input", "generator": {"kind": "normal",
                     "mean": 0, "deviation": 1}}, {"name": "y", "shape": [8], "dtype": "f32", "role": "output"}],
        "graph": [{"op": "relu", "args": {"self": "%x"}, "outputs": ["y"]}]})";

class RunMaterialTest : public ::testing::Test {
 protected:
  RunRecord Opened(const RunSettings& settings, const Budget& budget, const std::string& problem) {
    RunRecord wanted;
    wanted.problem_name = "small";
    wanted.problem_identity = "i" + std::to_string(++runs_);
    wanted.target = "cpu";
    wanted.machine = "elsewhere";
    wanted.settings = ToJson(settings);
    wanted.budget = ToJson(budget);
    return Must(OpenRun(store_, wanted, problem)).record;
  }
  // Of a run that did nothing.
  std::string CommandOf(const RunSettings& settings, const Budget& budget, const std::string& problem = kProblem) {
    return Must(ReadRunMaterial(store_, Opened(settings, budget, problem))).command;
  }
  Store store_ = Must(Store::Open(":memory:"));
  int runs_ = 0;
};

TEST_F(RunMaterialTest, TheCommandHasTheProblemsPathAndAllThatTheRunIsKnownToBeTold) {
  const std::string command =
      CommandOf({.seed = 7, .memory = true}, {.attempts = 1'200'000, .seconds = 30.5, .tokens = 90, .dollars = 1.5});
  EXPECT_TRUE(command.starts_with("hone optimize '/models/my model.py' --target cpu --seed 7 ")) << command;
  for (const char* word :
       {" --memory on", " --budget 1200000", " --time 30.5", " --max-tokens 90", " --max-dollars 1.5", " --store "})
    EXPECT_NE(command.find(word), std::string::npos) << word << " in " << command;
}

TEST_F(RunMaterialTest, SeveralDevicesAreAllOfThem) {
  EXPECT_NE(CommandOf({.lanes = 2}, {}).find(" --devices all"), std::string::npos);
  EXPECT_EQ(CommandOf({}, {}).find(" --devices"), std::string::npos);
}

TEST_F(RunMaterialTest, AProblemWithoutAFileIsTheOneOfAnExport) {
  std::string by_hand = kProblem;
  const std::string source = R"( "provenance": {"source": "/models/my model.py"},)";
  by_hand.erase(by_hand.find(source), source.size());
  EXPECT_TRUE(CommandOf({}, {}, by_hand).starts_with("hone optimize problem.json ")) << "as an export has it";
}

TEST_F(RunMaterialTest, WhatWasTimedBesideTheWinnerIsNamedWhereItIsNotTheUsual) {
  const auto command_of = [&](const std::vector<std::string>& baselines) {
    RunRecord run = Opened({}, {}, kProblem);
    Attempt attempt{.number = 1};
    attempt.proposal.candidate = {CandidateKind::kModule, "some C++"};
    AttemptRecord record = StartedRecord(run.id, attempt);
    EXPECT_TRUE(store_.BeginAttempt(record, attempt.proposal.candidate.text));
    Evaluation evaluation;
    evaluation.verdict.outcome = Outcome::kAccepted;
    evaluation.how->certificate = {"memcheck: nothing"};
    evaluation.timing.emplace();
    for (const std::string& name : baselines) evaluation.timing->against.push_back({.baseline = name, .speedup = 2});
    Complete(record, evaluation);
    run.best_attempt = 1;
    EXPECT_TRUE(store_.EndAttempt(record, "", run));
    EXPECT_TRUE(store_.AddConfirmation(ConfirmedRecord(run.id, 1, evaluation), "", run));
    return Must(ReadRunMaterial(store_, run)).command;
  };
  const std::string usual = command_of({"eager", "compile", "naive"}), naive = command_of({"naive"});
  EXPECT_EQ(usual.find("--baseline"), std::string::npos) << usual;
  EXPECT_NE(usual.find(" --threads 1 --certify "), std::string::npos) << usual;
  EXPECT_NE(naive.find(" --no-torch "), std::string::npos) << naive;
  const std::string both = command_of({"eager", "naive"});
  EXPECT_NE(both.find(" --baseline eager --baseline naive "), std::string::npos) << both;
}

}  // namespace
}  // namespace hone
