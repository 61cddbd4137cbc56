#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/testing/must.h"
#include "store/store.h"
#include "store/testing/some_records.h"

namespace hone::testing {
namespace {

using JournalStoreTest = StoreTest;

TEST_F(JournalStoreTest, AJournalIsKeptInPiecesAndMayGo) {
  Store store = Must(Store::Open(Path()));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "p")), other = Must(store.CreateRun(SomeRun(), "p"));
  const std::string bytes("a\0b", 3);
  Must(store.AddJournal(run.id, {.attempts = 20, .head = "{\"n\":2}"}, "second"));
  Must(store.AddJournal(run.id, {.attempts = 10, .head = "{\"n\":1}"}, bytes));
  Must(store.AddJournal(other.id, {.attempts = 10, .head = "{}"}, ""));
  EXPECT_FALSE(store.AddJournal(run.id, {.attempts = 10, .head = "{}"}, "again"));
  const std::vector<JournalRecord> pieces = Must(store.Journal(run.id));
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].attempts, 10);
  EXPECT_EQ(pieces[0].head, "{\"n\":1}");
  EXPECT_EQ(pieces[1].attempts, 20);
  EXPECT_EQ(Must(store.JournalBytes(run.id, 10)), bytes);
  EXPECT_EQ(store.JournalBytes(run.id, 11).error().kind, ErrorKind::kNotFound);

  Must(store.DropJournal(run.id, 10));
  EXPECT_EQ(Must(store.Journal(run.id)).size(), 1u);
  Must(store.DeleteRun(run.id));
  EXPECT_EQ(Rows(Path(), "journal"), 1);
  EXPECT_EQ(Must(store.Journal(other.id)).size(), 1u);
}

TEST_F(JournalStoreTest, PartsOfARunAreCountedAndReadAlone) {
  Store store = Must(Store::Open(Path()));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "p"));
  for (int number = 1; number <= 4; ++number) {
    const AttemptRecord started = Started(run, number);
    Must(store.BeginAttempt(started, "text"));
    if (number < 4) Must(store.EndAttempt(Ended(started), "", run));
    Must(store.AddRound(SomeRound(run, number, 0), {Proposed("a proposal")}));
  }
  const AttemptCount all = Must(store.CountAttempts(run.id)), part = Must(store.CountAttempts(run.id, 1, 2));
  EXPECT_EQ(all.ended, 3);
  EXPECT_EQ(all.last, 3);
  EXPECT_EQ(part.ended, 1);
  EXPECT_EQ(part.last, 2);
  EXPECT_DOUBLE_EQ(all.seconds, 0.015);
  EXPECT_DOUBLE_EQ(part.seconds, 0.005);
  const std::vector<RoundRecord> rounds = Must(store.Rounds(run.id, 3));
  ASSERT_EQ(rounds.size(), 1u);
  EXPECT_EQ(rounds[0].number, 4);
}

}  // namespace
}  // namespace hone::testing
