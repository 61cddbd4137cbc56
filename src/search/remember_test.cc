#include "search/remember.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/date.h"
#include "base/testing/must.h"
#include "propose/proposer.h"
#include "search/bench.h"
#include "search/testing/scripted_evaluator.h"
#include "store/testing/some_records.h"

namespace hone {
namespace {

using namespace testing;

const std::map<std::string, ProvenPiece> kPieces = {
    {"k1", {.text = "program piece", .settings = {{"tile", "64x32"}}, .share = 0.75}}};

SearchOutcome Searched(Store& store) {
  ScriptedEvaluator evaluator(7);
  return Must(RunScriptedSearch(store, "greedy", 7, {.attempts = 40, .seconds = 0, .headroom = -1}, evaluator));
}

TEST(RememberTest, AConfirmedWinnersPiecesAreThereForOthersOnThatMachine) {
  Store store = Must(Store::Open(":memory:"));
  const SearchOutcome outcome = Searched(store);
  ASSERT_TRUE(outcome.winner_confirmed);
  Must(Remember(store, outcome, kPieces, "0.9.0"));
  RunRecord run = outcome.run;
  const Recalled recalled = Must(Recall(store, run, {.keys = {"k1", "k2"}}, "0.9.0"));
  ASSERT_EQ(recalled.proven.size(), 1u);
  const ProvenPiece& piece = recalled.proven.at("k1");
  EXPECT_EQ(piece.text, "program piece");
  EXPECT_EQ(piece.settings, kPieces.at("k1").settings);
  EXPECT_EQ(piece.share, 0.75);
  EXPECT_EQ(piece.run, run.id);
  EXPECT_EQ(piece.problem, run.problem_name);
  int start = run.best_attempt;
  while (outcome.tree.node(start).attempt.parent != 0) start = outcome.tree.node(start).attempt.parent;
  ASSERT_NE(start, run.best_attempt);
  EXPECT_DOUBLE_EQ(piece.gain, outcome.tree.Value(start) / outcome.tree.Value(run.best_attempt));
  run.machine = "another";
  EXPECT_TRUE(Must(Recall(store, run, {.keys = {"k1"}}, "0.9.0")).empty());
}

TEST(RememberTest, WhatWasNotConfirmedIsNotKept) {
  Store store = Must(Store::Open(":memory:"));
  SearchOutcome outcome = Searched(store);
  outcome.winner_confirmed = false;
  Must(Remember(store, outcome, kPieces, "0.9.0"));
  EXPECT_TRUE(Must(store.AllProven()).empty());
}

LessonRecord Lesson(int attempt, double gain) {
  LessonRecord lesson = SomeLesson();
  lesson.attempt = attempt;
  lesson.gain = gain;
  lesson.at_ms = UnixMilliseconds();
  return lesson;
}

TEST(RememberTest, LessonsOfOtherMachinesAndVersionsAndOldOnesCountLess) {
  Store store = Must(Store::Open(":memory:"));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "{}"));
  const auto weight = [&](const LessonRecord& lesson) {
    Must(store.PutLessons({lesson}));
    const Experience experience = Must(Recall(store, run, {.families = {"softmax"}}, "0.1.0")).experience;
    return experience.kinds().at("softmax.vector=64").lessons;
  };
  LessonRecord lesson = Lesson(1, 0.5);
  EXPECT_NEAR(weight(lesson), 1, 1e-3);
  lesson.machine = "m2";
  EXPECT_NEAR(weight(lesson), kOtherMachine, 1e-3);
  lesson.version = "0.0.9";
  EXPECT_NEAR(weight(lesson), kOtherMachine * kOtherVersion, 1e-3);
  lesson.at_ms -= static_cast<std::int64_t>(kHalfLifeDays * 24 * 3600 * 1000);
  EXPECT_NEAR(weight(lesson), kOtherMachine * kOtherVersion / 2, 1e-3);
  EXPECT_TRUE(Must(Recall(store, run, {.families = {"matmul"}}, "0.1.0")).experience.empty());
}

TEST(RememberTest, WhatASessionTriedIsKeptWithWhatCameOfIt) {
  const Problem problem = Must(ParseProblem(
      R"({"hone_problem": 1, "name": "relu", "tensors": [
        {"name": "x", "shape": [64, 1000], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
        {"name": "y", "shape": [64, 1000], "dtype": "f32", "role": "output"}],
        "graph": [{"op": "relu", "args": {"self": "%x"}, "outputs": ["y"]}]})",
      "test"));
  const Graph graph = Must(Graph::Create(problem));
  const DeviceModel machine{.threads = 2};
  const auto expert =
      Must(ChooseProposer("expert").value().row->make({.graph = graph, .machine = machine, .parameters = {}}));
  const auto ended = [](int number, int parent, Proposal proposal, double us) {
    Attempt attempt{.number = number, .parent = parent, .proposal = std::move(proposal)};
    attempt.evaluation.verdict.outcome = us > 0 ? Outcome::kAccepted : Outcome::kWrongResult;
    if (us > 0) attempt.evaluation.timing = Timing{.warm = {.median_us = us}};
    return attempt;
  };
  const Attempt start = ended(1, 0, Must(expert->Propose({})).proposals.at(0), 100);
  const auto moves = Must(expert->Propose({.parent = 1, .history = {&start}})).proposals;
  Store store = Must(Store::Open(":memory:"));
  SearchOutcome outcome;
  outcome.run = Must(store.CreateRun(SomeRun(), "{}"));
  const auto add = [&](Attempt attempt) {
    outcome.tree.Begin(attempt);
    outcome.tree.AddAttempt(std::move(attempt));
  };
  add(start);
  add(ended(2, 1, moves.at(0), 50));
  add(ended(3, 1, moves.at(1), 0));
  outcome.replayed = 1;
  Must(RememberLessons(store, outcome, problem, machine, "0.9.0"));
  auto lessons = Must(store.AllLessons());
  ASSERT_EQ(lessons.size(), 2u) << "the first was of an earlier session";
  EXPECT_EQ(lessons[0].attempt, 2);
  EXPECT_EQ(lessons[0].family, "map");
  EXPECT_EQ("y." + lessons[0].knob + "=" + lessons[0].after, moves.at(0).key);
  EXPECT_EQ(lessons[0].share, 1);
  EXPECT_DOUBLE_EQ(lessons[0].gain, std::log(2));
  EXPECT_EQ(lessons[0].outcome, "accepted");
  EXPECT_EQ(lessons[1].outcome, "wrong_result");
  EXPECT_EQ(lessons[1].gain, kRefusedGain);
  outcome.replayed = 0;
  Must(RememberLessons(store, outcome, problem, machine, "0.9.0"));
  lessons = Must(store.AllLessons());
  ASSERT_EQ(lessons.size(), 3u);
  const auto begun = std::ranges::find(lessons, 1, &LessonRecord::attempt);
  EXPECT_EQ(begun->family, kStart);
  EXPECT_EQ(begun->before, "map");
  EXPECT_EQ(begun->after, "everything fused");
  EXPECT_DOUBLE_EQ(begun->gain, std::log(start.proposal.predicted_us / 100));
}

TEST(RememberTest, SettingsThatAreNotOursAreRefused) {
  Store store = Must(Store::Open(":memory:"));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "{}"));
  for (const char* settings : {"no json", "[]", R"({"tile": 64})"}) {
    ProvenRecord record = SomeProven();
    record.settings = settings;
    Must(store.PutProven({record}));
    const auto recalled = Recall(store, run, {.keys = {record.piece}}, "0.9.0");
    ASSERT_FALSE(recalled) << settings;
    EXPECT_EQ(recalled.error().kind, ErrorKind::kCorrupt);
  }
}

}  // namespace
}  // namespace hone
