// Tries all there is, in order: what was tried first is worked through first, with all that the proposer has for it.
// For tables of a space (search/table.h); so everybody is asked at once what could come of him. A budget ends it long
// before a space does, so a share of the choices may go to the fastest instead: the table then has the space's
// beginning whole and what lies behind its best attempts.
#include "search/search.h"

namespace hone::strategy_breadth {
namespace {

constexpr Parameter kParameters[] = {
    {.name = "deep",
     .help = "how often the fastest that is not worked through comes before the first one",
     .otherwise = "0",
     .at_least = 0,
     .at_most = 1},
};

class BreadthStrategy final : public Strategy {
 public:
  explicit BreadthStrategy(const Parameters& parameters) : deep_(parameters.Real("deep")) {}

  std::optional<int> SelectNode(const Tree& tree, Random& random) override {
    for (const TreeNode& node : tree.nodes()) {
      if (node.waiting.empty() && tree.Open(node)) return node.attempt.number;
    }
    if (random.Uniform() < deep_) {
      for (const int number : tree.ranked()) {
        if (tree.Open(tree.node(number))) return number;
      }
    }
    for (const TreeNode& node : tree.nodes()) {
      if (tree.Open(node)) return node.attempt.number;
    }
    return std::nullopt;
  }

  // They come best predicted first.
  std::size_t SelectProposal(const TreeNode&, Random&) override { return 0; }

  std::string_view Ending(const Tree&) const override { return "all that was proposed was tried"; }

 private:
  const double deep_;
};

std::unique_ptr<Strategy> Make(const Parameters& parameters) { return std::make_unique<BreadthStrategy>(parameters); }

}  // namespace

HONE_ROW(StrategyRow){.name = "breadth",
                      .doc = "everything in the order of trying; for tables of a space",
                      .parameters = kParameters,
                      .make = Make};

}  // namespace hone::strategy_breadth
