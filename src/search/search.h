// A Strategy decides where the search goes on. It sees the tree (tree.h), which says what is in flight, too, and a
// seeded generator, and nothing else: no clock, no store, no evaluator. So the same tree and seed lead to the same
// decision, and a run can be repeated and resumed.
//
// To add one, copy strategies/random.cc, or strategies/epsilon.cc for one with parameters: one file is one strategy,
// its name is the one that --search takes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/parameters.h"
#include "base/result.h"
#include "base/row.h"
#include "propose/random.h"
#include "search/tree.h"

namespace hone {

// Not thread-safe: one run, one strategy. What it keeps between calls comes from Recall and BackUp alone, and from the
// tree: a run that is taken up from its journal is not asked again for what was selected.
class Strategy {
 public:
  virtual ~Strategy() = default;

  // What earlier runs found out, once, before all other calls of a run that begins with it: for strategies that keep
  // statistics.
  virtual void Recall(const Experience& experience) { static_cast<void>(experience); }

  // The open node (Tree::Open) to work on, or nothing when none is worth it: the run then ends, unless something is in
  // flight; then the question comes again when the tree has changed. When no proposal waits at the node, the proposer
  // is asked for a round there, and SelectNode again. May be asked without consequence, so it keeps nothing of a call
  // but what it would find again.
  virtual std::optional<int> SelectNode(const Tree& tree, Random& random) = 0;

  // Two attempts that the proposer is to be asked to cross now, whatever waits; they were accepted. Asked before each
  // SelectNode while the proposer is free, and without consequence likewise. What comes of it waits at the parent.
  struct Pair {
    int parent = 0, mate = 0;
  };
  virtual std::optional<Pair> SelectPair(const Tree& tree, Random& random) {
    static_cast<void>(tree), static_cast<void>(random);
    return std::nullopt;
  }

  // Which of node.waiting to try; there is at least one.
  virtual std::size_t SelectProposal(const TreeNode& node, Random& random) = 0;

  // Why SelectNode gave nothing: one line, which becomes the run's reason to end.
  virtual std::string_view Ending(const Tree& tree) const {
    static_cast<void>(tree);
    return "nothing is left to try";
  }

  // The tree has a new last attempt with its verdict: for strategies that keep statistics.
  virtual void BackUp(const Tree& tree) { static_cast<void>(tree); }
};

struct StrategyRow {
  std::string_view name;  // the file's name
  std::string_view doc;   // one line for --help
  std::span<const Parameter> parameters = {};
  std::unique_ptr<Strategy> (*make)(const Parameters& parameters) = nullptr;
};

std::span<const StrategyRow* const> AllStrategies();  // sorted by name
// "greedy", "epsilon:0.2". Fails as Choose does.
Result<Chosen<StrategyRow>> ChooseStrategy(std::string_view words);

}  // namespace hone
