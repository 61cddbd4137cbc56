// runs, show and bench on a store that a scripted search filled.
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "command/command.h"
#include "command/testing/silence.h"
#include "search/bench.h"
#include "search/testing/scripted_evaluator.h"
#include "search/testing/scripted_proposer.h"
#include "search/testing/scripted_space.h"

namespace hone {
namespace {

using Json = nlohmann::json;

using testing::Silence;

class ShowTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<Store> store = Store::Open(path_);
    ASSERT_TRUE(store) << store.error().message;
    hone::testing::ScriptedEvaluator evaluator(3);
    SearchHooks seeing;
    seeing.look = [](const Attempt&) {
      Insight insight;
      insight.limits.by_analysis = Class{Bottleneck::kLatency, 0.6, "too little is under way"};
      insight.findings = {{.rule = "some_rule", .evidence = "4 bytes", .title = "a fault", .lost = 0.34}};
      return insight;
    };
    auto done =
        RunScriptedSearch(*store, "greedy", 3, {.attempts = 25, .seconds = 0, .headroom = -1}, evaluator, seeing);
    ASSERT_TRUE(done) << done.error().message;
    outcome_ = std::move(*done);
    // A second run that was ended while its fourth attempt was in flight.
    std::atomic<bool> interrupt = false;
    hone::testing::ScriptedEvaluator other(4);
    other.before = [&](int evaluation) -> Result<void> {
      interrupt = evaluation == 4;
      return {};
    };
    SearchHooks hooks;
    hooks.interrupt = &interrupt;
    ASSERT_TRUE(RunScriptedSearch(*store, "random", 4, {.attempts = 25, .seconds = 0, .headroom = -1}, other, hooks));
  }

  // A run whose winner was confirmed while others kept the machine busy.
  void AddDisturbedRun() {
    Result<Store> store = Store::Open(path_);
    ASSERT_TRUE(store) << store.error().message;
    hone::testing::ScriptedEvaluator evaluator(5);
    evaluator.disturbed_confirmations = true;
    ASSERT_TRUE(RunScriptedSearch(*store, "greedy", 5, {.attempts = 10, .seconds = 0, .headroom = -1}, evaluator));
  }

  Result<Answer> Call(std::string_view name, std::vector<std::string> arguments) {
    if (name != "bench") arguments.insert(arguments.end(), {"--store", path_});
    const Verb* verb = *FindVerb(name);
    Result<VerbCall> call = VerbCall::Parse(*verb, arguments, silence_);
    if (!call) return tl::unexpected<Error>(call.error());
    return verb->run(*call);
  }
  Json Document(std::string_view name, std::vector<std::string> arguments) {
    const Result<Answer> answer = Call(name, std::move(arguments));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? Json::parse(answer->json) : Json();
  }

  Silence silence_;
  TempDirectory folder_ = *TempDirectory::Create("show");
  std::string path_ = folder_.path() + "/runs.sqlite";
  SearchOutcome outcome_;
};

TEST_F(ShowTest, ARunSaysWhatRulesPromisedAndWhatTheirMovesBrought) {
  const Result<Answer> run = Call("show", {outcome_.run.id});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_NE(run->text.find("rule                    fired  moved  promised   brought   at best"), std::string::npos);
  const Json document = Document("show", {outcome_.run.id});
  int moved = 0, fired = 0, accepted = 0;
  for (const Json& rule : document["rules"]) {
    moved += rule["moved"].get<int>();
    fired += rule["fired"].get<int>();
    EXPECT_NEAR(rule["promised"].get<double>(), 0.1 * rule["moved"].get<double>(), 1e-9) << rule;
    EXPECT_GE(rule["best"].get<double>(), 0);
  }
  int with_rule = 0;
  double best = 0;
  for (const Json& attempt : document["attempts"]) {
    accepted += attempt["outcome"] == "accepted" ? 1 : 0;
    EXPECT_EQ(attempt["rule"].get<std::string>().empty(), attempt["brought"].is_null());
    if (attempt["brought"].is_null()) continue;
    ++with_rule;
    best = std::max(best, attempt["brought"].get<double>());
    const Json& parent = document["attempts"].at(attempt["parent"].get<std::size_t>() - 1);
    const double before = parent["median_us"], after = attempt["median_us"];
    if (attempt["outcome"] == "accepted") {
      EXPECT_NEAR(attempt["brought"].get<double>(), before > 0 ? 1 - after / before : 0, 1e-9);
    } else {
      EXPECT_EQ(attempt["brought"], 0.0);
    }
  }
  EXPECT_GT(with_rule, 10);
  EXPECT_EQ(moved, with_rule);
  EXPECT_EQ(fired, accepted) << "some_rule finds something in each";
  EXPECT_GT(best, 0);
  Result<Store> store = Store::Open(path_);
  ASSERT_TRUE(store);
  double brought = 0;
  const auto outcomes = store->Outcomes(outcome_.run.target, outcome_.run.machine);
  ASSERT_TRUE(outcomes) << outcomes.error().message;
  int of_both = 0;
  for (const RuleOutcome& one : *outcomes) {
    of_both += static_cast<int>(one.moved);
    brought += one.brought;
  }
  EXPECT_GE(of_both, moved) << "of all runs";
  EXPECT_GE(brought, best);
  EXPECT_TRUE(store->Outcomes(outcome_.run.target, "another machine")->empty());
}

TEST_F(ShowTest, ARunSaysWhatLimitsEachAttemptAndWhatCostsItMost) {
  const int best = outcome_.run.best_attempt;
  const Result<Answer> run = Call("show", {outcome_.run.id});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_NE(run->text.find("latency  some_rule 34 %"), std::string::npos) << run->text;
  const Result<Answer> attempt = Call("show", {outcome_.run.id, "best"});
  ASSERT_TRUE(attempt) << attempt.error().message;
  EXPECT_NE(attempt->text.find("latency class (60 % sure): too little is under way"), std::string::npos);
  EXPECT_NE(attempt->text.find("1. a fault in  (some_rule): may cost 34 % of its time"), std::string::npos)
      << attempt->text;
  const Json rows = Document("show", {outcome_.run.id})["attempts"];
  const Json& row = rows.at(static_cast<std::size_t>(best) - 1);
  EXPECT_EQ(row["class"]["by_analysis"]["class"], "latency");
  EXPECT_EQ(row["findings"][0]["rule"], "some_rule");
}

TEST_F(ShowTest, ADisturbedWinnerHasNoHeadline) {
  AddDisturbedRun();
  const Json run = Document("runs", {})["runs"][0];
  ASSERT_EQ(run["seed"], 5);
  EXPECT_EQ(run["confirmed"], true);
  EXPECT_EQ(run["speedup"], 0);
  const std::string id = run["id"];
  EXPECT_TRUE(Document("show", {id})["honest"].is_null());
  const auto text = Call("show", {id});
  ASSERT_TRUE(text);
  EXPECT_NE(text->text.find(", no speed-up known, confirmed on fresh inputs"), std::string::npos) << text->text;
  EXPECT_EQ(text->text.find("over the first baseline"), std::string::npos) << text->text;
  const Json again = Document("show", {id})["confirmations"][0];
  EXPECT_LT(again["ranked_us"], again["median_us"]);
  EXPECT_NE(text->text.find("  disturbed; ranked by "), std::string::npos) << text->text;
  const auto best = Call("show", {id, "best"});
  ASSERT_TRUE(best);
  EXPECT_NE(best->text.find("; disturbed: the machine was not quiet in 9 of 10 rounds"), std::string::npos)
      << best->text;
}

TEST_F(ShowTest, EnergyIsShownOfEachFinalistAndWhatMeasuredIt) {
  Result<Store> store = Store::Open(path_);
  ASSERT_TRUE(store) << store.error().message;
  hone::testing::ScriptedEvaluator evaluator(6);
  evaluator.joules = [](const std::string&) { return 0.0125; };
  hone::testing::ScriptedProposer proposer;
  const RunSettings settings{.seed = 6, .proposer = "scripted", .objective = *Objective::Choose("energy", 0.5)};
  const auto done =
      RunScriptedSearch(*store, settings, {.attempts = 10, .seconds = 0, .headroom = -1}, proposer, {&evaluator});
  ASSERT_TRUE(done) << done.error().message;
  const Result<Answer> run = Call("show", {done->run.id});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_NE(run->text.find("objective: time:0.5,energy\n"), std::string::npos) << run->text;
  EXPECT_NE(run->text.find("12.5 mJ a call at "), std::string::npos) << run->text;
  EXPECT_NE(run->text.find("; 12.5 mJ to 12.5 mJ (3 windows of 5.0 s, a tick every 100 ms)\n"), std::string::npos);
  EXPECT_NE(run->text.find("energy by scripted\n"), std::string::npos) << run->text;
  const Json document = Json::parse(run->json);
  ASSERT_EQ(document["confirmations"].size(), kEnergyFinalists);
  EXPECT_EQ(document["confirmations"][0]["energy"]["joules"], 0.0125);
  EXPECT_EQ(Document("show", {outcome_.run.id})["confirmations"][0]["energy"], nullptr) << "it was of time";
  const Result<Answer> best = Call("show", {done->run.id, "best"});
  ASSERT_TRUE(best) << best.error().message;
  EXPECT_NE(best->text.find("energy       12.5 mJ a call"), std::string::npos) << best->text;
}

TEST_F(ShowTest, RunsOfFlaggedProblemsAreListedApart) {
  EXPECT_EQ(Call("runs", {})->text.find("flagged"), std::string::npos);
  {
    Result<Store> store = Store::Open(path_);
    ASSERT_TRUE(store);
    RunRecord run = *store->FindRun(outcome_.run.id);
    run.flags = R"([{"kind": "zero", "sentence": "output y is zero: so it is"}])";
    ASSERT_TRUE(store->UpdateRun(run));
  }
  const std::string text = Call("runs", {})->text;
  const auto apart = text.find("\nof flagged problems, whose times and speed-ups say little:\n" + outcome_.run.id);
  ASSERT_NE(apart, std::string::npos) << text;
  EXPECT_EQ(text.find(outcome_.run.id), text.rfind(outcome_.run.id));
  EXPECT_NE(text.find("flagged: zero\n", apart), std::string::npos) << text;
  EXPECT_NE(Call("show", {outcome_.run.id})->text.find("flagged: output y is zero: so it is\n"), std::string::npos);
  EXPECT_EQ(Document("show", {outcome_.run.id})["flags"][0]["kind"], "zero");
}

TEST_F(ShowTest, RunsAreListedNewestFirst) {
  const Json document = Document("runs", {});
  ASSERT_EQ(document["runs"].size(), 2u);
  EXPECT_EQ(document["runs"][0]["state"], "interrupted");
  EXPECT_EQ(document["runs"][0]["attempts"], 3);
  EXPECT_EQ(document["runs"][0]["search"], "random");
  EXPECT_EQ(document["runs"][1]["id"], outcome_.run.id);
  EXPECT_EQ(document["runs"][1]["attempts"], 25);
  EXPECT_EQ(document["runs"][1]["best_attempt"], outcome_.run.best_attempt);
  EXPECT_EQ(document["runs"][1]["confirmed"], true);
}

TEST_F(ShowTest, RunsAreFilteredByProblemTargetAndTime) {
  const auto count = [&](std::vector<std::string> arguments) {
    return Document("runs", std::move(arguments))["runs"].size();
  };
  EXPECT_EQ(count({"--problem", outcome_.run.problem_name.substr(1)}), 2u);
  EXPECT_EQ(count({"--problem", "no such name"}), 0u);
  EXPECT_EQ(count({"--target", outcome_.run.target}), 2u);
  EXPECT_EQ(count({"--target", "elsewhere"}), 0u);
  EXPECT_EQ(count({"--since", "1d"}), 2u);
  EXPECT_EQ(count({"--since", "2000-01-01"}), 2u);
  EXPECT_EQ(count({"--since", "2999-12-31"}), 0u);
  for (const char* wrong : {"yesterday", "2026-13-01", "7", "7days", "-1d", ""}) {
    const Result<Answer> answer = Call("runs", {"--since", wrong});
    ASSERT_FALSE(answer) << wrong;
    EXPECT_EQ(answer.error().kind, ErrorKind::kUsage);
  }
}

TEST_F(ShowTest, NoLineOfRunsIsWiderThanATerminal) {
  Result<Store> store = Store::Open(path_);
  ASSERT_TRUE(store);
  RunRecord run = outcome_.run;
  run.problem_name = std::string(80, 'x');
  ASSERT_TRUE(store->CreateRun(run, "{}"));
  std::string text = Call("runs", {})->text;
  EXPECT_NE(text.find("xxx~"), std::string::npos) << text;
  for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
    EXPECT_LE(end, kTextColumns);
}

TEST_F(ShowTest, ANoteIsKeptAndTakenAway) {
  ASSERT_TRUE(Call("runs", {outcome_.run.id, "--note", "before the change"}));
  EXPECT_EQ(Document("runs", {})["runs"][1]["note"], "before the change");
  EXPECT_NE(Call("runs", {})->text.find("note: before the change\n"), std::string::npos);
  ASSERT_TRUE(Call("runs", {outcome_.run.id, "--note", ""}));
  EXPECT_EQ(Document("runs", {})["runs"][1]["note"], "");
  EXPECT_EQ(Call("runs", {"--note", "of none"}).error().kind, ErrorKind::kUsage);
}

TEST_F(ShowTest, RunsAreDeletedOnlyWithYesAndNeverAtWork) {
  EXPECT_EQ(Document("runs", {"--delete", outcome_.run.id})["would_delete"], Json::array({outcome_.run.id}));
  EXPECT_EQ(Document("runs", {"--keep", "1"})["would_delete"], Json::array({outcome_.run.id}));
  EXPECT_EQ(Document("runs", {"--prune", "1"})["would_delete"], Json::array());
  EXPECT_EQ(Document("runs", {"--prune", "0"})["would_delete"].size(), 2u);
  EXPECT_EQ(Document("runs", {})["runs"].size(), 2u);
  {
    Result<Store> store = Store::Open(path_);
    const auto lock = store->Lock(outcome_.run.id);
    const Json kept = Document("runs", {"--delete", outcome_.run.id, "--yes"});
    EXPECT_EQ(kept["at_work"], Json::array({outcome_.run.id}));
    EXPECT_EQ(Document("runs", {})["runs"].size(), 2u);
  }
  EXPECT_EQ(Document("runs", {"--keep", "1", "--yes"})["deleted"], Json::array({outcome_.run.id}));
  EXPECT_EQ(Document("runs", {})["runs"].size(), 1u);
  EXPECT_EQ(Call("runs", {"--yes"}).error().kind, ErrorKind::kUsage);
}

TEST_F(ShowTest, ARunThatWasKilledIsCalledKilled) {
  Result<Store> store = Store::Open(path_);
  RunRecord run = outcome_.run;
  run.state = RunState::kRunning;
  ASSERT_TRUE(store->UpdateRun(run));
  EXPECT_EQ(Document("runs", {})["runs"][1]["state"], "killed");
  const auto lock = store->Lock(run.id);
  EXPECT_EQ(Document("runs", {})["runs"][1]["state"], "running");
  EXPECT_EQ(Document("show", {run.id})["state"], "running");
}

TEST_F(ShowTest, AFileThatIsWrongIsTheCallersAndNamed) {
  const auto wrong = [&](const char* verb, std::vector<std::string> words) {
    const Result<Answer> answer = Call(verb, std::move(words));
    EXPECT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, ErrorKind::kUsage) << answer.error().message;
    return answer.error().message;
  };
  const std::string page = folder_.path() + "/page.html", lines = folder_.path() + "/bad.jsonl";
  ASSERT_TRUE(WriteFileAtomically(lines, "{}\n"));
  ASSERT_TRUE(WriteFileAtomically(folder_.path() + "/bad.json", "[]"));
  EXPECT_NE(wrong("report", {folder_.path() + "/no.json", "-o", page}).find("no.json"), std::string::npos);
  EXPECT_NE(wrong("report", {folder_.path() + "/bad.json", "-o", page}).find("bad.json"), std::string::npos);
  EXPECT_TRUE(wrong("report", {lines, "-o", page}).starts_with(lines + ": a report is of a run's id, or of a .json"));
  EXPECT_NE(wrong("memory", {"--import", lines}).find("bad.jsonl"), std::string::npos);
  EXPECT_NE(wrong("memory", {"--import", folder_.path()}).find("Is a directory"), std::string::npos);
}

TEST_F(ShowTest, ARunShowsItsAttemptsAndMarksTheBest) {
  const Json document = Document("show", {outcome_.run.id.substr(0, 5)});
  EXPECT_EQ(document["attempts"].size(), 25u);
  EXPECT_EQ(document["confirmations"].size(), 3u);
  EXPECT_EQ(document["settings"]["seed"], 3);
  EXPECT_EQ(document["baselines"]["naive"], 2000.0);
  const std::string text = Call("show", {outcome_.run.id})->text;
  const std::string marked = "\n*" + std::string(7 - std::to_string(outcome_.run.best_attempt).size(), ' ') +
                             std::to_string(outcome_.run.best_attempt);
  EXPECT_NE(text.find(marked), std::string::npos) << text;
}

TEST_F(ShowTest, AnAttemptShowsVerdictTimingAndSource) {
  const Json document = Document("show", {outcome_.run.id, "best"});
  EXPECT_EQ(document["number"], outcome_.run.best_attempt);
  EXPECT_EQ(document["evaluation"]["timing"]["warm"]["median_us"], document["median_us"]);
  const std::string source = outcome_.tree.node(outcome_.run.best_attempt).attempt.proposal.candidate.text;
  EXPECT_EQ(document["source"], source);
  EXPECT_NE(Call("show", {outcome_.run.id, "best"})->text.find(source), std::string::npos);
}

TEST_F(ShowTest, ARefusedAttemptShowsWhy) {
  int shown = 0;
  for (const TreeNode& node : outcome_.tree.nodes()) {
    if (node.attempt.number == 0 || node.attempt.accepted()) continue;
    const std::string text = Call("show", {outcome_.run.id, std::to_string(node.attempt.number)})->text;
    EXPECT_NE(text.find(node.attempt.evaluation.verdict.reason), std::string::npos) << text;
    ++shown;
  }
  EXPECT_GT(shown, 0);
}

TEST_F(ShowTest, AnAttemptInFlightIsShownAsNotEnded) {
  const std::string id = Document("runs", {})["runs"][0]["id"];
  EXPECT_TRUE(Document("show", {id, "4"})["outcome"].is_null());
  EXPECT_NE(Call("show", {id, "4"})->text.find("it has not ended"), std::string::npos);
}

TEST_F(ShowTest, WhatIsNotThereIsSaidInOneLine) {
  for (const char* verb : {"show", "replay", "report", "export"})
    EXPECT_EQ(Call(verb, {"zzz"}).error().kind, ErrorKind::kUsage) << verb;
  EXPECT_EQ(Call("show", {outcome_.run.id, "26"}).error().message,
            "run " + outcome_.run.id + " has no attempt 26; it has 1 to 25");
  EXPECT_EQ(Call("show", {outcome_.run.id, "last"}).error().kind, ErrorKind::kUsage);
  path_ += ".none";
  EXPECT_EQ(Call("runs", {}).error().kind, ErrorKind::kNotFound);
}

TEST_F(ShowTest, BenchPrintsTheSignatureOfEverySearch) {
  const Json document = Document("bench", {"--budget", "10", "--seeds", "2"});
  EXPECT_EQ(document["signature"].get<std::string>().size(), 12u);
  EXPECT_GE(document["searches"].size(), 4u);
  EXPECT_EQ(Document("bench", {"--budget", "10", "--seeds", "2"})["signature"], document["signature"]);
}

}  // namespace
}  // namespace hone
