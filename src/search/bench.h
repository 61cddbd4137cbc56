// The search's bench: every strategy, a few seeds, on the scripted space. It says how good the strategies are where the
// answer is known, and its signature says whether the search still decides as it did: the same everywhere, so a change
// of it is a change of the search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "search/loop.h"
#include "store/store.h"

namespace hone {

struct BenchSettings {
  int attempts = 60;
  std::vector<std::uint64_t> seeds = {1, 2, 3};
};

struct BenchRow {
  std::string strategy;
  std::uint64_t seed = 0;
  int attempts = 0;
  int accepted = 0;
  double best_us = 0;       // confirmed
  double over_optimum = 0;  // best / fastest of the whole space, both without noise; 1 = found it
  double evaluate_us = 0;   // what one attempt costs us, store included
  std::string signature;    // of the tree
};

struct Bench {
  std::vector<BenchRow> rows;
  std::string signature;  // of all rows
};

Result<Bench> RunBench(const BenchSettings& settings);

// What the steps of a large tree take of a processor: one that is grown by a strategy to so many attempts, each of
// which has four moves and takes 0.5 to 1.5 ms, by chance. kUsage when the strategy ends before.
struct TreeBench {
  double select_us = 0;   // mean of the last tenth of the steps: which node, which proposal
  double back_up_us = 0;  // the tree's part and the strategy's
  double node_bytes = 0;  // of memory, proposals that wait included
};
Result<TreeBench> RunTreeBench(const std::string& strategy, int attempts);

// How long a run of so many attempts takes to be made, by such moves that cost nothing to be tried, and to be taken up
// again from its store, up to where it would go on. The store is in memory: what a disk takes comes on top. kUsage when
// the strategy ends before.
struct ResumeBench {
  double made_s = 0;
  double resumed_s = 0;
  double resumed_cpu_s = 0;  // what that took of processors: others may be at work
  double journal_bytes = 0;  // an attempt
};
Result<ResumeBench> RunResumeBench(const std::string& strategy, int attempts);

// One search over the scripted space into `store`: what RunBench does for each row. Resumes a run that is there. The
// strategy is named as ChooseStrategy reads it.
Result<SearchOutcome> RunScriptedSearch(Store& store, const std::string& strategy, std::uint64_t seed,
                                        const Budget& budget, Evaluator& evaluator, const SearchHooks& hooks = {});
// With a lane for each evaluator.
Result<SearchOutcome> RunScriptedSearch(Store& store, const std::string& strategy, std::uint64_t seed,
                                        const Budget& budget, const std::vector<Evaluator*>& evaluators,
                                        const SearchHooks& hooks = {});
// By another proposer, under that name.
Result<SearchOutcome> RunScriptedSearch(Store& store, const RunSettings& settings, const Budget& budget,
                                        Proposer& proposer, const std::vector<Evaluator*>& evaluators,
                                        const SearchHooks& hooks = {});
// With all that can be set.
Result<SearchOutcome> RunScriptedSearch(Store& store, const SearchSettings& settings, Proposer& proposer,
                                        const std::vector<Evaluator*>& evaluators, const SearchHooks& hooks = {});

}  // namespace hone
