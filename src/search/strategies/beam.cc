// Beam search: from each of the few best of one level so many moves, then on with the few best of the next. All of a
// level is known before the next begins. When the beam has come to its end it begins again with room for twice as many
// moves from each.
#include <algorithm>
#include <map>
#include <vector>

#include "search/search.h"

namespace hone::strategy_beam {
namespace {

constexpr Parameter kParameters[] = {
    {.name = "width",
     .type = Parameter::Type::kInteger,
     .help = "so many of a level are improved",
     .otherwise = "3",
     .at_least = 1},
    {.name = "moves",
     .type = Parameter::Type::kInteger,
     .help = "from each, so many at first",
     .otherwise = "4",
     .at_least = 1},
};

class BeamStrategy final : public Strategy {
 public:
  explicit BeamStrategy(const Parameters& parameters)
      : width_(static_cast<std::size_t>(parameters.Integer("width"))),
        moves_(static_cast<std::size_t>(parameters.Integer("moves"))) {}

  std::optional<int> SelectNode(const Tree& tree, Random&) override {
    const std::map<int, std::vector<int>> levels = Levels(tree);
    const std::size_t most = static_cast<std::size_t>(tree.attempts()) + tree.flying().size() + 1;
    for (std::size_t moves = moves_; moves < 2 * std::max(moves_, most); moves *= 2) {
      std::vector<int> beam = {0};
      for (int depth = 0; !beam.empty(); ++depth) {
        if (const std::optional<int> selected = InLevel(tree, beam, moves)) return selected;
        if (Unsettled(tree, beam, moves)) return std::nullopt;
        const auto next = levels.find(depth + 1);
        beam = next == levels.end() ? std::vector<int>() : next->second;
        beam.resize(std::min(beam.size(), width_));
      }
    }
    return std::nullopt;
  }

  // They come best predicted first.
  std::size_t SelectProposal(const TreeNode&, Random&) override { return 0; }

 private:
  static bool HasRoom(const TreeNode& node, std::size_t moves) {
    return node.children.size() + static_cast<std::size_t>(node.in_flight) < moves;
  }

  // Questions first: whoever thinks about one leaves time to try what waits elsewhere.
  static std::optional<int> InLevel(const Tree& tree, const std::vector<int>& beam, std::size_t moves) {
    for (const bool asks : {true, false}) {
      for (const int number : beam) {
        const TreeNode& node = tree.node(number);
        if (HasRoom(node, moves) && tree.Open(node) && node.waiting.empty() == asks) return number;
      }
    }
    return std::nullopt;
  }

  // Whether something may still come of the level without anybody's choice.
  static bool Unsettled(const Tree& tree, const std::vector<int>& beam, std::size_t moves) {
    return std::any_of(beam.begin(), beam.end(), [&](int number) {
      const TreeNode& node = tree.node(number);
      return node.in_flight > 0 || (HasRoom(node, moves) && !node.exhausted);
    });
  }

  // The accepted attempts by their depth, best first.
  static std::map<int, std::vector<int>> Levels(const Tree& tree) {
    std::map<int, std::vector<int>> levels;
    std::vector<int> depths(tree.nodes().size(), 0);
    for (std::size_t number = 1; number < depths.size(); ++number)
      depths[number] = depths[static_cast<std::size_t>(tree.nodes()[number].attempt.parent)] + 1;
    for (const int number : tree.ranked()) levels[depths[static_cast<std::size_t>(number)]].push_back(number);
    return levels;
  }

  const std::size_t width_, moves_;
};

std::unique_ptr<Strategy> Make(const Parameters& parameters) { return std::make_unique<BeamStrategy>(parameters); }

}  // namespace

// Width and moves: of those that were tried on recorded tables, docs/measured/search.md.
HONE_ROW(StrategyRow){.name = "beam",
                      .doc = "the few best of each level, so many moves from each",
                      .parameters = kParameters,
                      .make = Make};

}  // namespace hone::strategy_beam
