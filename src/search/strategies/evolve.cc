// Evolution on islands: attempts take turns among the islands, each draws a parent by a tournament among its best and
// one of the parent's moves, the better predicted the likelier. Every so often a turn's parents come from the
// neighbouring island. A candidate is its parent and one move: two parents are not crossed, since a proposer is asked
// about one attempt (propose/proposer.h).
#include <algorithm>
#include <vector>

#include "search/search.h"

namespace hone::strategy_evolve {
namespace {

constexpr Parameter kParameters[] = {
    {.name = "islands",
     .type = Parameter::Type::kInteger,
     .help = "that do not mix but by migration",
     .otherwise = "3",
     .at_least = 1},
    {.name = "population",
     .type = Parameter::Type::kInteger,
     .help = "so many of an island's best may be parents",
     .otherwise = "4",
     .at_least = 1},
    {.name = "tournament",
     .type = Parameter::Type::kInteger,
     .help = "the best of so many that are drawn is the parent",
     .otherwise = "2",
     .at_least = 1},
    {.name = "migrate",
     .type = Parameter::Type::kInteger,
     .help = "in one of so many turns of the islands the parents are the neighbour's; 0 = never",
     .otherwise = "4",
     .at_least = 0},
};

class EvolveStrategy final : public Strategy {
 public:
  explicit EvolveStrategy(const Parameters& parameters)
      : islands_(static_cast<std::size_t>(parameters.Integer("islands"))),
        population_(static_cast<std::size_t>(parameters.Integer("population"))),
        tournament_(static_cast<std::size_t>(parameters.Integer("tournament"))),
        migrate_(static_cast<std::size_t>(parameters.Integer("migrate"))) {}

  std::optional<int> SelectNode(const Tree& tree, Random& random) override {
    const TreeNode& root = tree.nodes().front();
    const std::size_t begun = static_cast<std::size_t>(tree.attempts()) + tree.flying().size();
    // Every island begins with a start of its own, as far as there are some.
    if (begun < islands_ && tree.Open(root)) return 0;
    const std::size_t turn = begun / islands_, island = begun % islands_;
    const bool visits = migrate_ > 0 && turn % migrate_ == migrate_ - 1;
    if (const auto parent = Parent(tree, visits ? (island + 1) % islands_ : island, random)) return parent;
    if (tree.Open(root)) return 0;
    for (const int number : tree.ranked()) {  // the others' go before nothing
      if (tree.Open(tree.node(number))) return number;
    }
    for (const TreeNode& node : tree.nodes()) {
      if (tree.Open(node)) return node.attempt.number;
    }
    return std::nullopt;
  }

  // The square of an even draw: of n proposals the first with a chance of 1 / sqrt(n).
  std::size_t SelectProposal(const TreeNode& node, Random& random) override {
    const double draw = random.Uniform();
    return static_cast<std::size_t>(draw * draw * static_cast<double>(node.waiting.size()));
  }

 private:
  // Attempt n is its (n - 1)th turn's.
  std::optional<int> Parent(const Tree& tree, std::size_t island, Random& random) const {
    std::vector<int> members;  // best first
    for (const int number : tree.ranked()) {
      if (members.size() == population_) break;
      if (static_cast<std::size_t>(number - 1) % islands_ == island && tree.Open(tree.node(number)))
        members.push_back(number);
    }
    if (members.empty()) return std::nullopt;
    std::size_t best = members.size();
    for (std::size_t i = 0; i < tournament_; ++i) best = std::min(best, random.Below(members.size()));
    return members[best];
  }

  const std::size_t islands_, population_, tournament_, migrate_;
};

std::unique_ptr<Strategy> Make(const Parameters& parameters) { return std::make_unique<EvolveStrategy>(parameters); }

}  // namespace

// The parameters: of those that were tried on recorded tables, docs/measured/search.md.
HONE_ROW(StrategyRow){.name = "evolve",
                      .doc = "islands, each with parents by tournament among its best; migration, no crossover",
                      .parameters = kParameters,
                      .make = Make};

}  // namespace hone::strategy_evolve
