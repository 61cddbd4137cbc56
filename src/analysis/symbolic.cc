// One file because what is known of a buffer is found by folding, and told apart by expanding, the same terms: each
// class here asks the ones before it.
#include "analysis/symbolic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "expr/fold.h"

namespace hone {
namespace {

bool IsReal(const Expr& e) { return e->type == ScalarType::kReal; }
bool IsNumber(const Expr& e, double value) { return IsConst(e) && IsReal(e) && e->real == value; }

Expr ConstantOf(double value, ScalarType type) {
  if (type == ScalarType::kReal) return value;
  if (type == ScalarType::kBool) return Expr::Bool(value != 0);
  return static_cast<std::int64_t>(value);
}

}  // namespace

bool IsPolynomial(const Expr& value) {
  switch (value->kind) {
    case Expr::Kind::kConst:
    case Expr::Kind::kLoad:
    case Expr::Kind::kSelect: return true;
    case Expr::Kind::kUnary: return value->unary == UnaryOp::kNeg;
    case Expr::Kind::kBinary: return value->binary <= BinaryOp::kDiv;
    case Expr::Kind::kReduce: return value->reduce == ReduceOp::kSum;
    default: return false;
  }
}

// --- Folding ---

namespace {

class Simplifier {
 public:
  Simplifier(const Graph& graph, const std::vector<Expr>& values, const std::vector<std::optional<double>>& constants)
      : graph_(graph), values_(values), constants_(constants) {}

  Expr Do(const Expr& e) {
    return memo_.Do(e, [this](const Expr& node) { return Fold(node); });
  }

 private:
  Expr Fold(const Expr& e) {
    if (e->kind == Expr::Kind::kConst) return e;
    if (e->kind == Expr::Kind::kIndex) return e->index.extent == 1 ? Expr(0) : e;
    std::vector<Expr> operands;
    for (const auto& operand : e->operands) operands.push_back(Do(operand));
    switch (e->kind) {
      case Expr::Kind::kLoad: return FoldLoad(*e, std::move(operands));
      case Expr::Kind::kUnary: return FoldUnary(e->unary, operands[0]);
      case Expr::Kind::kBinary: return FoldBinary(e->binary, operands[0], operands[1]);
      case Expr::Kind::kSelect:
        if (SameExpr(operands[1], operands[2])) return operands[1];
        return Select(operands[0], operands[1], operands[2]);
      case Expr::Kind::kCast: return Cast(operands[0], e->type);
      case Expr::Kind::kReduce: return FoldReduce(*e, operands[0]);
      default: return e;
    }
  }

  Expr FoldLoad(const ExprNode& load, std::vector<Expr> indices) {
    const auto buffer = static_cast<std::size_t>(load.buffer);
    if (const auto constant = constants_[buffer]) return ConstantOf(*constant, load.type);
    const int made_by = graph_.buffers()[buffer].stage;
    if (made_by >= 0) {
      const Stage& stage = graph_.stages()[static_cast<std::size_t>(made_by)];
      const Expr& value = values_[static_cast<std::size_t>(made_by)];
      if (value && value->kind == Expr::Kind::kLoad && value->buffer != load.buffer) {
        return Do(Substitute(value, [&](const IndexVar& var) -> Expr {
          for (std::size_t d = 0; d < stage.vars.size(); ++d) {
            if (stage.vars[d].id == var.id) return indices[d];
          }
          return {};
        }));
      }
    }
    return Load(load.buffer, std::move(indices), load.type);
  }

  static Expr FoldUnary(UnaryOp op, const Expr& x) {
    if (IsConst(x)) {
      if (const auto value = Evaluate(op, x)) return *value;
    }
    if (op == UnaryOp::kLog && x->kind == Expr::Kind::kUnary && x->unary == UnaryOp::kExp) return x->operands[0];
    if (op == UnaryOp::kNeg && x->kind == Expr::Kind::kUnary && x->unary == UnaryOp::kNeg) return x->operands[0];
    return Apply(op, x);
  }

  static Expr FoldBinary(BinaryOp op, const Expr& a, const Expr& b) {
    if (IsConst(a) && IsConst(b)) {
      if (const auto value = Evaluate(op, a, b)) return *value;
    }
    if (a->type == ScalarType::kInt && b->type == ScalarType::kInt) {
      if (op >= BinaryOp::kLess && op <= BinaryOp::kNotEqual) {
        LinearIndex difference = ToLinear(a);
        AddTo(difference, ToLinear(b), -1);
        const auto [low, high] = RangeOf(difference);
        if (op == BinaryOp::kLess && (high < 0 || low >= 0)) return Expr::Bool(high < 0);
        if (op == BinaryOp::kLessEqual && (high <= 0 || low > 0)) return Expr::Bool(high <= 0);
        if (op == BinaryOp::kEqual && (low > 0 || high < 0 || (low == 0 && high == 0))) return Expr::Bool(low == high);
      } else if (const Expr plain = Apply(op, a, b); plain->type == ScalarType::kInt) {
        return FromLinear(ToLinear(plain));
      }
    }
    if (IsReal(a) && IsReal(b)) {
      if (op == BinaryOp::kAdd && IsNumber(a, 0)) return b;
      if ((op == BinaryOp::kAdd || op == BinaryOp::kSub) && IsNumber(b, 0)) return a;
      if (op == BinaryOp::kMul && (IsNumber(a, 0) || IsNumber(b, 0))) return 0.0;
      if (op == BinaryOp::kMul && IsNumber(a, 1)) return b;
      if ((op == BinaryOp::kMul || op == BinaryOp::kDiv || op == BinaryOp::kPow) && IsNumber(b, 1)) return a;
      if (op == BinaryOp::kDiv && IsNumber(a, 0) && !IsNumber(b, 0)) return 0.0;
      if (op == BinaryOp::kSub && SameExpr(a, b)) return 0.0;
      if (op == BinaryOp::kDiv && SameExpr(a, b)) return 1.0;
      if ((op == BinaryOp::kMin || op == BinaryOp::kMax) && SameExpr(a, b)) return a;
    }
    return Apply(op, a, b);
  }

  Expr FoldReduce(const ExprNode& reduce, Expr body) {
    const bool argument = IsArg(reduce.reduce);
    std::vector<IndexVar> over;
    double count = 1;
    for (const auto& var : reduce.over) {
      if (var.extent != 1 || argument) over.push_back(var);
      count *= static_cast<double>(var.extent);
    }
    if (count == 1) return argument ? Expr(0) : body;
    if (count > 1 && IsConst(body)) {
      switch (reduce.reduce) {
        case ReduceOp::kSum:
          if (IsReal(body)) return body->real * count;
          break;
        case ReduceOp::kMax:
        case ReduceOp::kMin:
        case ReduceOp::kAny:
        case ReduceOp::kAll: return body;
        case ReduceOp::kArgMax:
        case ReduceOp::kArgMin: return 0;
        default: break;
      }
    }
    return Reduce(reduce.reduce, std::move(over), std::move(body));
  }

  const Graph& graph_;
  const std::vector<Expr>& values_;
  const std::vector<std::optional<double>>& constants_;
  ExprMemo memo_;
};

// --- Polynomials ---

// Beyond these an expression is left alone: what is looked for is found in far smaller ones.
constexpr std::size_t kTermsAtMost = 24;
constexpr std::size_t kFactorsAtMost = 8;
constexpr int kStepsAtMost = 400;
constexpr int kDepthAtMost = 4;

// Whether `a` is `b` when indices of `a` are renamed; `renamed` says how so far and grows. Indices that are not among
// `free` have to be the same.
class Matcher {
 public:
  Matcher(const std::vector<IndexVar>& free, const std::vector<IndexVar>& targets) : free_(free), targets_(targets) {}

  bool Match(const Expr& a, const Expr& b) {
    if (!SameNode(*a, *b)) return false;
    if (a->kind == Expr::Kind::kIndex) return MatchIndex(a->index, b->index);
    for (std::size_t i = 0; i < a->over.size(); ++i) bound_.emplace_back(a->over[i].id, b->over[i].id);
    for (std::size_t i = 0; i < a->operands.size(); ++i) {
      if (!Match(a->operands[i], b->operands[i])) return false;
    }
    return true;
  }

  // Every factor of `a` is a different one of `b`. Gives which, or nothing.
  std::optional<std::vector<std::size_t>> MatchAll(const std::vector<Expr>& a, const std::vector<Expr>& b) {
    std::vector<std::size_t> chosen;
    if (Assign(a, b, chosen)) return chosen;
    return std::nullopt;
  }

  const std::vector<std::pair<int, int>>& renamed() const { return renamed_; }

 private:
  bool MatchIndex(const IndexVar& a, const IndexVar& b) {
    for (const auto& [from, to] : bound_) {
      if (from == a.id) return to == b.id;
    }
    const auto is = [](int id) { return [id](const IndexVar& var) { return var.id == id; }; };
    if (std::none_of(free_.begin(), free_.end(), is(a.id))) return a.id == b.id;
    for (const auto& [from, to] : renamed_) {
      if (from == a.id) return to == b.id;
      if (to == b.id) return false;
    }
    if (a.extent != b.extent || std::none_of(targets_.begin(), targets_.end(), is(b.id))) return false;
    renamed_.emplace_back(a.id, b.id);
    return true;
  }

  bool Assign(const std::vector<Expr>& a, const std::vector<Expr>& b, std::vector<std::size_t>& chosen) {
    if (chosen.size() == a.size()) return true;
    for (std::size_t j = 0; j < b.size(); ++j) {
      if (std::find(chosen.begin(), chosen.end(), j) != chosen.end()) continue;
      const auto renamed = renamed_;
      if (Match(a[chosen.size()], b[j])) {
        chosen.push_back(j);
        if (Assign(a, b, chosen)) return true;
        chosen.pop_back();
      }
      renamed_ = renamed;
    }
    return false;
  }

  const std::vector<IndexVar>& free_;
  const std::vector<IndexVar>& targets_;
  std::vector<std::pair<int, int>> renamed_, bound_;
};

bool SameTerm(const Term& a, const Term& b) {
  if (a.factors.size() != b.factors.size() || a.over.size() != b.over.size()) return false;
  return Matcher(a.over, b.over).MatchAll(a.factors, b.factors).has_value();
}

}  // namespace

bool IsTruth(const Expr& factor) {
  return factor->kind == Expr::Kind::kSelect && IsConst(factor->operands[1]) && IsConst(factor->operands[2]);
}

class Expander {
 public:
  Expander(Symbolic& symbolic, const Symbolic::Inlined& inlined) : symbolic_(symbolic), inlined_(inlined) {}

  std::optional<Polynomial> Do(const Expr& e) {
    Polynomial result = Visit(e);
    Tidy(result);
    if (failed_) return std::nullopt;
    return result;
  }

 private:
  Polynomial Fail() {
    failed_ = true;
    return {};
  }

  Polynomial Visit(const Expr& e) {
    if (failed_ || ++steps_ > kStepsAtMost) return Fail();
    if (IsConst(e) && IsReal(e)) {
      if (!std::isfinite(e->real)) return Fail();
      return e->real == 0 ? Polynomial{} : Polynomial{{e->real, {}, {}}};
    }
    if (!IsReal(e)) return {{1, {}, {e}}};
    switch (e->kind) {
      case Expr::Kind::kLoad: return VisitLoad(e);
      case Expr::Kind::kUnary:
        if (e->unary == UnaryOp::kNeg) return Scale(Visit(e->operands[0]), -1);
        if (e->unary == UnaryOp::kReciprocal) return {{1, {}, {e}}};
        break;
      case Expr::Kind::kBinary: return VisitBinary(e);
      case Expr::Kind::kSelect: return VisitSelect(e);
      case Expr::Kind::kReduce: return VisitReduce(e);
      default: break;
    }
    return {{1, {}, {e}}};
  }

  Polynomial VisitLoad(const Expr& e) {
    const int made_by = symbolic_.graph_->buffers()[static_cast<std::size_t>(e->buffer)].stage;
    if (made_by < 0 || !inlined_(e->buffer)) return {{1, {}, {e}}};
    const Stage& stage = symbolic_.graph_->stages()[static_cast<std::size_t>(made_by)];
    const Expr& value = symbolic_.Value(static_cast<std::size_t>(made_by));
    if (!value || !IsPolynomial(value)) return {{1, {}, {e}}};
    return Visit(symbolic_.Simplify(Substitute(value, [&](const IndexVar& var) -> Expr {
      for (std::size_t d = 0; d < stage.vars.size(); ++d) {
        if (stage.vars[d].id == var.id) return e->operands[d];
      }
      return {};
    })));
  }

  Polynomial VisitBinary(const Expr& e) {
    const Expr &a = e->operands[0], &b = e->operands[1];
    switch (e->binary) {
      case BinaryOp::kAdd:
      case BinaryOp::kSub: {
        Polynomial sum = Visit(a), more = Scale(Visit(b), e->binary == BinaryOp::kAdd ? 1 : -1);
        sum.insert(sum.end(), more.begin(), more.end());
        if (sum.size() > kTermsAtMost) Tidy(sum);
        return sum.size() > kTermsAtMost ? Fail() : sum;
      }
      case BinaryOp::kMul: return Product(Visit(a), Visit(b));
      case BinaryOp::kDiv:
        if (IsConst(b)) return b->real == 0 ? Fail() : Scale(Visit(a), 1 / b->real);
        return Product(Visit(a), {{1, {}, {Apply(UnaryOp::kReciprocal, b)}}});
      default: return {{1, {}, {e}}};
    }
  }

  // Both sides as products with truth values, if the condition does not hang on data.
  Polynomial VisitSelect(const Expr& e) {
    const Expr& condition = e->operands[0];
    if (HasLoad(condition) || IsTruth(e)) return {{1, {}, {e}}};
    for (int side = 1; side <= 2; ++side) {
      const Expr& value = e->operands[static_cast<std::size_t>(side)];
      if (IsConst(value) && !std::isfinite(value->real)) return {{1, {}, {e}}};
    }
    Polynomial sum = Product(Visit(e->operands[1]), {{1, {}, {Select(condition, 1.0, 0.0)}}});
    Polynomial other = Product(Visit(e->operands[2]), {{1, {}, {Select(condition, 0.0, 1.0)}}});
    sum.insert(sum.end(), other.begin(), other.end());
    return sum.size() > kTermsAtMost ? Fail() : sum;
  }

  Polynomial VisitReduce(const Expr& e) {
    if (e->reduce != ReduceOp::kSum) return {{1, {}, {e}}};
    std::vector<IndexVar> fresh;
    for (const auto& var : e->over) fresh.push_back(NewIndex(var.extent));
    Polynomial sum = Visit(Substitute(e->operands[0], [&](const IndexVar& var) -> Expr {
      for (std::size_t i = 0; i < fresh.size(); ++i) {
        if (e->over[i].id == var.id) return fresh[i];
      }
      return {};
    }));
    for (auto& term : sum) term.over.insert(term.over.end(), fresh.begin(), fresh.end());
    return sum;
  }

  static Polynomial Scale(Polynomial sum, double by) {
    for (auto& term : sum) term.coefficient *= by;
    return sum;
  }

  Polynomial Product(const Polynomial& a, const Polynomial& b) {
    if (failed_ || a.size() * b.size() > kTermsAtMost) return Fail();
    Polynomial result;
    for (const auto& x : a) {
      for (const auto& y : b) {
        Term term{x.coefficient * y.coefficient, x.over, x.factors};
        term.over.insert(term.over.end(), y.over.begin(), y.over.end());
        for (const auto& factor : y.factors) {
          const bool known = IsTruth(factor) && std::any_of(term.factors.begin(), term.factors.end(),
                                                            [&](const Expr& f) { return SameExpr(f, factor); });
          if (!known) term.factors.push_back(factor);
        }
        if (term.factors.size() > kFactorsAtMost) return Fail();
        result.push_back(std::move(term));
      }
    }
    return result;
  }

  // --- One form ---

  void Tidy(Polynomial& sum) {
    for (auto& term : sum) {
      if (failed_) return;
      SimplifyFactors(term);
      SplitIndices(term);
      DropUnused(term);
      while (CancelReciprocal(term)) {
      }
    }
    Polynomial merged;
    for (auto& term : sum) {
      if (term.coefficient == 0) continue;
      const auto same =
          std::find_if(merged.begin(), merged.end(), [&](const Term& other) { return SameTerm(other, term); });
      if (same == merged.end()) {
        merged.push_back(std::move(term));
        continue;
      }
      const double size = std::abs(same->coefficient) + std::abs(term.coefficient);
      same->coefficient += term.coefficient;
      if (std::abs(same->coefficient) < 1e-12 * size) merged.erase(same);
    }
    sum = std::move(merged);
  }

  void SimplifyFactors(Term& term) {
    std::vector<Expr> factors;
    for (const auto& factor : term.factors) {
      Expr simple = symbolic_.Simplify(factor);
      if (IsConst(simple) && IsReal(simple)) {
        term.coefficient *= simple->real;
      } else {
        factors.push_back(std::move(simple));
      }
    }
    term.factors = std::move(factors);
  }

  // A summed index that is used as i / m and i mod m becomes two: i = m * a + b.
  void SplitIndices(Term& term) {
    for (int round = 0; round < 16; ++round) {
      IndexVar split;
      std::int64_t by = 0;
      for (const auto& factor : term.factors) {
        hone::Visit(factor, [&](const ExprNode& node) {
          if (by != 0 || node.kind != Expr::Kind::kBinary) return;
          if (node.binary != BinaryOp::kFloorDiv && node.binary != BinaryOp::kFloorMod) return;
          const Expr &x = node.operands[0], &m = node.operands[1];
          if (x->kind != Expr::Kind::kIndex || !IsConst(m) || m->whole <= 1 || x->index.extent % m->whole != 0) return;
          if (std::none_of(term.over.begin(), term.over.end(),
                           [&](const IndexVar& var) { return var.id == x->index.id; }))
            return;
          split = x->index;
          by = m->whole;
        });
      }
      if (by == 0) return;
      const IndexVar coarse = NewIndex(split.extent / by), fine = NewIndex(by);
      const Expr instead = Expr(coarse) * by + Expr(fine);
      for (auto& factor : term.factors) {
        factor = Substitute(factor, [&](const IndexVar& var) { return var.id == split.id ? instead : Expr(); });
      }
      std::erase_if(term.over, [&](const IndexVar& var) { return var.id == split.id; });
      term.over.push_back(coarse);
      term.over.push_back(fine);
      SimplifyFactors(term);
    }
  }

  static void DropUnused(Term& term) {
    std::erase_if(term.over, [&](const IndexVar& var) {
      const bool used =
          std::any_of(term.factors.begin(), term.factors.end(), [&](const Expr& f) { return UsesIndex(f, var.id); });
      if (!used) term.coefficient *= static_cast<double>(var.extent);
      return !used;
    });
  }

  // (Sum over k of f[k]) / s, where s is that sum: 1.
  bool CancelReciprocal(Term& term) {
    for (std::size_t r = 0; r < term.factors.size(); ++r) {
      const Expr& factor = term.factors[r];
      if (factor->kind != Expr::Kind::kUnary || factor->unary != UnaryOp::kReciprocal) continue;
      const auto below = Expander(symbolic_, inlined_).Below(factor->operands[0], steps_);
      if (!below || below->size() != 1 || below->front().coefficient == 0) continue;
      const Term& divisor = below->front();
      std::vector<Expr> others = term.factors;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(r));
      Matcher matcher(divisor.over, term.over);
      const auto matched = matcher.MatchAll(divisor.factors, others);
      if (!matched || matcher.renamed().size() != divisor.over.size()) continue;
      std::vector<Expr> rest;
      for (std::size_t i = 0; i < others.size(); ++i) {
        if (std::find(matched->begin(), matched->end(), i) == matched->end()) rest.push_back(others[i]);
      }
      const auto summed = [&](const IndexVar& var) {
        return std::any_of(matcher.renamed().begin(), matcher.renamed().end(),
                           [&](const auto& pair) { return pair.second == var.id; });
      };
      bool used = false;
      for (const auto& var : term.over) {
        used |=
            summed(var) && std::any_of(rest.begin(), rest.end(), [&](const Expr& f) { return UsesIndex(f, var.id); });
      }
      if (used) continue;
      term.factors = std::move(rest);
      term.coefficient /= divisor.coefficient;
      std::erase_if(term.over, summed);
      return true;
    }
    return false;
  }

  std::optional<Polynomial> Below(const Expr& e, int steps) {
    steps_ = steps;
    return Do(e);
  }

  Symbolic& symbolic_;
  const Symbolic::Inlined& inlined_;
  int steps_ = 0;
  bool failed_ = false;
};

Symbolic::Symbolic(const Graph& graph)
    : graph_(&graph), values_(graph.stages().size()), constants_(graph.buffers().size()) {
  for (std::size_t b = 0; b < graph.buffers().size(); ++b) {
    const Buffer& buffer = graph.buffers()[b];
    if (buffer.stage >= 0 || buffer.tensor < 0) continue;
    const Tensor& tensor = graph.problem().tensors[static_cast<std::size_t>(buffer.tensor)];
    if (const auto* constant = std::get_if<struct Constant>(&tensor.generator)) constants_[b] = constant->value;
  }
}

void Symbolic::SetConstant(int buffer, double value) { constants_[static_cast<std::size_t>(buffer)] = value; }

Expr Symbolic::Simplify(const Expr& expr) { return Simplifier(*graph_, values_, constants_).Do(expr); }

std::optional<Polynomial> Symbolic::Expand(const Expr& expr, const Inlined& inlined) {
  return Expander(*this, inlined).Do(expr);
}

bool Symbolic::Define(std::size_t s) {
  const Stage& stage = graph_->stages()[s];
  values_[s] = Simplify(Substitute(stage.value, [&](const IndexVar& var) {
    return var.extent == 1 ? Expr(0) : Expr();  // of the stage itself; reduced ones are the simplifier's
  }));
  const auto index = static_cast<std::size_t>(stage.buffer);
  const Expr& value = values_[s];
  if (IsConst(value)) {
    constants_[index] = NumberOf(*value);
    return false;
  }
  if (!IsReal(value)) return false;
  // What lies just before is looked through first: the nearer the cancelling parts are, the smaller the sums.
  std::vector<bool> near(graph_->buffers().size(), false);
  std::vector<int> edge = {stage.buffer};
  for (int depth = 0; depth <= kDepthAtMost; ++depth) {
    const auto sum = Expand(value, [&](int buffer) { return bool(near[static_cast<std::size_t>(buffer)]); });
    if (!sum) return false;
    if (sum->empty()) constants_[index] = 0;
    if (sum->size() == 1 && sum->front().factors.empty()) constants_[index] = sum->front().coefficient;
    if (constants_[index]) return true;
    std::vector<int> next;
    for (const int buffer : edge) {
      const int made_by = graph_->buffers()[static_cast<std::size_t>(buffer)].stage;
      if (made_by < 0 || !values_[static_cast<std::size_t>(made_by)]) continue;
      Visit(values_[static_cast<std::size_t>(made_by)], [&](const ExprNode& node) {
        if (node.kind != Expr::Kind::kLoad || near[static_cast<std::size_t>(node.buffer)]) return;
        const int source = graph_->buffers()[static_cast<std::size_t>(node.buffer)].stage;
        if (source < 0 || graph_->stages()[static_cast<std::size_t>(source)].sequence >= 0) return;
        near[static_cast<std::size_t>(node.buffer)] = true;
        next.push_back(node.buffer);
      });
    }
    if (next.empty()) return false;
    edge = std::move(next);
  }
  return false;
}

}  // namespace hone
