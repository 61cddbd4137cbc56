// Improves the fastest attempt by the move that promises most:
//
//   gain = min(headroom, reach of its knob) x share of that knob's moves that made something faster
//
// Headroom is ln(best time / bound); the reach of a knob is the mean of |ln(after / before)| of its moves so far. Far
// from the bound the knobs that change much come first, near it all reach what is left, and the sure ones come first. A
// knob that was never moved counts as one that moved a little, once in three times; equal ones keep the proposer's
// order. In a run that begins with what earlier ones found out, a knob begins with how often it helped in those.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "search/headroom.h"
#include "search/move_priors.h"
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
    {.name = "prior",
     .type = Parameter::Type::kInteger,
     .help = "1: with --memory on, a knob begins with how often it helped in earlier runs; 0: with nothing",
     .otherwise = "1",
     .at_least = 0,
     .at_most = 1,
     .later = true},
};

constexpr double kFirstReach = 0.1;  // of a knob that was never moved
constexpr double kMostPrior = 6;     // moves that earlier runs may count as. A choice: as many as are tried of a knob
constexpr double kFaster = 0.01;     // less is what measuring again may bring

class SteerStrategy final : public Strategy {
 public:
  explicit SteerStrategy(const Parameters& parameters)
      : by_gain_(parameters.Integer("headroom") != 0),
        starts_(static_cast<int>(parameters.Integer("starts"))),
        prior_(parameters.Integer("prior") != 0) {}

  void Recall(const Experience& experience) override {
    if (prior_) priors_ = MovePriors(experience);
  }

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
    const MovePriors::Prior prior = priors_.OfKnob(key).AtMost(kMostPrior);
    return std::min(headroom_, reach) * (1 + prior.helped + moved.faster) / (3 + prior.tried + moved.times);
  }

  const bool by_gain_;
  const int starts_;
  const bool prior_;
  MovePriors priors_;
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
