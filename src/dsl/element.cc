#include "dsl/element.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "dsl/knobs.h"
#include "expr/keyed_fold.h"
#include "expr/ranged_fold.h"

namespace hone::dsl {
namespace {

using Kind = Expr::Kind;

// Whether every use of the two indices is in an address that steps by them as if they were one, the outer around the
// inner.
bool RunsThrough(const Expr& expr, const IndexVar& outer, const IndexVar& inner) {
  bool runs = true;
  std::set<const ExprNode*> seen;
  const std::function<void(const Expr&)> walk = [&](const Expr& e) {
    if (!runs || !seen.insert(e.get()).second) return;
    if (e->kind == Kind::kIndex) runs &= e->index.id != outer.id && e->index.id != inner.id;
    if (e->kind != Kind::kLoad) {
      for (const auto& operand : e->operands) walk(operand);
      return;
    }
    const LinearForm form = LinearOf(e->operands[0]);
    runs &= form.sum.of(outer) == form.sum.of(inner) * inner.extent;
    for (const auto& [rest, times] : form.rest) runs &= !UsesIndex(rest, outer.id) && !UsesIndex(rest, inner.id);
    for (const auto& [rest, times] : form.rest) walk(rest);
  };
  walk(expr);
  return runs;
}

Expr Drop(const Expr& expr, const IndexVar& index) {
  return Substitute(expr, [&](const IndexVar& other) { return other.id == index.id ? Expr(0) : Expr(); });
}

// One index instead of two.
Expr Merge(const Expr& expr, const IndexVar& outer, const IndexVar& inner, const IndexVar& merged) {
  return Substitute(expr, [&](const IndexVar& other) {
    return other.id == outer.id ? Expr(0) : other.id == inner.id ? Expr(merged) : Expr();
  });
}

class Preparer {
 public:
  explicit Preparer(const Kernel& kernel) : kernel_(kernel) {}

  Expr Do(const Expr& e) {
    if (const auto it = done_.find(e.get()); it != done_.end()) return it->second;
    std::vector<Expr> operands;
    for (const auto& operand : e->operands) operands.push_back(Do(operand));
    Expr result = e->kind == Kind::kLoad     ? Flat(*e, operands)
                  : e->kind == Kind::kReduce ? Simpler(*e, operands[0])
                                             : WithOperands(e, std::move(operands));
    done_.emplace(e.get(), result);
    return result;
  }

 private:
  Expr Flat(const ExprNode& load, const std::vector<Expr>& indices) const {
    const KernelOperand& operand = kernel_.operands[static_cast<std::size_t>(load.buffer)];
    Expr address = operand.offset;
    bool may_miss = false;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const auto range = RangeOf(indices[d]);
      may_miss |= !range || range->low < 0 || range->high >= operand.extents[d];
      address = address + indices[d] * operand.strides[d];
    }
    return Load(load.buffer, {std::move(address)}, load.type, may_miss ? MayMiss::kYes : MayMiss::kNo);
  }

  static Expr Simpler(const ExprNode& fold, Expr body) {
    std::vector<IndexVar> over;
    for (const auto& index : fold.over) {
      if (index.extent == 1)
        body = Drop(body, index);
      else
        over.push_back(index);
    }
    const bool arg = IsArg(fold.reduce);
    if (over.empty()) {
      if (arg) return 0;
      return body->type == ScalarType::kBool && fold.type == ScalarType::kInt ? Cast(body, ScalarType::kInt) : body;
    }
    for (std::size_t i = over.size() - 1; i-- > 0;) {
      if (!RunsThrough(body, over[i], over[i + 1])) continue;
      const IndexVar merged = {over[i + 1].id, over[i].extent * over[i + 1].extent};
      body = Merge(body, over[i], over[i + 1], merged);
      over[i] = merged;
      over.erase(over.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    return Reduce(fold.reduce, std::move(over), std::move(body));
  }

  const Kernel& kernel_;
  std::map<const ExprNode*, Expr> done_;
};

// All that a flat element follows from.
struct FlatQuestion {
  const ExprNode* element = nullptr;
  std::vector<IndexVar> space;
  std::vector<KernelOperand> operands;
  std::set<int> fixed;

  bool operator==(const FlatQuestion& other) const {
    return element == other.element && fixed == other.fixed &&
           std::ranges::equal(
               space, other.space,
               [](const IndexVar& a, const IndexVar& b) { return a.id == b.id && a.extent == b.extent; }) &&
           std::ranges::equal(operands, other.operands, [](const KernelOperand& a, const KernelOperand& b) {
             return a.buffer == b.buffer && a.strides == b.strides && a.offset == b.offset && a.extents == b.extents;
           });
  }
};

FlatElement MadeFlat(const Kernel& kernel, const std::set<int>& fixed);

}  // namespace

std::optional<WholeRange> RangeOf(const Expr& e) {
  // Beyond this products are not looked at: they could overflow.
  constexpr std::int64_t kFar = std::int64_t{1} << 31;
  switch (e->kind) {
    case Kind::kConst:
      if (e->type == ScalarType::kReal) return std::nullopt;
      return WholeRange{e->whole, e->whole};
    case Kind::kIndex: return WholeRange{0, std::max<std::int64_t>(e->index.extent - 1, 0)};
    case Kind::kCast:
      if (e->type == ScalarType::kInt && e->operands[0]->type == ScalarType::kBool) return WholeRange{0, 1};
      return std::nullopt;
    case Kind::kReduce: {
      if (!IsArg(e->reduce)) return std::nullopt;
      std::int64_t count = 1;
      for (const auto& index : e->over) count *= index.extent;
      return WholeRange{0, std::max<std::int64_t>(count - 1, 0)};
    }
    case Kind::kSelect: {
      const auto a = RangeOf(e->operands[1]), b = RangeOf(e->operands[2]);
      if (!a || !b) return std::nullopt;
      return WholeRange{std::min(a->low, b->low), std::max(a->high, b->high)};
    }
    case Kind::kUnary: {
      if (e->unary != UnaryOp::kNeg || e->type != ScalarType::kInt) return std::nullopt;
      const auto a = RangeOf(e->operands[0]);
      if (!a) return std::nullopt;
      return WholeRange{-a->high, -a->low};
    }
    case Kind::kBinary: {
      if (e->type != ScalarType::kInt) return std::nullopt;
      const auto a = RangeOf(e->operands[0]), b = RangeOf(e->operands[1]);
      if (e->binary == BinaryOp::kFloorMod && b && b->low == b->high && b->low > 0) {
        if (a && a->low >= 0 && a->high < b->low) return a;
        return WholeRange{0, b->low - 1};
      }
      if (!a || !b) return std::nullopt;
      for (const auto end : {a->low, a->high, b->low, b->high}) {
        if (end < -kFar || end > kFar) return std::nullopt;
      }
      switch (e->binary) {
        case BinaryOp::kAdd: return WholeRange{a->low + b->low, a->high + b->high};
        case BinaryOp::kSub: return WholeRange{a->low - b->high, a->high - b->low};
        case BinaryOp::kMul: {
          const std::int64_t ends[] = {a->low * b->low, a->low * b->high, a->high * b->low, a->high * b->high};
          return WholeRange{*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
        }
        case BinaryOp::kMin: return WholeRange{std::min(a->low, b->low), std::min(a->high, b->high)};
        case BinaryOp::kMax: return WholeRange{std::max(a->low, b->low), std::max(a->high, b->high)};
        case BinaryOp::kFloorDiv: {
          if (b->low != b->high || b->low <= 0) return std::nullopt;
          const auto quotient = [&](std::int64_t x) { return x / b->low - (x % b->low < 0 ? 1 : 0); };
          return WholeRange{quotient(a->low), quotient(a->high)};
        }
        default: return std::nullopt;
      }
    }
    default: return std::nullopt;
  }
}

std::set<int> FreeIndices(const Expr& expr) {
  std::set<int> used, folded;
  Visit(expr, [&](const ExprNode& node) {
    if (node.kind == Kind::kIndex) used.insert(node.index.id);
    for (const auto& index : node.over) folded.insert(index.id);
  });
  for (const int id : folded) used.erase(id);
  return used;
}

std::optional<std::int64_t> StrideAlong(const Expr& address, int index) {
  const LinearForm form = LinearOf(address);
  for (const auto& [rest, times] : form.rest) {
    if (UsesIndex(rest, index)) return std::nullopt;
  }
  return form.sum.of(index);
}

Expr BothHold(const Expr& first, const Expr& second) {
  if (!first) return second;
  if (!second) return first;
  bool plain = true;
  Visit(second, [&](const ExprNode& node) { plain &= node.kind != Kind::kLoad && node.kind != Kind::kReduce; });
  return plain ? Apply(BinaryOp::kAnd, first, second) : Select(first, second, Expr::Bool(false));
}

std::vector<GuardedFold> OuterFolds(const Expr& expr, const Expr& guard) {
  std::vector<GuardedFold> folds;
  std::set<std::pair<const ExprNode*, const ExprNode*>> seen;  // what a chain repeats is met once
  std::vector<Expr> kept;                                      // so that a freed condition's address is not met again
  const std::function<void(const Expr&, const Expr&)> walk = [&](const Expr& e, const Expr& under) {
    if (!seen.emplace(e.get(), under.get()).second) return;
    kept.push_back(under);
    switch (e->kind) {
      case Kind::kReduce: folds.push_back({e, under}); return;
      case Kind::kSelect:
        walk(e->operands[0], under);
        walk(e->operands[1], BothHold(under, e->operands[0]));
        walk(e->operands[2], BothHold(under, Apply(UnaryOp::kNot, e->operands[0])));
        return;
      default:
        for (const auto& operand : e->operands) walk(operand, under);
    }
  };
  bool any = false;
  Visit(expr, [&](const ExprNode& node) { any |= node.kind == Kind::kReduce; });
  if (any) walk(expr, guard);
  return folds;
}

FlatElement MakeFlat(const Kernel& kernel, const std::set<int>& fixed) {
  // Each way and each knob of a nest asks about the same kernel, one after the other: the last answer is kept, of a
  // deep network's program that is four fifths of the work. The expression is kept with it, so that no other one has
  // its address.
  struct Kept {
    FlatQuestion question;
    Expr element;
    FlatElement flat;
  };
  thread_local Kept kept;
  FlatQuestion question{kernel.epilogue.get(), kernel.space, kernel.operands, fixed};
  if (kept.question == question) return kept.flat;
  kept.flat = MadeFlat(kernel, fixed);
  kept.element = kernel.epilogue;
  kept.question = std::move(question);
  return kept.flat;
}

namespace {

FlatElement MadeFlat(const Kernel& kernel, const std::set<int>& fixed) {
  FlatElement element;
  element.value = kernel.epilogue;
  element.value = Preparer(kernel).Do(element.value);
  std::vector<std::size_t> dims;
  for (std::size_t d = 0; d < kernel.space.size(); ++d) {
    const IndexVar& index = kernel.space[d];
    if (index.extent == 1 && !fixed.contains(index.id)) {
      element.value = Drop(element.value, index);
    } else {
      // The dimensions that are left, in the target next to each other where nothing fixed lies between.
      if (!fixed.contains(index.id)) element.indices.push_back(index);
      dims.push_back(fixed.contains(index.id) ? 0 : 1);
    }
  }
  // From the innermost on; a fixed dimension parts its neighbours, since addresses in the target step over it.
  std::vector<IndexVar> merged;
  std::size_t left = element.indices.size();
  bool joins = false;
  for (std::size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 0) {
      joins = false;
      continue;
    }
    const IndexVar outer = element.indices[--left];
    if (joins && RunsThrough(element.value, outer, merged.front())) {
      const IndexVar both = {merged.front().id, outer.extent * merged.front().extent};
      element.value = Merge(element.value, outer, merged.front(), both);
      merged.front() = both;
    } else {
      merged.insert(merged.begin(), outer);
    }
    joins = true;
  }
  element.indices = std::move(merged);
  return element;
}

}  // namespace

double FoldedOperations(const Expr& expr) {
  std::map<const ExprNode*, double> known;
  const std::function<double(const Expr&)> cost = [&](const Expr& e) -> double {
    if (const auto it = known.find(e.get()); it != known.end()) return it->second;
    double sum = 0;
    for (const auto& operand : e->operands) sum += cost(operand);
    if (e->kind == Kind::kReduce) {
      double count = 1;
      for (const auto& index : e->over) count *= static_cast<double>(index.extent);
      // By keys, each term is of one element (expr/keyed_fold.h).
      if (const auto keyed = KeyedFoldOf(*e)) count /= static_cast<double>(keyed->index.extent);
      if (const auto ranged = RangedFoldOf(*e)) count /= Segments(*ranged);
      sum = (sum + 1) * count;
    } else if (e->kind == Kind::kUnary || e->kind == Kind::kBinary || e->kind == Kind::kSelect) {
      std::vector<Expr> leaves(e->operands.size(), Load(0, {}, ScalarType::kReal));
      const bool real = e->type == ScalarType::kReal && e->operands.back()->type == ScalarType::kReal;
      sum += real ? OperationsPerElement(
                        WithOperands(e, e->kind == Kind::kSelect
                                            ? std::vector<Expr>{Load(1, {}, ScalarType::kBool), leaves[0], leaves[1]}
                                            : leaves))
                  : 0.0;
    }
    return known[e.get()] = sum;
  };
  return cost(expr);
}

std::int64_t PointsOf(const std::vector<IndexVar>& indices) {
  std::int64_t count = 1;
  for (const auto& index : indices) count *= index.extent;
  return count;
}

std::optional<FoldedElement> OneFold(const Kernel& kernel) {
  if (kernel.attributes.contains("sequence")) return std::nullopt;
  FoldedElement made{.element = MakeFlat(kernel, {}), .fold = {}};
  // Many ways ask, and few nests have one: what it would be is made of those alone.
  int folds = 0;
  bool nested = false;
  VisitOuterFolds(made.element.value, [&](const ExprNode& fold) {
    ++folds;
    nested |= HasReduce(fold.operands[0]);
  });
  if (folds != 1 || nested) return std::nullopt;
  const std::function<Expr(const Expr&)> replaced = [&](const Expr& e) -> Expr {
    if (e->kind == Expr::Kind::kReduce) {
      made.fold = e;
      return Value(kIt, e->type);
    }
    std::vector<Expr> operands;
    for (const Expr& operand : e->operands) operands.push_back(replaced(operand));
    return operands.empty() ? e : WithOperands(e, std::move(operands));
  };
  made.element.value = replaced(made.element.value);
  return made;
}

}  // namespace hone::dsl
