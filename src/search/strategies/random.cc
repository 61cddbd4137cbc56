// Tries anything that can be tried: a node at random among the open ones, then one of its proposals at random. The
// yardstick that every other strategy has to beat.
#include "search/search.h"

namespace hone::strategy_random {
namespace {

class RandomStrategy final : public Strategy {
 public:
  std::optional<int> SelectNode(const Tree& tree, Random& random) override {
    std::vector<int> open;
    for (const TreeNode& node : tree.nodes()) {
      if (tree.Open(node)) open.push_back(node.attempt.number);
    }
    if (open.empty()) return std::nullopt;
    return open[random.Below(open.size())];
  }

  std::size_t SelectProposal(const TreeNode& node, Random& random) override {
    return random.Below(node.waiting.size());
  }
};

std::unique_ptr<Strategy> Make(const Parameters&) { return std::make_unique<RandomStrategy>(); }

}  // namespace

HONE_ROW(StrategyRow){.name = "random", .doc = "any open attempt, any of its proposals", .make = Make};

}  // namespace hone::strategy_random
