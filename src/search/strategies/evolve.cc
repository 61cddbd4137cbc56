// Evolution on islands: attempts take turns among the islands, each draws a parent by a tournament among its best and
// one of the parent's moves, the better predicted the likelier. Every so often a turn's parents come from the
// neighbouring island. With `cross`, every so often two of an island's best are crossed: the proposer is asked for what
// has something of both (Question::mate), and that is tried before the parent's moves.
#include <algorithm>
#include <cstdint>
#include <optional>
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
    {.name = "cross",
     .type = Parameter::Type::kInteger,
     .help = "one in so many attempts is a crossing of two of an island's best; 0 = never",
     .otherwise = "0",
     .at_least = 0},
};

class EvolveStrategy final : public Strategy {
 public:
  explicit EvolveStrategy(const Parameters& parameters)
      : islands_(static_cast<std::size_t>(parameters.Integer("islands"))),
        population_(static_cast<std::size_t>(parameters.Integer("population"))),
        tournament_(static_cast<std::size_t>(parameters.Integer("tournament"))),
        migrate_(static_cast<std::size_t>(parameters.Integer("migrate"))),
        cross_(static_cast<std::size_t>(parameters.Integer("cross"))) {}

  std::optional<Pair> SelectPair(const Tree& tree, Random& random) override {
    if (!Crosses(tree)) return std::nullopt;
    std::vector<int> members = Members(tree, Begun(tree) % islands_, Which::kAll);
    if (members.size() < 2 || Waiting(tree, members)) return std::nullopt;
    const std::size_t drawn = Drawn(members.size(), random);
    const int parent = members[drawn];
    members.erase(members.begin() + static_cast<std::ptrdiff_t>(drawn));
    const int mate = members[Drawn(members.size(), random)];
    const auto crossed = [&](int one, int other) {
      const std::vector<int>& mates = *tree.node(one).mates;
      return std::find(mates.begin(), mates.end(), other) != mates.end();
    };
    // One move apart: what has something of both is one of the two.
    const auto made_of = [&](int one, int other) { return tree.node(one).attempt.parent == other; };
    // Then this turn is an ordinary one.
    if (crossed(parent, mate) || crossed(mate, parent) || made_of(parent, mate) || made_of(mate, parent))
      return std::nullopt;
    return Pair{parent, mate};
  }

  std::optional<int> SelectNode(const Tree& tree, Random& random) override {
    const TreeNode& root = tree.nodes().front();
    const std::size_t begun = Begun(tree);
    // Every island begins with a start of its own, as far as there are some.
    if (begun < islands_ && tree.Open(root)) return 0;
    const std::size_t turn = begun / islands_, island = begun % islands_;
    if (Crosses(tree)) {
      if (const auto crossing = Waiting(tree, Members(tree, island, Which::kAll))) return crossing;
    }
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
    if (node.waiting.front().mate != 0) return 0;
    const double draw = random.Uniform();
    return static_cast<std::size_t>(draw * draw * static_cast<double>(node.waiting.size()));
  }

 private:
  static std::size_t Begun(const Tree& tree) {
    return static_cast<std::size_t>(tree.attempts()) + tree.flying().size();
  }
  // Whether the next attempt is to be a crossing.
  bool Crosses(const Tree& tree) const { return cross_ > 0 && Begun(tree) % cross_ == cross_ - 1; }
  // Where one waits.
  static std::optional<int> Waiting(const Tree& tree, const std::vector<int>& members) {
    for (const int number : members) {
      const auto& waiting = tree.node(number).waiting;
      if (!waiting.empty() && waiting.front().mate != 0) return number;
    }
    return std::nullopt;
  }

  // The island's population, the best first. Attempt n is its (n - 1)th turn's.
  enum class Which : std::uint8_t { kAll, kOpen };
  std::vector<int> Members(const Tree& tree, std::size_t island, Which which) const {
    std::vector<int> members;
    for (const int number : tree.ranked()) {
      if (members.size() == population_) break;
      if (static_cast<std::size_t>(number - 1) % islands_ == island &&
          (which == Which::kAll || tree.Open(tree.node(number))))
        members.push_back(number);
    }
    return members;
  }
  std::optional<int> Parent(const Tree& tree, std::size_t island, Random& random) const {
    const std::vector<int> members = Members(tree, island, Which::kOpen);
    if (members.empty()) return std::nullopt;
    return members[Drawn(members.size(), random)];
  }
  // By tournament.
  std::size_t Drawn(std::size_t members, Random& random) const {
    std::size_t best = members;
    for (std::size_t i = 0; i < tournament_; ++i) best = std::min(best, random.Below(members));
    return best;
  }

  const std::size_t islands_, population_, tournament_, migrate_, cross_;
};

std::unique_ptr<Strategy> Make(const Parameters& parameters) { return std::make_unique<EvolveStrategy>(parameters); }

}  // namespace

// The parameters: of those that were tried on recorded tables, docs/measured/search.md.
HONE_ROW(StrategyRow){.name = "evolve",
                      .doc = "islands, each with parents by tournament among its best; migration, crossing",
                      .parameters = kParameters,
                      .make = Make};

}  // namespace hone::strategy_evolve
