// A proposer that may spend no more: what waits is tried, the run ends by its budget, and goes on when it may again.
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing/must.h"
#include "search/bench.h"
#include "search/run_ledger.h"
#include "search/search.h"
#include "search/testing/scripted_evaluator.h"
#include "search/testing/scripted_proposer.h"

namespace hone {
namespace {

using testing::Must;

class Capped final : public Proposer {
 public:
  explicit Capped(int questions) : left_(questions) {}
  Pace pace() const override { return Pace::kSlow; }
  Result<Round> Propose(const Question& question) override {
    ++asked;
    if (left_-- <= 0) return Fail(ErrorKind::kSpent, "the cap is reached");
    Round round = HONE_TRY(scripted_.Propose(question));
    round.notes = {"a note"};
    return round;
  }
  int asked = 0;

 private:
  int left_;
  testing::ScriptedProposer scripted_;
};

SearchOutcome Go(Store& store, Capped& proposer, const SearchHooks& hooks = {}) {
  testing::ScriptedEvaluator evaluator(7);
  return Must(RunScriptedSearch(
      store, {.seed = 7, .search = Must(ChooseStrategy("greedy")).Identity(), .proposer = "capped", .lanes = 1},
      {.attempts = 12, .headroom = -1}, proposer, {&evaluator}, hooks));
}

TEST(WithheldTest, WhatWaitsIsTriedAndTheQuestionComesAgain) {
  Store store = Must(Store::Open(":memory:"));
  Capped poor(1);
  int notes = 0;
  const SearchOutcome first = Go(store, poor, {.note = [&](const std::string&) { ++notes; }});
  EXPECT_EQ(first.stop.cause, Stop::Cause::kWithheld);
  EXPECT_EQ(first.stop.reason, "the cap is reached");
  EXPECT_EQ(first.tree.attempts(), 2) << "what the strategy finds worth trying of the one answer";
  EXPECT_EQ(poor.asked, 2) << "and not again in this session";
  EXPECT_EQ(notes, 1);
  EXPECT_EQ(first.run.state, RunState::kDone);

  Capped rich(100);
  const SearchOutcome second = Go(store, rich);
  EXPECT_EQ(second.tree.attempts(), 12);
  EXPECT_EQ(second.replayed, 2);
  EXPECT_FALSE(second.diverged);
  Capped whole(100);
  Store other = Must(Store::Open(":memory:"));
  EXPECT_EQ(Go(other, whole).tree.attempts(), 12);
}

TEST(WithheldTest, TheLedgerOfARunIsInItsStore) {
  const TempDirectory folder = Must(TempDirectory::Create("ledger"));
  Store store = Must(Store::Open(folder.path() + "/runs.db"));
  const RunRecord run = Must(store.CreateRun({.problem_name = "p", .problem_identity = "i"}, "{}"));
  class Yes final : public Model {
   public:
    Asked Ask(const Conversation&, const GoOn&) override {
      ++asked;
      return {.reply = ModelReply{.text = "yes"}, .usage = {.input_tokens = 7, .output_tokens = 3}, .tries = 1};
    }
    void Interrupt() override {}
    int asked = 0;
  } model;
  std::vector<std::string> notes;
  for (int session = 0; session < 2; ++session) {
    const auto ledger = Must(OpenLedger(store, run.id, {.tokens = 100'000}));
    EXPECT_EQ(Must(ledger->Ask(model, {.name = "m"}, {.parent = 1, .role = "coder"}, {}, notes)).text, "yes");
    EXPECT_EQ(ledger->Total().tokens(), 10);
    EXPECT_EQ(ledger->Of(1, 0).calls, 1);
  }
  EXPECT_EQ(model.asked, 1);
  EXPECT_EQ(Must(LedgerLines(store, run.id)).at(0).purpose.role, "coder");
}

}  // namespace
}  // namespace hone
