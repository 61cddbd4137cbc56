// The epsilon-greedy search of STARK (arXiv 2510.16996): improves the best attempt, and now and then a leaf at random,
// so that one lucky branch does not take the whole budget. The root's throttle sends the search into the depth, and a
// branch whose children have all failed is left alone.
#include <algorithm>

#include "search/search.h"

namespace hone::strategy_epsilon {
namespace {

constexpr Parameter kParameters[] = {
    {.name = "epsilon",
     .help = "how often a leaf at random comes instead of the best",
     .otherwise = "0.35",  // the paper's 0.3 to 0.4
     .at_least = 0,
     .at_most = 1},
    {.name = "throttle",
     .type = Parameter::Type::kInteger,
     .help = "so many starts, more only when nothing else is left",
     .otherwise = "5",
     .at_least = 1},
    {.name = "dead",
     .type = Parameter::Type::kInteger,
     .help = "leave an attempt of which so many children were refused and none accepted",
     .otherwise = "3",
     .at_least = 1},
};

class EpsilonStrategy final : public Strategy {
 public:
  explicit EpsilonStrategy(const Parameters& parameters)
      : epsilon_(parameters.Real("epsilon")),
        throttle_(static_cast<int>(parameters.Integer("throttle"))),
        dead_(static_cast<int>(parameters.Integer("dead"))) {}

  std::optional<int> SelectNode(const Tree& tree, Random& random) override {
    const bool explore = random.Uniform() < epsilon_;
    const std::vector<int> leaves = Leaves(tree);
    const std::optional<int> best = Best(tree);
    if (!leaves.empty() && (explore || !best)) return leaves[random.Below(leaves.size())];
    if (best) return best;
    if (tree.Open(tree.node(0))) return 0;
    return std::nullopt;
  }

  // They come best predicted first.
  std::size_t SelectProposal(const TreeNode&, Random&) override { return 0; }

 private:
  // What is in flight counts as a child: it takes a place, whatever will come of it.
  static int Children(const TreeNode& node) { return static_cast<int>(node.children.size()) + node.in_flight; }

  bool Dead(const Tree& tree, const TreeNode& node) const {
    return static_cast<int>(node.children.size()) >= dead_ &&
           std::none_of(node.children.begin(), node.children.end(),
                        [&](int child) { return tree.node(child).attempt.accepted(); });
  }

  // The best attempt that can be improved; before anything was accepted there is none.
  std::optional<int> Best(const Tree& tree) const {
    for (const int number : tree.ranked()) {
      if (tree.Open(tree.node(number)) && !Dead(tree, tree.node(number))) return number;
    }
    return std::nullopt;
  }

  // What has no child yet, refused attempts included; the root as long as it is not throttled.
  std::vector<int> Leaves(const Tree& tree) const {
    std::vector<int> leaves;
    for (const TreeNode& node : tree.nodes()) {
      const bool root = node.attempt.number == 0;
      if (tree.Open(node) && Children(node) < (root ? throttle_ : 1)) leaves.push_back(node.attempt.number);
    }
    return leaves;
  }

  const double epsilon_;
  const int throttle_, dead_;
};

std::unique_ptr<Strategy> Make(const Parameters& parameters) { return std::make_unique<EpsilonStrategy>(parameters); }

}  // namespace

HONE_ROW(StrategyRow){.name = "epsilon",
                      .doc = "the best attempt, or by chance another one; starts are few, dead branches are left",
                      .parameters = kParameters,
                      .make = Make};

}  // namespace hone::strategy_epsilon
