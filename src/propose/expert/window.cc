#include "propose/expert/window.h"

#include <algorithm>

#include "expr/fold.h"
#include "propose/expert/normalise.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

// An index as floor(affine / divisor): itself, or a sum in which one term is such a division.
struct Divided {
  Affine value;
  std::int64_t divisor = 1;
  bool operator==(const Divided&) const = default;
};

std::optional<Divided> DividedOf(const Expr& e) {
  if (const auto affine = AffineOf(e)) return Divided{*affine, 1};
  if (e->kind != Expr::Kind::kBinary) return std::nullopt;
  if (e->binary == BinaryOp::kFloorDiv && e->operands[1]->kind == Expr::Kind::kConst && e->operands[1]->whole > 0) {
    const auto affine = AffineOf(e->operands[0]);
    if (!affine) return std::nullopt;
    return Divided{*affine, e->operands[1]->whole};
  }
  if (e->binary != BinaryOp::kAdd && e->binary != BinaryOp::kSub) return std::nullopt;
  const auto a = DividedOf(e->operands[0]), b = DividedOf(e->operands[1]);
  if (!a || !b || (a->divisor > 1 && b->divisor > 1)) return std::nullopt;
  const bool minus = e->binary == BinaryOp::kSub;
  if (minus && b->divisor > 1) return std::nullopt;
  const std::int64_t divisor = a->divisor * b->divisor;
  // floor(p / d) + q = floor((p + d q) / d).
  Affine sum = Combine({}, a->value, a->divisor > 1 ? 1 : divisor);
  return Divided{Combine(std::move(sum), b->value, (minus ? -1 : 1) * (b->divisor > 1 ? 1 : divisor)), divisor};
}

// Whether the condition is `divides`: mod(p, d) == 0 with p the dimension's place up to multiples of d.
bool IsDivisibility(const Expr& condition, const WindowDim& dim) {
  if (condition->kind != Expr::Kind::kBinary || condition->binary != BinaryOp::kEqual) return false;
  const Expr &left = condition->operands[0], &right = condition->operands[1];
  if (right->kind != Expr::Kind::kConst || right->whole != 0 || left->kind != Expr::Kind::kBinary ||
      left->binary != BinaryOp::kFloorMod || left->operands[1]->kind != Expr::Kind::kConst ||
      left->operands[1]->whole != dim.divisor)
    return false;
  const auto rest = AffineOf(left->operands[0]);
  if (!rest) return false;
  const Affine apart = Combine(*rest, dim.place, -1);
  return apart.constant % dim.divisor == 0 &&
         std::all_of(apart.coefficient.begin(), apart.coefficient.end(),
                     [&](const auto& term) { return term.second % dim.divisor == 0; });
}

// Whether the condition is 0 <= place, or place < extent.
bool IsBound(const Expr& condition, const WindowDim& dim) {
  if (condition->kind != Expr::Kind::kBinary) return false;
  const bool less = condition->binary == BinaryOp::kLess;
  if (!less && condition->binary != BinaryOp::kLessEqual) return false;
  const auto a = DividedOf(condition->operands[0]), b = DividedOf(condition->operands[1]);
  if (!a || !b) return false;
  const Divided here{dim.place, dim.divisor};
  // A quotient is compared as it is; affine ones may have constants on both sides.
  if (dim.divisor > 1) {
    if (*b == here && a->value.coefficient.empty() && a->divisor == 1) return a->value.constant + (less ? 1 : 0) == 0;
    if (*a == here && b->value.coefficient.empty() && b->divisor == 1)
      return b->value.constant + (less ? 0 : 1) == dim.extent;
    return false;
  }
  if (a->divisor > 1 || b->divisor > 1) return false;
  // Holds where `room` is 0 or more.
  Affine room = Combine(b->value, a->value, -1);
  if (less) room.constant -= 1;
  Affine above = Combine({}, dim.place, -1);
  above.constant += dim.extent - 1;
  return room == dim.place || room == above;
}

}  // namespace

std::optional<WindowLoad> ReadWindow(const Memory& memory, const Expr& expr, const std::vector<IndexVar>& space,
                                     const std::vector<IndexVar>& over) {
  std::vector<Expr> conditions;
  WindowLoad window;
  Expr load = expr;
  while (load->kind == Expr::Kind::kSelect) {
    if (load->operands[2]->kind != Expr::Kind::kConst) return std::nullopt;
    const double outside = NumberOf(*load->operands[2]);
    if (window.conditions && outside != window.outside) return std::nullopt;
    window.outside = outside;
    window.conditions = true;
    for (auto& one : Conjuncts(load->operands[0])) conditions.push_back(std::move(one));
    load = load->operands[1];
  }
  if (load->kind != Expr::Kind::kLoad) return std::nullopt;
  window.buffer = memory.Root(load->buffer);
  window.type = load->type;
  const Shape& shape = memory.shape(load->buffer);
  const auto strides = DenseStrides(shape);
  std::vector<Expr> indices = load->operands;
  if (indices.size() != shape.size()) return std::nullopt;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto place = DividedOf(indices[d]);
    if (!place) return std::nullopt;
    WindowDim dim{.extent = shape[d],
                  .step = strides[d],
                  .place = place->value,
                  .divisor = place->divisor,
                  .kept = {},
                  .folded = {}};
    for (const auto& var : space) {
      if (dim.place.of(var) != 0) dim.kept.push_back(var);
    }
    for (const auto& var : over) {
      if (dim.place.of(var) != 0) dim.folded.push_back(var);
    }
    if (dim.kept.size() + dim.folded.size() != dim.place.coefficient.size()) return std::nullopt;
    if (dim.place.coefficient.empty() && dim.divisor == 1) {
      window.offset += dim.place.constant * dim.step;
      continue;
    }
    window.dims.push_back(std::move(dim));
  }
  for (const auto& condition : conditions) {
    bool known = false;
    for (auto& dim : window.dims) {
      const bool bound = IsBound(condition, dim);
      dim.guarded |= bound;
      known |= bound || (dim.divisor > 1 && IsDivisibility(condition, dim));
    }
    if (!known) return std::nullopt;
  }
  return window;
}

}  // namespace hone::expert
