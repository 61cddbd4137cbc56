#include "propose/expert/affine.h"

#include <algorithm>

namespace hone::expert {

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

Range RangeOf(const Affine& affine, const std::vector<IndexVar>& vars) {
  Range range{affine.constant, affine.constant};
  for (const auto& var : vars) {
    const std::int64_t reach = affine.of(var) * (var.extent - 1);
    (reach < 0 ? range.low : range.high) += reach;
  }
  return range;
}

std::optional<std::vector<Affine>> Unflatten(const Affine& flat, const std::vector<IndexVar>& vars,
                                             const Shape& extents) {
  const auto strides = DenseStrides(extents);
  std::vector<Affine> indices(extents.size());
  std::vector<std::int64_t> reach(extents.size(), 0);  // the largest value of each index
  if (flat.constant < 0) return std::nullopt;
  std::int64_t rest = flat.constant;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    indices[d].constant = rest / strides[d];
    reach[d] = indices[d].constant;
    rest %= strides[d];
  }
  if (rest != 0 || (extents.empty() && flat.constant != 0)) return std::nullopt;
  for (const auto& var : vars) {
    const std::int64_t step = flat.of(var);
    if (step == 0) continue;
    // The outermost dimension whose stride divides into the step: an extent of 1 has its neighbour's stride and must
    // not take it.
    std::size_t d = 0;
    while (d < extents.size() && (strides[d] > step || extents[d] == 1)) ++d;
    if (step < 0 || d == extents.size() || step % strides[d] != 0) return std::nullopt;
    indices[d].coefficient[var.id] = step / strides[d];
    reach[d] += step / strides[d] * (var.extent - 1);
  }
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (reach[d] >= std::max<std::int64_t>(extents[d], 1)) return std::nullopt;
  }
  return indices;
}

}  // namespace hone::expert
