#include "propose/expert/window.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

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

// A dimension that is two of an image's, as tokens are, as those, the last one behind; more where it is more. Nothing
// where each index has a dimension of its own already, or they are no image's.
std::vector<WindowDim> AsImage(const WindowDim& dim) {
  if (dim.divisor > 1 || (dim.kept.size() < 2 && dim.folded.size() < 2)) return {dim};
  const auto least_and_most = [&](const WindowDim& one) {
    std::pair<std::int64_t, std::int64_t> range(one.place.constant, one.place.constant);
    for (const auto* vars : {&one.kept, &one.folded}) {
      for (const IndexVar& var : *vars) {
        const std::int64_t reach = one.place.of(var) * (var.extent - 1);
        (reach < 0 ? range.first : range.second) += reach;
      }
    }
    return range;
  };
  std::set<std::int64_t, std::greater<>> rows;
  for (const auto& [_, step] : dim.place.coefficient) rows.insert(step);
  for (const std::int64_t row : rows) {
    if (row < 2 || dim.extent % row != 0) continue;
    WindowDim outer{.extent = dim.extent / row, .step = dim.step * row, .place = {}, .kept = {}, .folded = {}},
        inner{.extent = row, .step = dim.step, .place = {}, .kept = {}, .folded = {}};
    outer.place.constant = dim.place.constant / row;
    inner.place.constant = dim.place.constant % row;
    for (const bool kept : {true, false}) {
      for (const IndexVar& var : kept ? dim.kept : dim.folded) {
        const std::int64_t step = dim.place.of(var);
        WindowDim& of = step % row == 0 ? outer : inner;
        of.place.coefficient[var.id] = step % row == 0 ? step / row : step;
        (kept ? of.kept : of.folded).push_back(var);
      }
    }
    const auto [least, most] = least_and_most(inner);
    if (least < 0 || most >= row || inner.kept.size() > 1 || inner.folded.size() > 1) continue;
    std::vector<WindowDim> image = AsImage(outer);
    if (image.back().kept.size() > 1 || image.back().folded.size() > 1) continue;
    image.push_back(std::move(inner));
    return image;
  }
  return {dim};
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
    for (WindowDim& one : AsImage(dim)) window.dims.push_back(std::move(one));
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
