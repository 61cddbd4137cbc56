#include <gtest/gtest.h>

#include "store/testing/some_records.h"

namespace hone {
namespace {

using namespace testing;

class LessonsTest : public StoreTest {};

TEST_F(LessonsTest, ThoseOfAFamilyAreFoundOnEveryMachineOldestFirst) {
  Store store = Must(Store::Open(Path()));
  LessonRecord first = SomeLesson(), second = SomeLesson(), elsewhere = SomeLesson(), other = SomeLesson();
  second.attempt = 3;
  second.at_ms = 50;
  second.machine = "m2";
  elsewhere.attempt = 4;
  elsewhere.target = "cuda";
  other.attempt = 5;
  other.family = "norm";
  Must(store.PutLessons({first, second, elsewhere, other}));
  const auto found = Must(store.Lessons("cpu", "softmax"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].attempt, 3);
  EXPECT_EQ(found[1].machine, "m1");
  EXPECT_EQ(found[1].problem_identity, first.problem_identity);
  EXPECT_EQ(found[1].knob, "vector");
  EXPECT_EQ(found[1].before, "32");
  EXPECT_EQ(found[1].after, "64");
  EXPECT_EQ(found[1].dtype, "f32");
  EXPECT_EQ(found[1].size, 16);
  EXPECT_EQ(found[1].limited_by, "memory");
  EXPECT_EQ(found[1].rule, "vector_width");
  EXPECT_EQ(found[1].share, 0.75);
  EXPECT_EQ(found[1].gain, 0.25);
  EXPECT_EQ(found[1].outcome, "accepted");
  EXPECT_EQ(found[1].version, "0.1.0");
  EXPECT_EQ(Must(store.AllLessons()).size(), 4u);
  Must(store.DeleteLessons({other}));
  EXPECT_EQ(Must(store.AllLessons()).size(), 3u);
  EXPECT_TRUE(Must(store.Lessons("cpu", "norm")).empty());
  Must(store.PutLessons({other}));
  first.gain = -1;
  Must(store.PutLessons({first}));
  EXPECT_EQ(Must(store.AllLessons()).size(), 4u) << "an attempt teaches once";
  EXPECT_EQ(Must(store.Lessons("cpu", "softmax")).at(1).gain, -1);
}

TEST_F(LessonsTest, WhatWasDoubtedIsCountedByWhatBecameOfIt) {
  Store store = Must(Store::Open(Path()));
  const RunRecord run = Must(store.CreateRun(SomeRun(), "{}"));
  ProposalRecord dropped = Proposed("a"), tried = Proposed("b"), usual = Proposed("c");
  dropped.key = "dropped";
  dropped.doubt = tried.doubt = "all 3 of its kind were refused";
  dropped.dropped = true;
  tried.key = "tried";
  usual.key = "usual";
  Must(store.AddRound(SomeRound(run, 1, 0), {dropped, tried, usual}));
  const auto read = Must(store.Proposals(run.id, 1));
  EXPECT_EQ(read.at(0).doubt, dropped.doubt);
  EXPECT_TRUE(read.at(0).dropped);
  EXPECT_FALSE(read.at(1).dropped);
  const auto doubts = [&] { return Must(store.CountDoubts("soft", "m")).experience; };
  EXPECT_EQ(doubts().dropped, 1);
  EXPECT_EQ(doubts().tried, 0);
  int number = 0;
  for (const char* key : {"usual", "tried"}) {
    AttemptRecord attempt = Started(run, ++number);
    attempt.parent = 0;
    attempt.round = 1;
    attempt.key = key;
    Must(store.BeginAttempt(attempt, key));
    Must(store.EndAttempt(Ended(attempt), "", run));
  }
  EXPECT_EQ(doubts().dropped, 1);
  EXPECT_EQ(doubts().tried, 1);
  EXPECT_EQ(doubts().accepted, 1);
  EXPECT_EQ(Must(store.CountDoubts("soft", "another")).experience.dropped, 0);
}

}  // namespace
}  // namespace hone
