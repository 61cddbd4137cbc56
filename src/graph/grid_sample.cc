#include "graph/grid_sample.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "graph/interpolate.h"

namespace hone {

void DefineGridSample(OpCall& call, int spatial) {
  const Operand x = call.Tensor("input"), grid = call.Tensor("grid");
  const std::int64_t mode = call.Int("interpolation_mode"), padding = call.Int("padding_mode");
  const bool align_corners = call.Bool("align_corners");
  const auto dims = static_cast<std::size_t>(spatial);
  const int rank = spatial + 2;
  if (x.rank() != rank || grid.rank() != rank || grid.dim(rank - 1) != spatial || grid.dim(0) != x.dim(0)) {
    return spatial == 2 ? call.Fail("needs input [n, c, h, w] and grid [n, h, w, 2]")
                        : call.Fail("needs input [n, c, d, h, w] and grid [n, d, h, w, 3]");
  }
  if (mode < 0 || mode > (spatial == 2 ? 2 : 1)) {
    return spatial == 2 ? call.Fail("interpolation_mode is 0 to 2: bilinear, nearest, bicubic")
                        : call.Fail("interpolation_mode is 0 or 1: linear, nearest");
  }
  const auto extent = [&](std::size_t d) { return static_cast<double>(x.dim(2 + d)); };
  // What of a dimension is read for a place beyond it, both in steps of the input.
  const auto padded = [&](std::size_t d, Expr place) {
    const double n = extent(d);
    if (padding == 2) {
      const double low = align_corners ? 0 : -0.5, span = align_corners ? n - 1 : n;
      if (span == 0) return Expr(0.0);
      const Expr from = Abs(place - low), rest = Apply(BinaryOp::kFmod, from, span);
      const Expr turns = Apply(UnaryOp::kFloor, from / span);
      place = Select(Equal(Apply(BinaryOp::kFmod, turns, 2.0), 0.0), rest + low, Expr(span + low) - rest);
    }
    return padding == 0 ? place : Max(Min(place, n - 1), 0.0);
  };
  // Where the grid points to, in each dimension.
  constexpr const char* kNames[] = {"plane", "row", "column"};
  const Shape made(grid.shape().begin(), grid.shape().end() - 1);
  std::vector<Operand> places;
  for (std::size_t d = 0; d < dims; ++d) {
    places.push_back(call.Let(kNames[3 - dims + d], made, x.dtype(), [&](Indices at) {
      std::vector<Expr> of(at.begin(), at.end());
      of.emplace_back(spatial - 1 - static_cast<int>(d));
      const double n = extent(d);
      const Expr g = grid(of), place = align_corners ? (g + 1.0) / 2.0 * (n - 1) : ((g + 1.0) * n - 1.0) / 2.0;
      return mode == 2 ? place : padded(d, place);  // cubic: each of the elements is looked for by itself
    }));
  }
  Shape shape = {x.dim(0), x.dim(1)};
  shape.insert(shape.end(), made.begin() + 1, made.end());
  call.Output(shape, x.dtype(), [&](Indices at) {
    std::vector<Expr> where = {at[0]};
    where.insert(where.end(), at.begin() + 2, at.end());
    const auto element = [&](const std::vector<Expr>& place) {
      std::vector<Expr> from = {at[0], at[1]};
      std::optional<Expr> inside;
      for (std::size_t d = 0; d < dims; ++d) {
        const Expr here = And(LessEqual(0.0, place[d]), Less(place[d], extent(d)));
        inside = inside ? And(*inside, here) : here;
        from.push_back(Cast(place[d], ScalarType::kInt));
      }
      return Select(*inside, x(from), 0.0);
    };
    std::vector<Expr> whole, rest;
    for (const Operand& place : places) {
      const Expr exact = place(where);
      whole.push_back(Apply(mode == 1 ? UnaryOp::kRound : UnaryOp::kFloor, exact));
      rest.push_back(exact - whole.back());
    }
    if (mode == 1) return element(whole);
    if (mode == 2) {
      return CubicSum(rest[0], [&](int k) {
        const Expr of = padded(0, whole[0] + (k - 1.0));
        return CubicSum(rest[1], [&](int l) { return element({of, padded(1, whole[1] + (l - 1.0))}); });
      });
    }
    std::optional<Expr> sum;
    for (unsigned corner = 0; corner < 1U << dims; ++corner) {
      std::vector<Expr> place, weights;
      for (std::size_t d = 0; d < dims; ++d) {
        const bool next = (corner >> (dims - 1 - d) & 1U) != 0;
        place.push_back(next ? whole[d] + 1.0 : whole[d]);
        weights.push_back(next ? rest[d] : Expr(1.0) - rest[d]);
      }
      Expr weighted = element(place);
      for (const Expr& weight : weights) weighted = weighted * weight;
      sum = sum ? *sum + weighted : weighted;
    }
    return *sum;
  });
}

}  // namespace hone
