// Improves the fastest attempt by the proposal that is predicted best, until all its proposals are used up, the ones of
// later rounds included (wider moves). Then tries what is predicted to beat it elsewhere, and ends when nothing is: a
// budget is a limit, not a duty. Good where predictions rank the moves of one candidate well, as a cost model on the
// bound does; it leaves a valley that all moves make worse only where another attempt promises more.
#include "search/search.h"

namespace hone::strategy_greedy {
namespace {

// Candidates from the proposer's start that may be tried before the fastest is improved. A start predicts across kinds
// of kernel, which is harder than to rank the moves of one, so the first alone is not believed. A choice, not a
// measurement: small beside any budget.
constexpr std::size_t kStarts = 4;

class GreedyStrategy final : public Strategy {
 public:
  std::optional<int> SelectNode(const Tree& tree, Random&) override {
    const TreeNode& root = tree.nodes().front();
    if (tree.Open(root) && StartIsDue(tree, root)) return 0;
    for (const int number : tree.ranked()) {
      const TreeNode& node = tree.node(number);
      if (!tree.InReach(number)) break;
      if (number == tree.best() ? tree.Open(node) : Promises(tree, node)) return number;
    }
    if (Promises(tree, root)) return 0;
    for (const TreeNode& node : tree.nodes()) {  // those that were refused: the proposer may know a repair
      if (node.attempt.number > 0 && tree.Open(node) && tree.Value(node.attempt.number) == 0)
        return node.attempt.number;
    }
    return std::nullopt;
  }

  // They come best predicted first.
  std::size_t SelectProposal(const TreeNode&, Random&) override { return 0; }

  std::string_view Ending(const Tree& tree) const override {
    if (tree.ranked().empty()) return Strategy::Ending(tree);
    return "every move from the best was tried, and nothing else is predicted to beat it";
  }

 private:
  static bool StartIsDue(const Tree& tree, const TreeNode& root) {
    if (tree.ranked().empty()) return true;
    if (root.waiting.empty()) return false;
    const double predicted = root.waiting.front().predicted_us();
    return predicted > 0 && predicted < tree.Value(tree.best()) && root.children.size() < kStarts;
  }

  // Whether its next proposal may beat the best: by its prediction, or by our not knowing. The wider moves of later
  // rounds are for the best alone.
  static bool Promises(const Tree& tree, const TreeNode& node) {
    if (node.waiting.empty()) return tree.Open(node) && node.rounds == 0;
    return node.waiting.front().predicted_us() < tree.Value(tree.best());
  }
};

std::unique_ptr<Strategy> Make(const Parameters&) { return std::make_unique<GreedyStrategy>(); }

}  // namespace

HONE_ROW(StrategyRow){.name = "greedy",
                      .doc = "the fastest attempt, its best predicted proposal first; ends when nothing promises more",
                      .make = Make};

}  // namespace hone::strategy_greedy
