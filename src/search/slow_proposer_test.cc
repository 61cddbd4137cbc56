// A search by a proposer that takes its time: the lanes go on, it is interrupted, and it is not asked again.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "base/files.h"
#include "base/testing/must.h"
#include "search/bench.h"
#include "search/search.h"
#include "search/testing/scripted_evaluator.h"
#include "search/testing/scripted_proposer.h"

namespace hone {
namespace {

using testing::ScriptedEvaluator;

using testing::Must;

constexpr std::uint64_t kSeed = 7;

Budget Attempts(int attempts) { return {.attempts = attempts, .seconds = 0, .headroom = -1}; }

// Answers as the scripted one, after a while. Notes each question in a file, which outlives the process.
class SlowProposer final : public Proposer {
 public:
  SlowProposer(std::string notes, std::chrono::milliseconds thinks) : notes_(std::move(notes)), thinks_(thinks) {}

  Pace pace() const override { return Pace::kSlow; }
  Result<Round> Propose(const Question& question) override {
    const std::string note = fmt::format("{} {}\n", question.parent, question.turn);
    const int file = open(notes_.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
    const bool noted = write(file, note.data(), note.size()) == static_cast<ssize_t>(note.size());
    close(file);
    if (!noted) return Fail(ErrorKind::kIo, "cannot note the question");
    thinking = true;
    const auto until = std::chrono::steady_clock::now() + thinks_;
    while (std::chrono::steady_clock::now() < until && !interrupted_)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    thinking = false;
    if (interrupted_ && !answers_anyway) return Fail(ErrorKind::kInterrupted, "interrupted");
    Round round = HONE_TRY(scripted_.Propose(question));
    round.cost = {.input_tokens = 1000, .output_tokens = 100, .dollars = 0.5};
    return round;
  }
  void Interrupt() override { interrupted_ = true; }

  std::atomic<bool> thinking = false;
  bool answers_anyway = false;

 private:
  const std::string notes_;
  const std::chrono::milliseconds thinks_;
  std::atomic<bool> interrupted_ = false;
  testing::ScriptedProposer scripted_;
};

using Asked = std::pair<int, int>;  // parent and turn

class SlowProposerTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string Notes() const { return folder_.path() + "/notes"; }
  std::string Path() const { return folder_.path() + "/runs.db"; }

  std::vector<Asked> Questions() const {
    std::vector<Asked> questions;
    std::ifstream file(Notes());
    for (Asked one; file >> one.first >> one.second;) questions.push_back(one);
    return questions;
  }
  std::set<Asked> Answered() const {
    std::set<Asked> answered;
    Store store = Must(Store::Open(Path()));
    for (const RunRecord& run : Must(store.Runs())) {
      for (const RoundRecord& round : Must(store.Rounds(run.id))) {
        EXPECT_TRUE(answered.emplace(round.parent, round.turn).second);
      }
    }
    return answered;
  }
  static Result<SearchOutcome> Go(Store& store, const std::string& strategy, int attempts, SlowProposer& proposer,
                                  const std::vector<Evaluator*>& evaluators, const SearchHooks& hooks = {}) {
    return RunScriptedSearch(store,
                             {.seed = kSeed,
                              .search = HONE_TRY(ChooseStrategy(strategy)).Identity(),
                              .proposer = "slow",
                              .lanes = static_cast<int>(evaluators.size())},
                             Attempts(attempts), proposer, evaluators, hooks);
  }

  // A search of 40 attempts, then the same again from its store. `meanwhile`: evaluations that ended while it was
  // thinking.
  void LanesGoOn(SlowProposer& proposer, std::atomic<int>& meanwhile) {
    ScriptedEvaluator one(kSeed), two(kSeed);
    for (ScriptedEvaluator* evaluator : {&one, &two}) {
      evaluator->before = [&](int) -> Result<void> {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (proposer.thinking) ++meanwhile;
        return {};
      };
    }
    Store store = Must(Store::Open(Path()));
    const SearchOutcome outcome = Must(Go(store, GetParam(), 40, proposer, {&one, &two}));
    EXPECT_EQ(outcome.tree.attempts(), 40);
    EXPECT_TRUE(outcome.winner_confirmed);
    // The same again is all from the store, and the same.
    const std::size_t asked = Questions().size();
    const SearchOutcome again = Must(Go(store, GetParam(), 40, proposer, {&one, &two}));
    EXPECT_EQ(Questions().size(), asked);
    EXPECT_EQ(again.replayed, 40);
    EXPECT_FALSE(again.diverged);
    EXPECT_EQ(again.tree.Signature(), outcome.tree.Signature());
    for (const TreeNode& node : again.tree.nodes()) {
      EXPECT_EQ(node.attempt.round, outcome.tree.node(node.attempt.number).attempt.round);
    }
    const RunSummary summary = Must(store.Summarize(again.run));
    EXPECT_EQ(summary.rounds, static_cast<int>(asked));
    EXPECT_EQ(summary.input_tokens, 1000 * summary.rounds);
    EXPECT_EQ(summary.dollars, 0.5 * summary.rounds);
  }

  TempDirectory folder_ = Must(TempDirectory::Create("slow"));
};

TEST_P(SlowProposerTest, TheLanesGoOnWhileItThinks) {
  std::atomic<int> meanwhile = 0;
  // On a busy machine the lanes may get no processor within a short thought.
  for (const int thinks_ms : {20, 100, 500}) {
    if (meanwhile > 5) break;
    meanwhile = 0;
    folder_ = Must(TempDirectory::Create("slow"));
    SlowProposer proposer(Notes(), std::chrono::milliseconds(thinks_ms));
    LanesGoOn(proposer, meanwhile);
  }
  EXPECT_GT(meanwhile, 5);
}

TEST_P(SlowProposerTest, WhoThinksForLongKeepsNobodyFromTheDevice) {
  SlowProposer proposer(Notes(), std::chrono::milliseconds(300));
  ScriptedEvaluator evaluator(kSeed);
  Store store = Must(Store::Open(Path()));
  EXPECT_EQ(Must(Go(store, GetParam(), 2, proposer, {&evaluator})).tree.attempts(), 2);
  EXPECT_GE(evaluator.rests, 3) << "said as long as nothing is asked";
}

// Killed while it thinks, while its answers are tried, and in between.
TEST_P(SlowProposerTest, AfterAKillWhatWasAnsweredIsNotAskedAgain) {
  constexpr int kAttempts = 60;
  std::mt19937_64 random(5);
  int kills = 0, in_the_midst = 0;
  for (bool done = false; !done;) {
    const std::set<Asked> answered = Answered();
    const std::size_t asked = Questions().size();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Result<Store> store = Store::Open(Path());
      if (!store) _exit(1);
      SlowProposer proposer(Notes(), std::chrono::milliseconds(8));
      ScriptedEvaluator one(kSeed), two(kSeed);
      for (ScriptedEvaluator* evaluator : {&one, &two}) {
        evaluator->before = [](int) -> Result<void> {
          std::this_thread::sleep_for(std::chrono::milliseconds(3));
          return {};
        };
      }
      const Result<SearchOutcome> outcome = Go(*store, GetParam(), kAttempts, proposer, {&one, &two});
      _exit(!outcome ? 2 : outcome->diverged ? 3 : 0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(10'000 + random() % 60'000));
    if (kills < 60) kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    done = WIFEXITED(status);
    if (done) {
      ASSERT_EQ(WEXITSTATUS(status), 0) << "2: it failed, 3: it decided differently";
    }
    ++kills;
    const std::vector<Asked> questions = Questions();
    for (std::size_t i = asked; i < questions.size(); ++i) {
      EXPECT_FALSE(answered.contains(questions[i]))
          << "about " << questions[i].first << ", turn " << questions[i].second << ", for a second time";
    }
    in_the_midst += !done && questions.size() > asked;
  }
  EXPECT_GT(kills, 3);
  EXPECT_GT(in_the_midst, 2);
  Store store = Must(Store::OpenExisting(Path()));
  ASSERT_EQ(Must(store.Runs()).size(), 1u);
  EXPECT_EQ(Must(store.Runs())[0].state, RunState::kDone);
  EXPECT_GT(Must(store.Attempts(Must(store.Runs())[0].id)).size(), 40u);
}

TEST_P(SlowProposerTest, AnInterruptReachesItAndTheRunGoesOnLater) {
  Store store = Must(Store::Open(Path()));
  ScriptedEvaluator evaluator(kSeed);
  std::atomic<bool> interrupt = false;
  SearchHooks hooks;
  hooks.interrupt = &interrupt;
  {
    SlowProposer proposer(Notes(), std::chrono::hours(1));
    std::thread user([&] {
      while (!proposer.thinking) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      interrupt = true;
    });
    const SearchOutcome outcome = Must(Go(store, GetParam(), 10, proposer, {&evaluator}, hooks));
    user.join();
    EXPECT_EQ(outcome.stop.cause, Stop::Cause::kInterrupt);
    EXPECT_TRUE(Answered().empty());
  }
  interrupt = false;
  SlowProposer proposer(Notes(), std::chrono::milliseconds(1));
  const SearchOutcome rest = Must(Go(store, GetParam(), 10, proposer, {&evaluator}, hooks));
  EXPECT_EQ(rest.tree.attempts(), 10);
  EXPECT_EQ(std::ranges::count(Questions(), Asked(0, 0)), 2) << "there was no answer to the first one";
}

TEST_P(SlowProposerTest, WhatItAnswersInTheEndIsKeptForLater) {
  Store store = Must(Store::Open(Path()));
  ScriptedEvaluator evaluator(kSeed);
  std::atomic<bool> interrupt = false;
  SearchHooks hooks;
  hooks.interrupt = &interrupt;
  SlowProposer proposer(Notes(), std::chrono::hours(1));
  proposer.answers_anyway = true;
  std::thread user([&] {
    while (!proposer.thinking) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    interrupt = true;
  });
  const SearchOutcome outcome = Must(Go(store, GetParam(), 10, proposer, {&evaluator}, hooks));
  user.join();
  EXPECT_EQ(outcome.tree.attempts(), 0);
  EXPECT_EQ(Answered(), (std::set<Asked>{{0, 0}}));
}

TEST_P(SlowProposerTest, TheEndOfTheTimeIsSeenWhileItThinks) {
  Store store = Must(Store::Open(Path()));
  ScriptedEvaluator evaluator(kSeed);
  SlowProposer proposer(Notes(), std::chrono::hours(1));
  std::atomic<double> now = 0;
  SearchHooks hooks;
  hooks.seconds = [&] { return now += 0.5; };
  const SearchOutcome outcome =
      Must(RunScriptedSearch(store, {.seed = kSeed, .search = GetParam(), .proposer = "slow"},
                             {.attempts = 10, .seconds = 20, .headroom = -1}, proposer, {&evaluator}, hooks));
  EXPECT_EQ(outcome.stop.reason, "the 20 s are spent");
}

TEST_P(SlowProposerTest, AFailureOfItIsToldAndTheRunCanGoOn) {
  SlowProposer proposer(folder_.path() + "/no/such/folder", std::chrono::milliseconds(1));
  Store store = Must(Store::Open(Path()));
  ScriptedEvaluator evaluator(kSeed);
  const Result<SearchOutcome> failed = Go(store, GetParam(), 10, proposer, {&evaluator});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "cannot note the question");
  EXPECT_EQ(Must(store.Runs())[0].state, RunState::kInterrupted);
}

std::vector<std::string> StrategyNames() {
  std::vector<std::string> names;
  for (const StrategyRow* row : AllStrategies()) names.emplace_back(row->name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Strategies, SlowProposerTest, ::testing::ValuesIn(StrategyNames()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace hone
