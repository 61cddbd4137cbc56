#include "analysis/collapse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>

#include "analysis/cost.h"
#include "analysis/linear_map.h"

namespace hone {
namespace {

constexpr std::size_t kVarsAtMost = 32;   // indices of one product
constexpr std::size_t kOrdersAtMost = 6;  // groups of indices whose orders are all tried: 720 orders
constexpr int kReachAtMost = 8;           // steps back from a stage

// --- What a sum of products costs ---

struct Factor {
  std::uint32_t vars = 0;  // a bit an index
  bool number = true;      // false: a truth value, which only says where terms are
  int buffer = -1;         // of a plain load
};

class TermCost {
 public:
  struct Answer {
    double flops = std::numeric_limits<double>::infinity();
    int alone = -1;         // the buffer that a sum reaches alone, in the best order; -1 if none
    double alone_over = 0;  // and over how many elements
  };

  TermCost(const Term& term, const std::vector<IndexVar>& outer) {
    for (const auto& var : outer) Add(var);
    kept_ = Mask();
    for (const auto& var : term.over) Add(var);
    if (vars_.size() > kVarsAtMost) return;
    std::vector<Factor> factors;
    double atoms = 0;
    for (const auto& expr : term.factors) {
      Factor factor;
      for (std::size_t i = 0; i < vars_.size(); ++i) {
        if (UsesIndex(expr, vars_[i].id)) factor.vars |= 1U << i;
      }
      factor.number = !IsTruth(expr) && expr->type != ScalarType::kBool;
      if (expr->kind == Expr::Kind::kLoad) factor.buffer = expr->buffer;
      if (factor.number && expr->kind != Expr::Kind::kLoad) {
        double operations = 0;
        Visit(expr, [&](const ExprNode& node) {
          operations +=
              node.type == ScalarType::kReal && (node.kind == Expr::Kind::kUnary || node.kind == Expr::Kind::kBinary);
        });
        atoms += operations * Domain(factor.vars);
      }
      factors.push_back(factor);
    }
    // Indices that the same factors use go together.
    std::vector<std::uint32_t> groups, patterns;
    for (std::size_t i = 0; i < vars_.size(); ++i) {
      if (kept_ >> i & 1) continue;
      std::uint32_t pattern = 0;
      for (std::size_t f = 0; f < factors.size(); ++f) pattern |= (factors[f].vars >> i & 1) << f;
      const auto same = std::find(patterns.begin(), patterns.end(), pattern);
      if (same == patterns.end()) {
        patterns.push_back(pattern);
        groups.push_back(1U << i);
      } else {
        groups[static_cast<std::size_t>(same - patterns.begin())] |= 1U << i;
      }
    }
    if (groups.size() > kOrdersAtMost) return;
    Answer so_far;
    so_far.flops = atoms;
    Eliminate(factors, groups, so_far);
  }

  const Answer& best() const { return best_; }

 private:
  void Add(const IndexVar& var) { vars_.push_back(var); }
  std::uint32_t Mask() const { return vars_.size() >= 32 ? ~0U : (1U << vars_.size()) - 1; }
  double Domain(std::uint32_t vars) const {
    double count = 1;
    for (std::size_t i = 0; i < vars_.size(); ++i) {
      if (vars >> i & 1) count *= static_cast<double>(vars_[i].extent);
    }
    return count;
  }

  void Eliminate(const std::vector<Factor>& factors, const std::vector<std::uint32_t>& groups, const Answer& so_far) {
    if (so_far.flops >= best_.flops) return;
    if (groups.empty()) {
      Answer done = so_far;
      double numbers = 0;
      for (const auto& factor : factors) numbers += factor.number;
      done.flops += numbers * Domain(kept_);  // the last products, the coefficient, and adding to the other terms
      if (done.flops < best_.flops) best_ = done;
      return;
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::vector<Factor> left;
      Factor joined{.vars = 0, .number = false};
      int numbers = 0;
      Answer next = so_far;
      int buffer = -1;
      for (const auto& factor : factors) {
        if (!(factor.vars & groups[g])) {
          left.push_back(factor);
          continue;
        }
        joined.vars |= factor.vars;
        joined.number |= factor.number;
        numbers += factor.number;
        if (factor.number) buffer = factor.buffer;
      }
      next.flops += std::max(numbers, 1) * Domain(joined.vars);
      const double over = Domain(groups[g]);
      if (numbers == 1 && over > next.alone_over && buffer >= 0) {
        next.alone = buffer;
        next.alone_over = over;
      }
      joined.vars &= ~groups[g];
      left.push_back(joined);
      std::vector<std::uint32_t> rest = groups;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(g));
      Eliminate(left, rest, next);
    }
  }

  std::vector<IndexVar> vars_;
  std::uint32_t kept_ = 0;
  Answer best_;
};

TermCost::Answer CostOf(const Polynomial& sum, const std::vector<IndexVar>& outer) {
  TermCost::Answer total;
  total.flops = 0;
  double largest = -1;
  for (const auto& term : sum) {
    std::vector<IndexVar> used;  // a term that is the same along an index is worked out once along it
    for (const auto& var : outer) {
      if (var.extent > 1) used.push_back(var);
    }
    const auto best = TermCost(term, used).best();
    total.flops += best.flops;
    if (best.flops > largest) {
      largest = best.flops;
      total.alone = best.alone;
      total.alone_over = best.alone_over;
    }
  }
  return total;
}

// --- What can be written out ---

// The loads of an expression: at places where it is linear in them or multiplies them, and elsewhere.
void Loads(const Expr& e, bool plain, std::set<int>& open, std::set<int>& closed) {
  switch (e->kind) {
    case Expr::Kind::kLoad:
      (plain ? open : closed).insert(e->buffer);
      for (const auto& index : e->operands) Loads(index, false, open, closed);
      return;
    case Expr::Kind::kUnary: plain &= e->unary == UnaryOp::kNeg; break;
    case Expr::Kind::kBinary:
      if (e->binary == BinaryOp::kDiv) {
        Loads(e->operands[0], plain, open, closed);
        Loads(e->operands[1], false, open, closed);
        return;
      }
      plain &= e->binary == BinaryOp::kAdd || e->binary == BinaryOp::kSub || e->binary == BinaryOp::kMul;
      break;
    case Expr::Kind::kSelect:
      Loads(e->operands[0], false, open, closed);
      plain &= !HasLoad(e->operands[0]);
      Loads(e->operands[1], plain, open, closed);
      Loads(e->operands[2], plain, open, closed);
      return;
    case Expr::Kind::kReduce: plain &= e->reduce == ReduceOp::kSum; break;
    default: plain = false;
  }
  for (const auto& operand : e->operands) Loads(operand, plain, open, closed);
}

class Finder {
 public:
  Finder(const Graph& graph, Symbolic& symbolic)
      : graph_(graph),
        symbolic_(symbolic),
        open_(graph.stages().size()),
        closed_(graph.stages().size()),
        users_(graph.buffers().size()),
        output_(graph.buffers().size(), false),
        taken_(graph.stages().size(), false) {
    std::vector<bool> needed(graph.buffers().size(), false);
    for (std::size_t o = 0; o < graph.problem().Outputs().size(); ++o) {
      needed[static_cast<std::size_t>(graph.Output(o))] = output_[static_cast<std::size_t>(graph.Output(o))] = true;
    }
    live_.assign(graph.stages().size(), false);
    for (std::size_t s = graph.stages().size(); s-- > 0;) {
      const Stage& stage = graph.stages()[s];
      // A sequence reads its own stages: all of it counts as needed.
      if (!needed[static_cast<std::size_t>(stage.buffer)] && stage.sequence < 0) continue;
      live_[s] = true;
      Loads(symbolic.Value(s), true, open_[s], closed_[s]);
      for (const auto* set : {&open_[s], &closed_[s]}) {
        for (const int buffer : *set) {
          needed[static_cast<std::size_t>(buffer)] = true;
          users_[static_cast<std::size_t>(buffer)].insert(s);
        }
      }
    }
  }

  std::vector<Collapse> Find() {
    std::vector<Collapse> found;
    for (std::size_t s = graph_.stages().size(); s-- > 0;) {
      if (!live_[s] || taken_[s] || graph_.stages()[s].sequence >= 0) continue;
      std::optional<Collapse> best;
      std::size_t size = 0;
      for (int reach = 1; reach <= kReachAtMost; ++reach) {
        const auto members = Members(s, reach);
        if (members.size() == size) break;  // nothing more comes within reach
        size = members.size();
        auto collapse = Try(s, members);
        if (collapse &&
            (!best || collapse->flops_written - collapse->flops_needed > best->flops_written - best->flops_needed)) {
          best = std::move(collapse);
        }
      }
      if (!best) continue;
      taken_[s] = true;
      for (const auto member : best->instead) taken_[member] = true;
      found.push_back(std::move(*best));
    }
    return found;
  }

 private:
  // The stages up to `reach` steps before s that only s and they themselves use, as parts of sums and products.
  std::set<std::size_t> Members(std::size_t s, int reach) const {
    std::set<std::size_t> members;
    for (int step = 0; step < reach; ++step) {
      std::set<int> next;
      const auto look = [&](std::size_t member) {
        for (const int buffer : open_[member]) next.insert(buffer);
      };
      look(s);
      for (const auto member : members) look(member);
      std::set<std::size_t> more;
      for (const int buffer : next) {
        const int made_by = graph_.buffers()[static_cast<std::size_t>(buffer)].stage;
        if (made_by < 0 || output_[static_cast<std::size_t>(buffer)]) continue;
        const auto source = static_cast<std::size_t>(made_by);
        if (members.count(source) || taken_[source] || graph_.stages()[source].sequence >= 0) continue;
        if (graph_.stages()[source].value->type != ScalarType::kReal || !IsPolynomial(symbolic_.Value(source)))
          continue;
        const auto inside = [&](std::size_t user) {
          return (user == s || members.count(user)) && !closed_[user].count(buffer);
        };
        const auto& users = users_[static_cast<std::size_t>(buffer)];
        if (std::all_of(users.begin(), users.end(), inside)) more.insert(source);
      }
      if (more.empty()) break;
      members.insert(more.begin(), more.end());
    }
    return members;
  }

  std::optional<Collapse> Try(std::size_t s, const std::set<std::size_t>& members) {
    Collapse collapse{.stage = s};
    collapse.instead.assign(members.begin(), members.end());
    collapse.flops_written = StageCost(graph_, s).flops();
    double most = 0;
    std::size_t heaviest = s;
    for (const auto member : members) {
      const double flops = StageCost(graph_, member).flops();
      collapse.flops_written += flops;
      if (flops > most) {
        most = flops;
        heaviest = member;
      }
    }
    if (most == 0) return std::nullopt;
    const auto form = symbolic_.Expand(symbolic_.Value(s), [&](int buffer) {
      const int made_by = graph_.buffers()[static_cast<std::size_t>(buffer)].stage;
      return made_by >= 0 && members.count(static_cast<std::size_t>(made_by)) > 0;
    });
    if (!form) return std::nullopt;
    const auto cost = CostOf(*form, graph_.stages()[s].vars);
    const double folded = LinearMapFlops(graph_, *form, graph_.stages()[s].vars);
    collapse.flops_needed = std::min(cost.flops, folded);
    if (2 * collapse.flops_needed > collapse.flops_written) return std::nullopt;
    collapse.form = *form;
    // The sum that is named is the one that was written last, be it followed by a few steps.
    std::size_t summing = s;
    for (auto it = members.rbegin(); it != members.rend() && !HasReduce(symbolic_.Value(summing)); ++it) {
      if (*it != heaviest) summing = *it;
    }
    const std::string here = NodeName(summing), there = NodeName(heaviest);
    if (folded < cost.flops) {
      collapse.reason = fmt::format(
          "{} and {} are one linear map: with their parameters multiplied out each result sums fewer elements", there,
          here);
    } else if (cost.alone >= 0) {
      const std::string& factor = graph_.buffers()[static_cast<std::size_t>(cost.alone)].name;
      collapse.reason = fmt::format("the sum over {:.0f} elements in {} reaches only {} of the contraction in {}",
                                    cost.alone_over, here, factor, there);
    } else {
      collapse.reason =
          fmt::format("between {} and {} all is linear: another order of summation needs less", there, here);
    }
    return collapse;
  }

  std::string NodeName(std::size_t s) const {
    const int node = graph_.stages()[s].node;
    if (node < 0) return "the copy of an output";
    return fmt::format("node {} ({})", node, graph_.problem().nodes[static_cast<std::size_t>(node)].op);
  }

  const Graph& graph_;
  Symbolic& symbolic_;
  std::vector<std::set<int>> open_, closed_;  // by stage: the buffers that it loads
  std::vector<std::set<std::size_t>> users_;  // by buffer
  std::vector<bool> output_, live_, taken_;
};

}  // namespace

std::vector<Collapse> FindCollapses(const Graph& graph, Symbolic& symbolic) { return Finder(graph, symbolic).Find(); }

double SavedFlops(const Graph& graph) {
  Symbolic symbolic(graph);
  for (std::size_t s = 0; s < graph.stages().size(); ++s) symbolic.Define(s);
  double saved = 0;
  for (const Collapse& collapse : FindCollapses(graph, symbolic))
    saved += collapse.flops_written - collapse.flops_needed;
  return saved;
}

}  // namespace hone
