#include "search/bench.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>

#include "base/sha256.h"
#include "propose/random.h"
#include "search/search.h"
#include "search/testing/scripted_evaluator.h"
#include "search/testing/scripted_proposer.h"
#include "search/testing/scripted_space.h"

namespace hone {

Result<SearchOutcome> RunScriptedSearch(Store& store, const std::string& strategy, std::uint64_t seed,
                                        const Budget& budget, Evaluator& evaluator, const SearchHooks& hooks) {
  return RunScriptedSearch(store, strategy, seed, budget, std::vector<Evaluator*>{&evaluator}, hooks);
}

Result<SearchOutcome> RunScriptedSearch(Store& store, const std::string& strategy, std::uint64_t seed,
                                        const Budget& budget, const std::vector<Evaluator*>& evaluators,
                                        const SearchHooks& hooks) {
  testing::ScriptedProposer proposer;
  return RunScriptedSearch(store,
                           {.seed = seed,
                            .search = HONE_TRY(ChooseStrategy(strategy)).Identity(),
                            .proposer = "scripted",
                            .lanes = static_cast<int>(evaluators.size())},
                           budget, proposer, evaluators, hooks);
}

Result<SearchOutcome> RunScriptedSearch(Store& store, const RunSettings& run, const Budget& budget, Proposer& proposer,
                                        const std::vector<Evaluator*>& evaluators, const SearchHooks& hooks) {
  return RunScriptedSearch(store, {.run = run, .budget = budget}, proposer, evaluators, hooks);
}

Result<SearchOutcome> RunScriptedSearch(Store& store, const SearchSettings& settings, Proposer& proposer,
                                        const std::vector<Evaluator*>& evaluators, const SearchHooks& hooks) {
  RunRecord wanted;
  wanted.problem_name = "scripted space";
  wanted.problem_identity = Sha256(wanted.problem_name);
  wanted.target = "scripted";
  wanted.machine = "none";
  wanted.settings = ToJson(settings.run);
  wanted.budget = ToJson(settings.budget);
  wanted.bound_us = static_cast<double>(testing::ScriptedOptimumNanoseconds()) / 1000;
  OpenedRun opened = HONE_TRY(OpenRun(store, wanted, "{\"scripted\": true}\n"));
  return RunSearch(store, std::move(opened.record), proposer, evaluators, settings, hooks);
}

Result<Bench> RunBench(const BenchSettings& settings) {
  Bench bench;
  std::string signatures;
  const std::int64_t optimum = testing::ScriptedOptimumNanoseconds();
  for (const StrategyRow* strategy : AllStrategies()) {
    for (const std::uint64_t seed : settings.seeds) {
      Store store = HONE_TRY(Store::Open(":memory:"));
      testing::ScriptedEvaluator evaluator(seed);
      const auto begun = std::chrono::steady_clock::now();
      const SearchOutcome outcome =
          HONE_TRY(RunScriptedSearch(store, std::string(strategy->name), seed,
                                     {.attempts = settings.attempts, .seconds = 0, .headroom = -1}, evaluator));
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
      BenchRow& row = bench.rows.emplace_back();
      row.strategy = strategy->name;
      row.seed = seed;
      row.attempts = outcome.tree.attempts();
      row.evaluate_us = took.count() / std::max(1, row.attempts);
      for (const TreeNode& node : outcome.tree.nodes()) row.accepted += node.attempt.accepted() ? 1 : 0;
      for (const Confirmed& confirmed : outcome.confirmed) {
        if (confirmed.attempt != outcome.run.best_attempt) continue;
        row.best_us = confirmed.evaluation.timing->warm.median_us;
        const auto point =
            testing::ScriptedPoint::Parse(outcome.tree.node(confirmed.attempt).attempt.proposal.candidate.text);
        row.over_optimum = static_cast<double>(point->Nanoseconds()) / static_cast<double>(optimum);
      }
      row.signature = outcome.tree.Signature();
      signatures += row.strategy + ' ' + std::to_string(seed) + ' ' + row.signature + '\n';
    }
  }
  bench.signature = Sha256(signatures).substr(0, 12);
  return bench;
}

namespace {

// What this process has on its heap, in bytes.
double MemoryInUse() {
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<double>(heap.uordblks) + static_cast<double>(heap.hblkhd);
}

}  // namespace

Result<TreeBench> RunTreeBench(const std::string& strategy, int attempts) {
  using Clock = std::chrono::steady_clock;
  constexpr int kMoves = 4;
  const auto chosen = HONE_TRY(ChooseStrategy(strategy));
  const std::unique_ptr<Strategy> grower = chosen.row->make(chosen.parameters);
  TreeBench bench;
  const double before = MemoryInUse();
  Tree tree;
  Random random(1);
  const int last = attempts - std::max(1, attempts / 10);
  Clock::duration selecting{}, backing_up{};
  while (tree.attempts() < attempts) {
    const auto begun = Clock::now();
    const std::optional<int> number = grower->SelectNode(tree, random);
    if (!number)
      return Fail(ErrorKind::kUsage, fmt::format("{} ends after {} attempts of a made-up tree, where {}", strategy,
                                                 tree.attempts(), grower->Ending(tree)));
    const TreeNode& node = tree.node(*number);
    if (node.waiting.empty()) {
      std::vector<Proposal> moves;
      for (int i = 0; i < kMoves && node.rounds == 0; ++i) {
        moves.push_back({.candidate = {CandidateKind::kProgram, fmt::format("{}.{}", *number, i)},
                         .key = fmt::format("move {}", random.Below(1000))});
      }
      tree.AddProposals(*number, 1, std::move(moves));
      continue;
    }
    Attempt attempt{.number = tree.attempts() + 1, .parent = *number};
    attempt.proposal = node.waiting[grower->SelectProposal(node, random)].proposal;
    const auto selected = Clock::now();
    attempt.evaluation.verdict.outcome = Outcome::kAccepted;
    attempt.evaluation.timing = Timing{.warm = {.median_us = 1000 * (0.5 + random.Uniform())}};
    const auto tried = Clock::now();
    tree.Begin(attempt);
    tree.AddAttempt(std::move(attempt));
    grower->BackUp(tree);
    if (tree.attempts() <= last) continue;
    selecting += selected - begun;
    backing_up += Clock::now() - tried;
  }
  const auto mean_us = [&](Clock::duration all) {
    return std::chrono::duration<double, std::micro>(all).count() / (attempts - last);
  };
  bench.select_us = mean_us(selecting);
  bench.back_up_us = mean_us(backing_up);
  bench.node_bytes = (MemoryInUse() - before) / attempts;
  return bench;
}

}  // namespace hone
