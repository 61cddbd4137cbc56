#include "command/kept_suite.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/testing/must.h"

namespace hone {
namespace {

using testing::Must;

class KeptSuiteTest : public ::testing::Test {
 protected:
  static Helping Helped(const std::string& problem, int attempts) {
    return {.problem = problem,
            .number = 1,
            .attempts = attempts,
            .before_us = 20,
            .best_us = 10,
            .seconds = 2,
            .won = true,
            .run = "0a1b2c",
            .document = R"({"best": {"kind": "program", "timing": {"warm": {"median_us": 10}}}})"};
  }
  SeenFile Seen() const {
    const std::vector<SeenFile> all = LookAtAll(SuitesOf(store_));
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? SeenFile() : all.front();
  }

  const TempDirectory folder_ = Must(TempDirectory::Create("kept-suite"));
  const std::string store_ = folder_.path() + "/runs.sqlite";
  const KeptSuite suite_{.suite = "problems",
                         .problems = {{.key = "a", .name = "one/a", .group = "one", .path = ""},
                                      {.key = "b", .name = "one/b", .group = "one", .path = ""}},
                         .ledger = store_ + "-suites/0123456789ab.jsonl",
                         .made = {{"command", "hone optimize --suite problems"}},
                         .stop = ""};
};

TEST_F(KeptSuiteTest, WhatItDidIsSeenWhileItIsAtWorkAndItsEndAfterwards) {
  EXPECT_TRUE(LookAtAll(SuitesOf(store_)).empty());
  SuiteLedger ledger = Must(SuiteLedger::Open(suite_.ledger));
  std::optional<SuiteAtWork> at_work = Must(KeepSuite(store_, suite_));
  const SeenFile first = Seen();
  EXPECT_EQ(first.state, "running");
  EXPECT_EQ(Must(SuiteSoFar(first))["stop"], "not yet: 0 of 2 problems had a helping");
  Must(ledger.Add(Helped("a", 8)));
  Must(ledger.Add(Helped("somebody else's", 8)));
  const SeenFile second = Seen();
  EXPECT_NE(second.stamp, first.stamp);
  EXPECT_EQ(second.id, first.id);
  const nlohmann::json grown = Must(SuiteSoFar(second));
  EXPECT_EQ(grown["stop"], "not yet: 1 of 2 problems had a helping");
  EXPECT_EQ(grown["solved"], 1);
  EXPECT_EQ(grown["faster"], 1);
  EXPECT_EQ(grown["seconds"], 2);
  EXPECT_EQ(grown["complete"], false);
  EXPECT_EQ(grown["helpings"].size(), 1u);
  EXPECT_EQ(grown["rows"][1]["failure"], "not looked at: not yet: 1 of 2 problems had a helping");
  const SuiteAtWork ended{.file = at_work->file, .lock = {}};
  at_work.reset();
  EXPECT_EQ(Seen().state, "killed");
  Must(KeepEnd(ended, suite_, "the 60 s are spent"));
  EXPECT_EQ(Seen().state, "ended");
  EXPECT_EQ(Must(SuiteSoFar(Seen()))["stop"], "the 60 s are spent");
}

TEST_F(KeptSuiteTest, TheSameSuiteIsOneAndOthersAreOthers) {
  Must(SuiteLedger::Open(suite_.ledger));
  Must(KeepSuite(store_, suite_));
  Must(KeepSuite(store_, suite_));
  Seen();
  KeptSuite other = suite_;
  other.problems.pop_back();
  Must(KeepSuite(store_, other));
  EXPECT_EQ(LookAtAll(SuitesOf(store_)).size(), 2u);
}

TEST_F(KeptSuiteTest, NothingElseIsFoundByAnId) {
  Must(SuiteLedger::Open(suite_.ledger));
  Must(KeepSuite(store_, suite_));
  EXPECT_EQ(Must(LookAtOne(SuitesOf(store_), Seen().id)).file, Seen().file);
  for (const char* id : {"", "..", "../runs", "0123", "%2e%2e"})
    EXPECT_EQ(LookAtOne(SuitesOf(store_), id).error().kind, ErrorKind::kNotFound) << id;
  Must(WriteFileAtomically(store_ + "-suites/00ff.suite.json", "torn"));
  Seen();
}

}  // namespace
}  // namespace hone
