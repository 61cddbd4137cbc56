// Improves the fastest attempt by the proposal that is predicted best, until its proposals are used up; then the next
// fastest. Good where predictions rank the moves of one candidate well, as a cost model on the bound does; it never
// leaves a valley that all moves make worse, except by falling back.
#include "search/search.h"

namespace hone {
namespace {

// Candidates from the proposer's start that may be tried before the fastest is improved. A start predicts across kinds
// of kernel, which is harder than to rank the moves of one, so the first alone is not believed. A choice, not a
// measurement: small beside any budget.
constexpr std::size_t kStarts = 4;

class GreedyStrategy final : public Strategy {
 public:
  std::optional<int> SelectNode(const Tree& tree, Random&) override {
    const TreeNode& root = tree.nodes().front();
    if (root.open() && StartIsDue(tree, root)) return 0;
    for (const int number : tree.ranked()) {
      if (tree.node(number).open()) return number;
    }
    if (root.open()) return 0;
    for (const TreeNode& node : tree.nodes()) {  // those that were refused: the proposer may know a repair
      if (node.open()) return node.attempt.number;
    }
    return std::nullopt;
  }

  // They come best predicted first.
  std::size_t SelectProposal(const TreeNode&, Random&) override { return 0; }

 private:
  static bool StartIsDue(const Tree& tree, const TreeNode& root) {
    if (tree.ranked().empty() || root.waiting.empty()) return true;
    const double predicted_us = root.waiting.front().proposal.predicted_us;
    return predicted_us > 0 && predicted_us < tree.best_us() && root.children.size() < kStarts;
  }
};

std::unique_ptr<Strategy> Make() { return std::make_unique<GreedyStrategy>(); }

}  // namespace

HONE_STRATEGY(greedy){.name = "greedy", .doc = "the fastest attempt, its best predicted proposal first", .make = Make};

}  // namespace hone
