// Crossings in a whole run: the expert's programs, times from a script.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "base/testing/must.h"
#include "problem/problem.h"
#include "propose/expert/expert.h"
#include "search/bench.h"
#include "search/record.h"
#include "search/search.h"

namespace hone {
namespace {

using testing::Must;

constexpr int kAttempts = 40;

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

// Each line of a program has a time of its own, so that what is fast in one program is so in another.
class ByLine final : public Evaluator {
 public:
  Result<Evaluation> Evaluate(const Candidate& candidate, const EvaluateRequest&) override {
    ++evaluations;
    if (evaluations == interrupt_at) interrupt = true;
    double us = 0;
    for (const std::string& line : LinesOf(candidate.text)) {
      if (line.find('=') != line.npos) us += 50 + std::stoi(Sha256(line).substr(0, 2), nullptr, 16);
    }
    Evaluation evaluation;
    evaluation.verdict.outcome = Outcome::kAccepted;
    evaluation.timing = Timing{.warm = {.median_us = us, .count = 10}};
    return evaluation;
  }
  void Interrupt() override {}

  int evaluations = 0, interrupt_at = 0;
  std::atomic<bool> interrupt = false;
};

class CrossingRunTest : public ::testing::Test {
 protected:
  SearchOutcome Search(Store& store, ByLine& evaluator) const {
    const auto expert = MakeExpert(graph_, DeviceModel{.threads = 4});
    SearchSettings settings{.run = {.seed = 3, .search = "evolve:cross=3,islands=1", .proposer = "expert"},
                            .budget = {.attempts = kAttempts, .seconds = 0, .headroom = -1}};
    settings.run.search = Must(ChooseStrategy(settings.run.search)).Identity();
    settings.confirm_candidates = 0;
    SearchHooks hooks;
    hooks.interrupt = &evaluator.interrupt;
    return Must(RunScriptedSearch(store, settings, *expert, {&evaluator}, hooks));
  }

  // Two statements that compute different things, so that neither is the other's.
  const Graph graph_ = Must(Graph::Create(Must(ParseProblem(R"({"hone_problem": 1, "name": "two", "tensors": [
      {"name": "x", "shape": [64, 300], "dtype": "f32", "role": "input",
       "generator": {"kind": "uniform", "low": 0, "high": 1}},
      {"name": "w", "shape": [48, 500], "dtype": "f32", "role": "input",
       "generator": {"kind": "uniform", "low": 0, "high": 1}},
      {"name": "y", "shape": [64, 300], "dtype": "f32", "role": "output"},
      {"name": "z", "shape": [48, 500], "dtype": "f32", "role": "output"}],
      "graph": [{"op": "softmax", "args": {"self": "%x", "dim": 1}, "outputs": ["y"]},
                {"op": "softmax", "args": {"self": "%w", "dim": 1}, "outputs": ["z"]}]})",
                                                            "test"))));
};

TEST_F(CrossingRunTest, TheExpertsCrossingsAreTriedAndHaveLinesOfBothParents) {
  Store store = Must(Store::Open(":memory:"));
  ByLine evaluator;
  const SearchOutcome outcome = Search(store, evaluator);
  const auto records = Must(store.Attempts(outcome.run.id));
  ASSERT_EQ(records.size(), static_cast<std::size_t>(kAttempts)) << outcome.stop.reason;
  int crossings = 0, faster = 0;
  for (const AttemptRecord& record : records) {
    const Attempt& attempt = outcome.tree.node(record.number).attempt;
    EXPECT_EQ(record.mate, attempt.mate);
    if (record.mate == 0) continue;
    ++crossings;
    ASSERT_LT(record.mate, record.number);
    const Attempt &parent = outcome.tree.node(record.parent).attempt, &mate = outcome.tree.node(record.mate).attempt;
    EXPECT_TRUE(record.key.starts_with("cross " + std::to_string(record.mate) + " ")) << record.key;
    EXPECT_NE(record.origin.find("as in attempt " + std::to_string(record.mate)), std::string::npos) << record.origin;
    faster += attempt.time_us() < std::min(parent.time_us(), mate.time_us()) ? 1 : 0;
    const auto lines = LinesOf(attempt.proposal.candidate.text), ours = LinesOf(parent.proposal.candidate.text),
               theirs = LinesOf(mate.proposal.candidate.text);
    ASSERT_EQ(lines.size(), ours.size());
    if (record.key.find('.') != record.key.npos) continue;  // single settings of a statement
    bool of_parent = false, of_mate = false;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      EXPECT_TRUE(lines[i] == ours[i] || lines[i] == theirs[i]) << lines[i];
      of_parent |= ours[i] != theirs[i] && lines[i] == ours[i];
      of_mate |= ours[i] != theirs[i] && lines[i] == theirs[i];
    }
    EXPECT_TRUE(of_parent && of_mate) << record.number;
  }
  EXPECT_GE(crossings, 4);
  EXPECT_GE(faster, 1) << "what is fast of both is faster than either";
  int rounds = 0;
  for (const RoundRecord& round : Must(store.Rounds(outcome.run.id))) {
    if (round.mate == 0) continue;
    ++rounds;
    std::set<std::string> texts = {outcome.tree.node(round.parent).attempt.proposal.candidate.text,
                                   outcome.tree.node(round.mate).attempt.proposal.candidate.text};
    for (const ProposalRecord& one : Must(store.Proposals(outcome.run.id, round.number)))
      EXPECT_TRUE(texts.insert(one.source).second) << one.key << " is one of the two, or there twice";
  }
  EXPECT_GE(rounds, crossings / 4);
}

TEST_F(CrossingRunTest, ARunThatWasInterruptedCrossesTheSame) {
  Store whole_store = Must(Store::Open(":memory:")), store = Must(Store::Open(":memory:"));
  ByLine at_once;
  const SearchOutcome whole = Search(whole_store, at_once);
  for (const int at : {4, 9, 11}) {
    ByLine part;
    part.interrupt_at = at;
    static_cast<void>(Search(store, part));
  }
  ByLine last;
  const SearchOutcome rest = Search(store, last);
  EXPECT_FALSE(rest.diverged);
  EXPECT_EQ(rest.tree.Signature(), whole.tree.Signature());
  EXPECT_EQ(rest.replayed, 3 + 8 + 10);
}

}  // namespace
}  // namespace hone
