#include "search/remember.h"

#include <gtest/gtest.h>

#include "base/testing/must.h"
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
  const Recalled recalled = Must(Recall(store, run, {"k1", "k2"}));
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
  EXPECT_TRUE(Must(Recall(store, run, {"k1"})).empty());
}

TEST(RememberTest, WhatWasNotConfirmedIsNotKept) {
  Store store = Must(Store::Open(":memory:"));
  SearchOutcome outcome = Searched(store);
  outcome.winner_confirmed = false;
  Must(Remember(store, outcome, kPieces, "0.9.0"));
  EXPECT_TRUE(Must(store.AllProven()).empty());
}

TEST(RememberTest, SettingsThatAreNotOursAreRefused) {
  Store store = Must(Store::Open(":memory:"));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "{}"));
  for (const char* settings : {"no json", "[]", R"({"tile": 64})"}) {
    ProvenRecord record = SomeProven();
    record.settings = settings;
    Must(store.PutProven({record}));
    const auto recalled = Recall(store, run, {record.piece});
    ASSERT_FALSE(recalled) << settings;
    EXPECT_EQ(recalled.error().kind, ErrorKind::kCorrupt);
  }
}

}  // namespace
}  // namespace hone
