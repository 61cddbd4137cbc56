// Monte Carlo tree search: down from the root by upper confidence bounds (UCT), until a node may have another child.
// Its parts can be switched off one by one:
//
//   widening   a node of n attempts below it has at most about n ^ widening children
//   branching  those that made it faster may have more of them, those that made it slower fewer
//   log        what an attempt is worth goes by the logarithm of its speed, so that one leap does not rule
//   dead       a branch that has failed so often, or stays far behind, is left until nothing else is left
//   memory     a move that was tried so often from anywhere and never brought anything comes last
//   prior      where a run begins with what earlier ones found out, what they tried of a move is part of that
//
// What is in flight counts as an attempt that was worth nothing, which sends the next one elsewhere. The parts are
// named in KernelPro's paper, which publishes no constant of them. Ours are of the experiments in
// docs/measured/search.md; AdaExplore's open code explores by 0.3.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "search/move_priors.h"
#include "search/search.h"

namespace hone::strategy_mcts {
namespace {

constexpr Parameter kParameters[] = {
    {.name = "explore",
     .help = "how much an attempt's being seldom tried counts beside its worth of 0 to 1",
     .otherwise = "0.1",
     .at_least = 0},
    {.name = "best",
     .help = "how much of a branch's worth is its best attempt's; the rest is the mean's",
     .otherwise = "0.5",
     .at_least = 0,
     .at_most = 1},
    {.name = "widening",
     .help = "the exponent; 1 = off, all moves of a node come before any of theirs",
     .otherwise = "0.7",
     .at_least = 0,
     .at_most = 1},
    {.name = "branching",
     .type = Parameter::Type::kInteger,
     .help = "1 or 0",
     .otherwise = "1",
     .at_least = 0,
     .at_most = 1},
    {.name = "log", .type = Parameter::Type::kInteger, .help = "1 or 0", .otherwise = "1", .at_least = 0, .at_most = 1},
    {.name = "dead",
     .type = Parameter::Type::kInteger,
     .help = "attempts after which a branch may be left; 0 = never",
     .otherwise = "3",
     .at_least = 0},
    {.name = "memory",
     .type = Parameter::Type::kInteger,
     .help = "trials after which a move may be held useless; 0 = never",
     .otherwise = "3",
     .at_least = 0},
    {.name = "prior",
     .type = Parameter::Type::kInteger,
     .help = "1: with --memory on, earlier runs' trials of a move count, too; 0: they do not",
     .otherwise = "1",
     .at_least = 0,
     .at_most = 1,
     .later = true},
};

// By the logarithm, attempts that take four times the best's are worth as little as those that were refused: past that,
// how slow they are says nothing about what to try.
const double kSpan = std::log(4.0);
// While all lie closer together than this, most of what tells them apart is chance.
const double kNarrow = std::log(1.1);
// A branch is far behind when its best takes so much longer: a move had to gain more than the expert ever predicts.
constexpr double kBehind = 1.4;
// A move brought something when it saved so much of the time; less is what measuring again may bring.
constexpr double kBrought = 0.01;

class MctsStrategy final : public Strategy {
 public:
  explicit MctsStrategy(const Parameters& parameters)
      : explore_(parameters.Real("explore")),
        best_(parameters.Real("best")),
        widening_(parameters.Real("widening")),
        branching_(parameters.Integer("branching") != 0),
        log_(parameters.Integer("log") != 0),
        dead_(static_cast<int>(parameters.Integer("dead"))),
        memory_(static_cast<int>(parameters.Integer("memory"))),
        prior_(parameters.Integer("prior") != 0) {}

  void Recall(const Experience& experience) override {
    if (prior_) priors_ = MovePriors(experience);
  }

  std::optional<int> SelectNode(const Tree& tree, Random&) override {
    Forget(tree);
    flying_.clear();
    for (int number : tree.flying()) {
      for (;; number = Parent(number)) {
        ++flying_[number];
        if (number == 0) break;
      }
    }
    for (const bool strict : {true, false}) {
      strict_ = strict;
      if (const std::optional<int> selected = Descend(tree, 0)) return selected;
    }
    return std::nullopt;
  }

  // The best predicted of those that are not known to be useless.
  std::size_t SelectProposal(const TreeNode& node, Random&) override {
    for (std::size_t i = 0; i < node.waiting.size(); ++i) {
      if (!Useless(node.waiting[i].key())) return i;
    }
    return 0;
  }

  void BackUp(const Tree& tree) override {
    const Attempt& last = tree.nodes().back().attempt;
    Grow(tree);
    const double value = tree.Value(last.number);
    Remember(tree, last, value);
    double worth = 0;
    if (value > 0) {
      worth = log_ ? -std::log(value) : 1 / value;
      most_ = any_ ? std::max(most_, worth) : worth;
      if (log_) worth = std::max(worth, most_ - kSpan);
      least_ = any_ ? std::min(least_, worth) : worth;
      any_ = true;
    }
    for (int number = last.number;; number = Parent(number)) {
      Stats& stats = stats_[static_cast<std::size_t>(number)];
      ++stats.attempts;
      if (value > 0) {
        stats.best = stats.accepted == 0 ? worth : std::max(stats.best, worth);
        stats.fastest = stats.accepted == 0 ? value : std::min(stats.fastest, value);
        stats.sum += worth;
        ++stats.accepted;
      }
      if (number == 0) break;
    }
  }

 private:
  struct Stats {  // of a branch
    int attempts = 0, accepted = 0;
    double sum = 0, best = 0;  // of worths as they are counted, not yet from 0 to 1
    double fastest = 0;
    bool closed = false;  // nothing can be tried in it ever again
    int parent = 0;
    int idle = 0;  // idle_: nothing strict was to be done in it, and nothing has changed in it since
  };
  struct Child {
    int number;
    double score;
  };
  struct Move {
    int tried = 0, brought = 0;
  };

  void Grow(const Tree& tree) {
    while (stats_.size() < tree.nodes().size())
      stats_.push_back({.parent = tree.nodes()[stats_.size()].attempt.parent});
  }
  int Parent(int number) const { return stats_[static_cast<std::size_t>(number)].parent; }

  // Going over branches again in which nothing was to be done is most of the work in a large tree. Such a branch stays
  // so until one of its nodes changes; besides, that a branch is dead or a move useless only takes from what may be
  // done, but where a useless move brings something after all, which Remember sees.
  void Forget(const Tree& tree) {
    Grow(tree);
    for (int before = -1; seen_ < tree.touched().size(); ++seen_) {
      const int touched = tree.touched()[seen_];
      if (std::exchange(before, touched) == touched) continue;
      for (int number = touched;; number = Parent(number)) {
        stats_[static_cast<std::size_t>(number)].idle = 0;
        if (number == 0) break;
      }
    }
  }

  // The node of the branch to work on.
  std::optional<int> Descend(const Tree& tree, int number) {
    const Stats& own = stats_[static_cast<std::size_t>(number)];
    if (own.closed || (strict_ && own.idle == idle_)) return std::nullopt;
    const TreeNode& node = tree.node(number);
    const bool open = tree.Open(node);
    if (open && MayWiden(tree, node)) return number;
    bool closed = node.exhausted && node.waiting.empty() && node.in_flight == 0;
    // The best child, and where nothing can be done in that the next one: mostly the best is enough, so that sorting
    // them would be for nothing. The first of equal ones is the earliest.
    const double tried = std::log(Attempts(number) + 1);
    std::vector<Child> children;
    for (const int child : node.children) {
      const Stats& stats = stats_[static_cast<std::size_t>(child)];
      closed = closed && stats.closed;
      if (!stats.closed && !(strict_ && (stats.idle == idle_ || Dead(tree, child))))
        children.push_back({child, Score(tried, child)});
    }
    while (!children.empty()) {
      const auto best = std::max_element(children.begin(), children.end(),
                                         [](const Child& one, const Child& other) { return one.score < other.score; });
      if (const std::optional<int> selected = Descend(tree, best->number)) return selected;
      children.erase(best);
    }
    stats_[static_cast<std::size_t>(number)].closed = closed;
    // Nothing can be done below it: it may have another child after all, unless one of the parts speaks against it.
    if (open && (!strict_ || (number != 0 && !Barren(node)))) return number;
    // What is asked keeps other questions back, for as long as it is.
    if (strict_ && !tree.asked()) stats_[static_cast<std::size_t>(number)].idle = idle_;
    return std::nullopt;
  }

  bool MayWiden(const Tree& tree, const TreeNode& node) const {
    if (strict_ && Barren(node)) return false;
    if (widening_ == 1) return true;
    const int number = node.attempt.number;
    const double children = static_cast<double>(node.children.size()) + node.in_flight;
    return children < std::ceil(Breadth(tree, node) * std::pow(Attempts(number), widening_));
  }

  // The root has no parent, and an attempt that was refused is worth one try at its repair.
  double Breadth(const Tree& tree, const TreeNode& node) const {
    const int number = node.attempt.number;
    if (number == 0 || !branching_) return 1;
    const double value = tree.Value(number), before = tree.Value(node.attempt.parent);
    if (value <= 0) return node.children.empty() && node.in_flight == 0 ? 1 : 0;
    if (before <= 0) return 1;
    return value<(1 - kBrought) * before ? 2 : value>(1 + kBrought) * before ? 0.5 : 1;
  }

  bool Dead(const Tree& tree, int number) const {
    const Stats& stats = stats_[static_cast<std::size_t>(number)];
    if (dead_ == 0 || stats.attempts < dead_) return false;
    return stats.accepted == 0 || stats.fastest > kBehind * tree.Value(tree.best());
  }

  // Whether all that waits there is held useless.
  bool Barren(const TreeNode& node) const {
    return !node.waiting.empty() && std::all_of(node.waiting.begin(), node.waiting.end(),
                                                [&](const WaitingProposal& one) { return Useless(one.key()); });
  }

  // A branch's attempts, those in flight included; at least one.
  double Attempts(int number) const {
    const auto flying = flying_.find(number);
    return std::max(1,
                    stats_[static_cast<std::size_t>(number)].attempts + (flying == flying_.end() ? 0 : flying->second));
  }

  // `tried`: the logarithm of its parent's attempts and one.
  double Score(double tried, int child) const {
    const Stats& stats = stats_[static_cast<std::size_t>(child)];
    const double attempts = Attempts(child);
    const double seldom = explore_ * std::sqrt(tried / attempts);
    if (stats.accepted == 0) return seldom;
    // The refused and those in flight are worth 0, as the slowest are.
    const double mean = (stats.sum - stats.accepted * Least()) / attempts;
    return seldom + Share(best_ * (stats.best - Least()) + (1 - best_) * mean);
  }

  double Least() const { return log_ ? most_ - std::clamp(most_ - least_, kNarrow, kSpan) : 0; }
  double Share(double worth) const { return std::clamp(worth / (most_ - Least()), 0.0, 1.0); }

  // A move is its key: what is set where to what, from wherever.
  void Remember(const Tree& tree, const Attempt& attempt, double value) {
    if (attempt.parent == 0) return;
    Move& move = moves_[attempt.proposal.key];
    ++move.tried;
    const double before = tree.Value(attempt.parent);
    if (value > 0 && (before <= 0 || value < (1 - kBrought) * before) && move.brought++ == 0) ++idle_;
  }
  bool Useless(std::string_view key) const {
    if (memory_ == 0) return false;
    const auto known = moves_.find(key);
    const Move move = known == moves_.end() ? Move() : known->second;
    if (move.brought > 0) return false;
    // What earlier runs tried counts as so many trials at most, against the move or for it: even where one in three
    // helped, as is held of a move that nobody knows.
    const MovePriors::Prior prior = priors_.OfValue(key).AtMost(memory_);
    return move.tried + prior.tried - 3 * prior.helped >= memory_;
  }

  const double explore_, best_, widening_;
  const bool branching_, log_;
  const int dead_, memory_;
  const bool prior_;
  MovePriors priors_;

  std::vector<Stats> stats_;                        // by number
  std::map<std::string, Move, std::less<>> moves_;  // by key
  double most_ = 0, least_ = 0;                     // worth of all that were accepted
  bool any_ = false;                                // was
  int idle_ = 1;                                    // one more whenever Stats::idle may not be believed any more
  std::size_t seen_ = 0;                            // of Tree::touched
  std::map<int, int> flying_;                       // of this call: by branch
  bool strict_ = true;
};

std::unique_ptr<Strategy> Make(const Parameters& parameters) { return std::make_unique<MctsStrategy>(parameters); }

}  // namespace

HONE_ROW(StrategyRow){.name = "mcts",
                      .doc = "Monte Carlo tree search, all of its parts with switches",
                      .parameters = kParameters,
                      .make = Make};

}  // namespace hone::strategy_mcts
