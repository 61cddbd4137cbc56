#include "graph/reshape.h"

#include <algorithm>
#include <utility>

#include "expr/linear_index.h"

namespace hone {

std::vector<Expr> InShape(const std::vector<Expr>& indices, const Shape& from, const Shape& to) {
  if (ElementCount(to) == 0) return std::vector<Expr>(to.size(), 0);
  const auto strides = DenseStrides(from), others = DenseStrides(to);
  std::vector<Expr> places;
  for (std::size_t t = 0; t < to.size(); ++t) {
    if (to[t] == 1) {
      places.emplace_back(0);
      continue;
    }
    std::vector<std::size_t> parts;  // the dimensions of `from` that it is of, or that are parts of it
    const std::int64_t stride = others[t], end = stride * to[t];
    std::int64_t unit = stride, last = end;
    for (std::size_t d = 0; d < from.size(); ++d) {
      if (from[d] == 1 || strides[d] * from[d] <= stride || strides[d] >= end) continue;
      parts.push_back(d);
      unit = std::min(unit, strides[d]);
      last = std::max(last, strides[d] * from[d]);
    }
    if (parts.size() == 1 && unit == stride && last == end) {
      places.push_back(indices[parts[0]]);
      continue;
    }
    // Dimensions that are split or merged begin at steps of one another; of others the flat position has to do.
    const bool divide =
        stride % unit == 0 && std::ranges::all_of(parts, [&](std::size_t d) { return strides[d] % unit == 0; });
    Expr place = 0;
    if (divide) {
      for (const std::size_t d : parts) place = place + indices[d] * (strides[d] / unit);
    } else {
      unit = 1;
      last = 0;
      for (std::size_t d = 0; d < from.size(); ++d) place = place + indices[d] * strides[d];
    }
    if (unit < stride) place = Apply(BinaryOp::kFloorDiv, place, stride / unit);
    if (last != end) place = Apply(BinaryOp::kFloorMod, place, to[t]);
    places.push_back(FromLinear(ToLinear(place)));
  }
  return places;
}

}  // namespace hone
