// The maximum, sum or mean over a window that slides: pool.
#include <algorithm>
#include <cmath>
#include <limits>

#include "expr/fold.h"
#include "propose/expert/recognise/recognise.h"
#include "propose/expert/rewrite.h"
#include "propose/expert/window.h"

namespace hone::expert::recogniser_pool {
namespace {

// One pooled axis.
struct Axis {
  std::optional<IndexVar> out;
  std::int64_t in = 1, out_extent = 1, window = 1, stride = 1, padding = 0, dilation = 1;

  // Places of the window at `at` that lie in [-around, in + around).
  std::int64_t Inside(std::int64_t at, std::int64_t around) const {
    std::int64_t count = 0;
    for (std::int64_t k = 0; k < window; ++k) {
      const std::int64_t place = at * stride + k * dilation - padding;
      count += place >= -around && place < in + around ? 1 : 0;
    }
    return count;
  }
};

// Which of the language's means divides by this: 0, 1 or 2 as its attribute `inside`. Tried out at every place: however
// the operator writes the count, the numbers are the same.
std::optional<int> MeanOf(const Expr& divisor, const std::vector<Axis>& axes) {
  for (const int inside : {0, 1, 2}) {
    std::vector<std::int64_t> at(axes.size(), 0);
    bool same = true, more = true;
    while (same && more) {
      std::map<int, std::int64_t> indices;
      double count = 1;
      for (std::size_t a = 0; a < axes.size(); ++a) {
        if (axes[a].out) indices[axes[a].out->id] = at[a];
        count *= static_cast<double>(inside == 0 ? axes[a].window
                                                 : axes[a].Inside(at[a], inside == 1 ? 0 : axes[a].padding));
      }
      const auto value = ValueAt(divisor, indices);
      if (!value) return std::nullopt;
      same = *value == count;
      more = false;
      for (std::size_t a = axes.size(); a-- > 0 && !more;) {
        more = ++at[a] < axes[a].out_extent;
        if (!more) at[a] = 0;
      }
    }
    if (same) return inside;
  }
  return std::nullopt;
}

std::optional<dsl::Statement> RecognisePool(Names& names, const Piece& piece) {
  if (!piece.fold || (!IsWindow(piece) && IsPlain(names.memory(), piece)) ||
      (piece.fold->op != ReduceOp::kMax && piece.fold->op != ReduceOp::kSum))
    return std::nullopt;
  const Fold& fold = *piece.fold;
  const auto x = ReadWindow(names.memory(), fold.body, piece.space, fold.over);
  if (!x) return std::nullopt;
  const bool maximum = fold.op == ReduceOp::kMax;
  const double lowest = x->type == ScalarType::kReal ? -std::numeric_limits<double>::infinity()
                                                     : static_cast<double>(std::numeric_limits<std::int64_t>::min());
  if (x->conditions && x->outside != (maximum ? lowest : 0)) return std::nullopt;

  // The operand's dimensions in the order of the result's, then those whose window covers all.
  Shape shape;
  std::vector<std::int64_t> strides;
  std::int64_t offset = x->offset;
  std::vector<Axis> axes;
  dsl::Statement statement;
  bool slides = false;
  const auto add_axis = [&](const WindowDim& dim, std::optional<IndexVar> out) {
    if (dim.divisor != 1 || dim.folded.size() != 1 || dim.kept.size() != (out ? 1u : 0u)) return false;
    const std::int64_t begin = std::max<std::int64_t>(dim.place.constant, 0);
    if (begin > 0 && dim.guarded) return false;
    Axis axis{.out = out,
              .in = dim.extent - begin,
              .window = dim.folded[0].extent,
              .padding = std::max<std::int64_t>(-dim.place.constant, 0),
              .dilation = dim.place.of(dim.folded[0])};
    if (out) {
      axis.stride = dim.place.of(*out);
      axis.out_extent = out->extent;
    }
    if (axis.stride < 1 || axis.dilation < 1) return false;
    slides |= out.has_value() || dim.guarded;
    offset += begin * dim.step;
    statement.axes.push_back(static_cast<int>(shape.size()));
    shape.push_back(axis.in);
    strides.push_back(dim.step);
    statement.target_shape.push_back(axis.out_extent);
    axes.push_back(axis);
    return true;
  };
  std::vector<IndexVar> space;
  for (const auto& var : piece.space) {
    const WindowDim* window = nullptr;
    std::int64_t stride = 0;
    for (const auto& dim : x->dims) {
      if (dim.place.of(var) == 0) continue;
      if (!dim.folded.empty() || dim.guarded) window = &dim;
      stride += dim.place.of(var) * dim.step;
    }
    space.push_back(var);
    if (window) {
      if (!add_axis(*window, var)) return std::nullopt;
      continue;
    }
    if (stride == 0) return std::nullopt;
    shape.push_back(var.extent);
    strides.push_back(stride);
    statement.target_shape.push_back(var.extent);
  }
  for (const auto& dim : x->dims) {
    if (dim.folded.empty()) {
      if (!dim.guarded) offset += dim.place.constant * dim.step;
    } else if (dim.kept.empty()) {
      if (!add_axis(dim, {})) return std::nullopt;
      space.push_back(NewIndex(1));
    }
  }
  if (!slides) return std::nullopt;

  // A mean is a sum over a count.
  std::optional<int> inside;
  const Expr finish = Rewrite(fold.finish, [&](const Expr& e) -> Expr {
    if (maximum || e->kind != Expr::Kind::kBinary || e->binary != BinaryOp::kDiv) return {};
    const Expr& sum = e->operands[0]->kind == Expr::Kind::kCast ? e->operands[0]->operands[0] : e->operands[0];
    if (!IsValue(sum, kIt)) return {};
    inside = MeanOf(e->operands[1], axes);
    return inside ? Value(kIt, ScalarType::kReal) : Expr();
  });
  const auto operand = names.View(x->buffer, shape, strides, offset, Broadcast::kForbidden);
  if (!operand) return std::nullopt;
  statement.family = "pool";
  statement.variant = maximum ? "max" : inside ? "mean" : "sum";
  statement.operands.push_back(dsl::Name(*operand));
  auto& attributes = statement.attributes;
  bool plain_extent = true;
  for (const Axis& axis : axes) {
    attributes["window"].push_back(axis.window);
    attributes["stride"].push_back(axis.stride);
    attributes["padding"].push_back(axis.padding);
    attributes["dilation"].push_back(axis.dilation);
    const std::int64_t room = axis.in + 2 * axis.padding - axis.dilation * (axis.window - 1) - 1;
    plain_extent &= room >= 0 && axis.out_extent == room / axis.stride + 1;
  }
  if (!plain_extent) {
    for (const Axis& axis : axes) attributes["extent"].push_back(axis.out_extent);
  }
  if (inside && *inside > 0) attributes["inside"] = {*inside};
  if (!AddEpilogue(names, statement, finish, space)) return std::nullopt;
  return statement;
}

}  // namespace

HONE_ROW(Recogniser){.name = "pool", .form = Form::kAsItIs, .place = 30, .recognise = RecognisePool};

}  // namespace hone::expert::recogniser_pool
