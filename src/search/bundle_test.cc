#include "search/bundle.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "base/files.h"
#include "base/testing/must.h"
#include "search/ahead.h"
#include "search/bench.h"
#include "search/record.h"
#include "search/search.h"
#include "search/testing/scripted_evaluator.h"
#include "search/testing/scripted_proposer.h"

namespace hone {
namespace {

using testing::Must;

constexpr const char* kProblem = R"({"hone_problem": 1, "name": "p", "contract": "fp32",
 "tensors": [{"name": "x", "shape": [4], "dtype": "f32", "role": "input",
              "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
             {"name": "y", "shape": [4], "dtype": "f32", "role": "output"}],
 "graph": [{"op": "relu", "args": {"self": "%x"}, "outputs": ["y"]}]})";

class SlowScripted final : public Proposer {
 public:
  Pace pace() const override { return Pace::kSlow; }
  Result<Round> Propose(const Question& question) override { return scripted_.Propose(question); }

 private:
  testing::ScriptedProposer scripted_;
};

// A run over the scripted space, of a problem that is one, in a folder of the test's own.
class BundleTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  static SearchSettings Settings(int attempts) {
    SearchSettings settings;
    settings.run = {.seed = 7, .search = Must(ChooseStrategy("greedy")).Identity(), .proposer = "slow"};
    settings.budget = {.attempts = attempts, .seconds = 0, .headroom = -1};
    return settings;
  }
  static RunRecord Begin(Store& store, std::uint64_t seed = 7) {
    SearchSettings settings = Settings(12);
    settings.run.seed = seed;
    return Must(store.CreateRun({.problem_name = "p",
                                 .problem_identity = Identity(Must(ParseProblem(kProblem, "p"))),
                                 .target = "scripted",
                                 .machine = "none",
                                 .settings = ToJson(settings.run),
                                 .budget = ToJson(settings.budget)},
                                kProblem));
  }
  // What the machine with the network does, and what that with the device does.
  static void Ask(Store& store, int proposals) {
    SlowScripted proposer;
    const RunRecord run = Must(store.Runs()).front();
    static_cast<void>(Must(ProposeAhead(store, run, proposer, Settings(12), proposals)));
  }
  static SearchOutcome Try(Store& store, int attempts = 12) {
    AskedElsewhere proposer(Pace::kSlow, "asked elsewhere");
    testing::ScriptedEvaluator evaluator(7);
    const RunRecord run = Must(store.Runs()).front();
    return Must(RunSearch(store, run, proposer, evaluator, Settings(attempts)));
  }
  std::string Bundle(Store& store, const std::string& name) {
    const Result<void> written = WriteBundle(store, Must(store.Runs()), Path(name));
    EXPECT_TRUE(written) << written.error().message;
    return Path(name);
  }
  static std::string All(Store& store) {
    std::string text;
    std::vector<RunRecord> runs = Must(store.Runs());
    std::ranges::sort(runs, {}, &RunRecord::created_ms);
    for (const RunRecord& run : runs) text += TextOf(Must(ReadContents(store, run)));
    return text;
  }
  // A bundle that somebody has changed by SQL; `path` is refused with these words, and the store stays as it was.
  void Refuse(const std::string& path, const std::string& words) {
    Store store = Must(Store::Open(Path("kept.db")));
    if (Must(store.Runs()).empty()) Begin(store, 99);
    const std::string before = All(store);
    const Result<Written> merged = MergeBundle(store, path);
    ASSERT_FALSE(merged) << words;
    EXPECT_NE(merged.error().message.find(words), std::string::npos) << merged.error().message;
    EXPECT_EQ(merged.error().message.find('\n'), std::string::npos);
    EXPECT_EQ(All(store), before);
  }
  void RefuseAfter(const std::string& sql, const std::string& words) {
    const std::string path = Path("changed.bundle");
    std::filesystem::copy_file(good_, path, std::filesystem::copy_options::overwrite_existing);
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_close(raw);
    Refuse(path, words);
  }
  void MakeGood() {
    Store store = Must(Store::Open(Path("made.db")));
    Begin(store);
    Ask(store, 3);
    Try(store);
    Ask(store, 3);
    good_ = Bundle(store, "good.bundle");
  }

  TempDirectory folder_ = Must(TempDirectory::Create("bundle"));
  std::string good_;
};

TEST_F(BundleTest, ARunIsCarriedWholeAndMergingAgainChangesNothing) {
  MakeGood();
  Store made = Must(Store::Open(Path("made.db"))), other = Must(Store::Open(Path("other.db")));
  EXPECT_EQ(Must(MergeBundle(other, good_)).created, 1);
  EXPECT_EQ(All(other), All(made));
  EXPECT_EQ(Must(other.Runs()).front().id, Must(made.Runs()).front().id);
  EXPECT_EQ(Must(MergeBundle(other, good_)).unchanged, 1);
  EXPECT_EQ(All(other), All(made));
  EXPECT_EQ(std::filesystem::exists(good_ + "-wal"), false) << "a bundle is one file";
}

// The file stays where it is: what a problem is, it says with its content.
TEST_F(BundleTest, ARunWhoseValuesLieInAFileIsMerged) {
  std::string problem = kProblem;
  const std::string drawn = R"("generator": {"kind": "normal", "mean": 0, "deviation": 1})";
  problem.replace(problem.find(drawn), drawn.size(),
                  R"("generator": {"kind": "file", "path": "v.safetensors", "tensor": "x"})");
  Store store = Must(Store::Open(Path("values.sqlite")));
  const SearchSettings settings = Settings(1);
  static_cast<void>(Must(store.CreateRun({.problem_name = "p",
                                          .problem_identity = std::string(64, 'a'),
                                          .target = "scripted",
                                          .machine = "none",
                                          .settings = ToJson(settings.run),
                                          .budget = ToJson(settings.budget)},
                                         problem)));
  Store other = Must(Store::Open(Path("other.sqlite")));
  EXPECT_EQ(Must(MergeBundle(other, Bundle(store, "values.bundle"))).created, 1);
}

TEST_F(BundleTest, TwoMachinesInTurnMakeOneRun) {
  Store network = Must(Store::Open(Path("network.db"))), device = Must(Store::Open(Path("device.db")));
  Begin(device);
  Try(device);
  for (int turn = 0; turn < 3; ++turn) {
    static_cast<void>(Must(MergeBundle(network, Bundle(device, "there.bundle"))));
    Ask(network, 4);
    EXPECT_EQ(Must(MergeBundle(device, Bundle(network, "back.bundle"))).changed, 1);
    EXPECT_FALSE(Try(device).diverged) << turn;
  }
  EXPECT_GT(Must(device.Attempts(Must(device.Runs()).front().id)).size(), 5u);
}

// Copies of one run that went on apart: more asked, more tried, tried differently.
TEST_F(BundleTest, TheOrderOfMergingMakesNoDifference) {
  Store first = Must(Store::Open(Path("0.db")));
  Begin(first);
  Ask(first, 3);
  const std::string root = Bundle(first, "root.bundle");
  const std::vector<std::function<void(Store&)>> apart = {
      [](Store& store) { Ask(store, 9); },
      [](Store& store) { Try(store, 1); },
      [](Store& store) {
        Try(store, 2);
        Ask(store, 4);
      },
  };
  std::vector<std::string> bundles;
  for (std::size_t i = 0; i < apart.size(); ++i) {
    Store copy = Must(Store::Open(Path("copy" + std::to_string(i))));
    static_cast<void>(Must(MergeBundle(copy, root)));
    apart[i](copy);
    bundles.push_back(Bundle(copy, std::to_string(i) + ".bundle"));
  }
  std::vector<std::size_t> order = {0, 1, 2};
  std::string expected;
  do {
    Store merged = Must(Store::Open(":memory:"));
    for (const std::size_t one : order) static_cast<void>(Must(MergeBundle(merged, bundles[one])));
    const std::string text = All(merged);
    if (expected.empty()) expected = text;
    EXPECT_EQ(text, expected) << order[0] << order[1] << order[2];
    EXPECT_EQ(Must(merged.Attempts(Must(merged.Runs()).front().id)).size(), 1u) << "the list that went on first";
    static_cast<void>(Must(MergeBundle(merged, bundles[order[0]])));
    EXPECT_EQ(All(merged), expected) << "again";
  } while (std::ranges::next_permutation(order).found);
}

TEST_F(BundleTest, AnotherRunOfTheSameIdGetsALongerOne) {
  MakeGood();
  Store store = Must(Store::Open(Path("clash.db")));
  Begin(store, 99);
  const std::string id = Must(Must(Store::Open(Path("made.db"))).Runs()).front().id;
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(Path("clash.db").c_str(), &raw), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(raw, ("UPDATE run SET id = '" + id + "'").c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(raw);
  EXPECT_EQ(Must(MergeBundle(store, good_)).created, 1);
  const std::vector<RunRecord> runs = Must(store.Runs());
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_NE(runs[0].id, runs[1].id);
  EXPECT_EQ(Must(MergeBundle(store, good_)).unchanged, 1);
}

TEST_F(BundleTest, ARunThatIsWorkedOnIsNotMerged) {
  MakeGood();
  Store store = Must(Store::Open(Path("busy.db")));
  static_cast<void>(Must(MergeBundle(store, good_)));
  const auto lock = Must(store.Lock(Must(store.Runs()).front().id));
  Store other = Must(Store::Open(Path("busy.db")));
  const auto merged = MergeBundle(other, good_);
  ASSERT_FALSE(merged);
  EXPECT_NE(merged.error().message.find("is at work on run"), std::string::npos);
}

TEST_F(BundleTest, WhatIsNoBundleIsRefused) {
  MakeGood();
  Refuse(Path("absent"), "there is no such file");
  Refuse(folder_.path(), "there is no such file");
  std::ofstream(Path("text")) << std::string(5000, 'x');
  Refuse(Path("text"), "is no bundle");
  std::ofstream(Path("empty"));
  Refuse(Path("empty"), "is no bundle");
  const std::string bytes = Must(ReadFile(good_));
  for (const std::size_t left : {bytes.size() - 1, bytes.size() / 2, std::size_t{4096}, std::size_t{100}}) {
    std::ofstream(Path("short"), std::ios::binary) << bytes.substr(0, left);
    Refuse(Path("short"), "is damaged");
  }
  std::ofstream(Path("large"), std::ios::binary) << bytes;
  std::filesystem::resize_file(Path("large"), kLargestForeign + 1);
  Refuse(Path("large"), "bundle fewer runs");
  RefuseAfter("PRAGMA user_version = 99", "update hone");
  RefuseAfter("PRAGMA application_id = 1", "is no bundle");
}

TEST_F(BundleTest, WhatSaysWhatNoRunCanIsRefused) {
  MakeGood();
  RefuseAfter("UPDATE blob SET bytes = x'00'", "a text is not what its name says");
  RefuseAfter("PRAGMA foreign_keys = OFF; DELETE FROM blob", "is damaged");
  RefuseAfter("UPDATE attempt SET identity = 'x' WHERE number = 1", "is not the text that it names");
  RefuseAfter("UPDATE attempt SET outcome = 'brilliant' WHERE number = 1", "has no verdict of ours");
  RefuseAfter("UPDATE attempt SET evaluation = '{' WHERE number = 1", "has no verdict of ours");
  RefuseAfter("UPDATE attempt SET round = 1000 WHERE number = 1", "is of no answer");
  RefuseAfter("UPDATE round SET parent = 1000 WHERE number = 1", "is of no question");
  RefuseAfter("UPDATE run SET problem_identity = 'x'", "is not of the problem that it names");
  RefuseAfter("UPDATE run SET settings = '[]'", "settings that are not ours");
  RefuseAfter("UPDATE run SET id = '../../etc'", "an id that is none of ours");
  RefuseAfter("UPDATE run SET best_attempt = 1000", "a best attempt that it did not make");
  RefuseAfter("CREATE TRIGGER t AFTER INSERT ON blob BEGIN DELETE FROM run; END", "its tables are not ours");
  RefuseAfter("CREATE VIEW v AS SELECT 1", "its tables are not ours");
  RefuseAfter("ALTER TABLE run ADD COLUMN more TEXT", "its tables are not ours");
}

// kill -9 at any moment of a merge or of a bundle's writing: the store is as before or as after, the bundle whole.
TEST_F(BundleTest, AKillLeavesBothWhole) {
  MakeGood();
  Store whole = Must(Store::Open(Path("whole.db")));
  static_cast<void>(Must(MergeBundle(whole, good_)));
  const std::string after = All(whole);
  const std::string target = Path("killed.db"), bundle = Path("killed.bundle");
  static_cast<void>(Must(Store::Open(target)));
  const std::string good = Must(ReadFile(good_));
  std::ofstream(bundle, std::ios::binary) << good;
  int before_it = 0, after_it = 0;
  for (int delay_us = 0; delay_us < 40'000; delay_us += 2'000) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) {
        auto store = Store::Open(target);
        if (!store || !MergeBundle(*store, good_) || !WriteBundle(*store, *store->Runs(), bundle)) _exit(1);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    Store store = Must(Store::Open(target));
    const std::string now = All(store);
    EXPECT_TRUE(now.empty() || now == after);
    ++(now.empty() ? before_it : after_it);
    Store fresh = Must(Store::Open(":memory:"));
    EXPECT_EQ(Must(MergeBundle(fresh, bundle)).created, 1);
    EXPECT_EQ(All(fresh), after);
    if (!now.empty()) Must(store.DeleteRun(Must(store.Runs()).front().id));
  }
  EXPECT_GT(before_it, 0);
  EXPECT_GT(before_it + after_it, 10);
}

}  // namespace
}  // namespace hone
