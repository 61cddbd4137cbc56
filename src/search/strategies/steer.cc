// Improves the fastest attempt by the move that promises most:
//
//   gain = min(headroom, reach of its knob) x share of that knob's moves that made something faster
//
// Headroom is ln(best time / bound); the reach of a knob is the mean of |ln(after / before)| of its moves so far. Far
// from the bound the knobs that change much come first, near it all reach what is left, and the sure ones come first. A
// knob that was never moved counts as one that moved a little, once in three times; equal ones keep the proposer's
// order.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "search/headroom.h"
#include "search/search.h"

namespace hone::strategy_steer {
namespace {

constexpr Parameter kParameters[] = {
    {.name = "headroom",
     .type = Parameter::Type::kInteger,
     .help = "1: moves by gain; 0: in the proposer's order",
     .otherwise = "1",
     .at_least = 0,
     .at_most = 1},
    {.name = "starts",
     .type = Parameter::Type::kInteger,
     .help = "so many starts, more only when nothing else is left",
     .otherwise = "4",
     .at_least = 1},
};

constexpr double kFirstReach = 0.1;  // of a knob that was never moved
constexpr double kFaster = 0.01;     // less is what measuring again may bring

// "output_1.vector=64" -> "vector": what a knob does it does alike for all statements.
std::string KnobOf(std::string_view key) {
  const std::size_t end = std::min(key.find('='), key.size());
  const std::size_t dot = key.rfind('.', end);
  const std::size_t begin = dot == std::string_view::npos || dot > end ? 0 : dot + 1;
  return std::string(key.substr(begin, end - begin));
}

class SteerStrategy final : public Strategy {
 public:
  explicit SteerStrategy(const Parameters& parameters)
      : by_gain_(parameters.Integer("headroom") != 0), starts_(static_cast<int>(parameters.Integer("starts"))) {}

  std::optional<int> SelectNode(const Tree& tree, Random&) override {
    const TreeNode& root = tree.node(0);
    if (tree.Open(root) && static_cast<int>(root.children.size()) + root.in_flight < starts_) return 0;
    for (const int number : tree.ranked()) {
      if (tree.Open(tree.node(number))) return number;
    }
    for (const TreeNode& node : tree.nodes()) {
      if (tree.Open(node)) return node.attempt.number;
    }
    return std::nullopt;
  }

  std::size_t SelectProposal(const TreeNode& node, Random&) override {
    if (!by_gain_ || node.attempt.number == 0) return 0;
    std::size_t best = 0;
    for (std::size_t i = 1; i < node.waiting.size(); ++i) {
      if (Gain(node.waiting[i].key()) > Gain(node.waiting[best].key())) best = i;
    }
    return best;
  }

  void BackUp(const Tree& tree) override {
    headroom_ = HeadroomOf(tree.best() == 0 ? 0 : tree.best_us(), tree.bound_us());
    const Attempt& last = tree.node(tree.attempts()).attempt;
    const double before = last.parent > 0 ? tree.node(last.parent).attempt.time_us() : 0;
    if (before <= 0) return;
    Moved& moved = moved_[KnobOf(last.proposal.key)];
    ++moved.times;
    if (last.time_us() <= 0) return;
    ++moved.timed;
    moved.reach += std::abs(std::log(last.time_us() / before));
    moved.faster += last.time_us() < (1 - kFaster) * before;
  }

 private:
  struct Moved {
    int times = 0, timed = 0, faster = 0;  // tried, accepted and timed, faster than before
    double reach = 0;                      // sum over those that were timed
  };

  double Gain(std::string_view key) const {
    const auto it = moved_.find(KnobOf(key));
    const Moved moved = it == moved_.end() ? Moved{} : it->second;
    const double reach = (kFirstReach + moved.reach) / (1 + moved.timed);
    return std::min(headroom_, reach) * (1 + moved.faster) / (3 + moved.times);
  }

  const bool by_gain_;
  const int starts_;
  double headroom_ = kUnknownHeadroom;
  std::map<std::string, Moved> moved_;
};

std::unique_ptr<Strategy> Make(const Parameters& parameters) { return std::make_unique<SteerStrategy>(parameters); }

}  // namespace

HONE_ROW(StrategyRow){.name = "steer",
                      .doc = "the fastest attempt, its moves by headroom, how much they change and how often they help",
                      .parameters = kParameters,
                      .make = Make};

}  // namespace hone::strategy_steer
