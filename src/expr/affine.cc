#include "expr/affine.h"

namespace hone {
namespace {

void AddLinear(const Expr& e, std::int64_t times, LinearForm& form) {
  if (e->type == ScalarType::kInt) {
    if (e->kind == Expr::Kind::kConst) {
      form.sum.constant += times * e->whole;
      return;
    }
    if (e->kind == Expr::Kind::kIndex) {
      if ((form.sum.coefficient[e->index.id] += times) == 0) form.sum.coefficient.erase(e->index.id);
      return;
    }
    if (e->kind == Expr::Kind::kUnary && e->unary == UnaryOp::kNeg) return AddLinear(e->operands[0], -times, form);
    if (e->kind == Expr::Kind::kBinary && (e->binary == BinaryOp::kAdd || e->binary == BinaryOp::kSub)) {
      AddLinear(e->operands[0], times, form);
      return AddLinear(e->operands[1], e->binary == BinaryOp::kAdd ? times : -times, form);
    }
    if (e->kind == Expr::Kind::kBinary && e->binary == BinaryOp::kMul) {
      for (const std::size_t constant : {1, 0}) {
        if (e->operands[constant]->kind == Expr::Kind::kConst)
          return AddLinear(e->operands[1 - constant], times * e->operands[constant]->whole, form);
      }
    }
  }
  form.rest.emplace_back(e, times);
}

}  // namespace

Affine Combine(Affine a, const Affine& b, std::int64_t factor) {
  a.constant += factor * b.constant;
  for (const auto& [id, coefficient] : b.coefficient) {
    auto& sum = a.coefficient[id];
    sum += factor * coefficient;
    if (sum == 0) a.coefficient.erase(id);
  }
  return a;
}

std::optional<Affine> AffineOf(const Expr& e) {
  if (e->type != ScalarType::kInt) return std::nullopt;
  switch (e->kind) {
    case Expr::Kind::kConst: return Affine{e->whole, {}};
    case Expr::Kind::kIndex:
      if (e->index.extent == 1) return Affine{};
      return Affine{0, {{e->index.id, 1}}};
    case Expr::Kind::kUnary: {
      const auto x = AffineOf(e->operands[0]);
      if (!x || e->unary != UnaryOp::kNeg) return std::nullopt;
      return Combine({}, *x, -1);
    }
    case Expr::Kind::kBinary: {
      const auto a = AffineOf(e->operands[0]), b = AffineOf(e->operands[1]);
      if (!a || !b) return std::nullopt;
      switch (e->binary) {
        case BinaryOp::kAdd: return Combine(*a, *b, 1);
        case BinaryOp::kSub: return Combine(*a, *b, -1);
        case BinaryOp::kMul:
          if (a->coefficient.empty()) return Combine({}, *b, a->constant);
          if (b->coefficient.empty()) return Combine({}, *a, b->constant);
          return std::nullopt;
        default: return std::nullopt;
      }
    }
    default: return std::nullopt;
  }
}

Expr ToExpr(const Affine& affine, const std::vector<IndexVar>& vars) {
  Expr sum = 0;
  for (const auto& var : vars) {
    if (const auto coefficient = affine.of(var); coefficient != 0) sum = sum + Expr(var) * coefficient;
  }
  return sum + affine.constant;
}

WholeRange RangeOf(const Affine& affine, const std::vector<IndexVar>& vars) {
  WholeRange range{affine.constant, affine.constant};
  for (const auto& var : vars) {
    const std::int64_t reach = affine.of(var) * (var.extent - 1);
    (reach < 0 ? range.low : range.high) += reach;
  }
  return range;
}

LinearForm LinearOf(const Expr& whole) {
  LinearForm form;
  AddLinear(whole, 1, form);
  return form;
}

}  // namespace hone
