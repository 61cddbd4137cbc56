#include "graph/interpolate.h"
#include "graph/op.h"

namespace hone::op_grid_sampler_2d {

HONE_OP(grid_sampler_2d,
        "input at the places in [-1, 1] that grid names: bilinear, nearest or bicubic, zeros, the edge or a mirror "
        "beyond") {
  const Operand x = call.Tensor("input"), grid = call.Tensor("grid");
  const std::int64_t mode = call.Int("interpolation_mode"), padding = call.Int("padding_mode");
  const bool align_corners = call.Bool("align_corners");
  if (x.rank() != 4 || grid.rank() != 4 || grid.dim(3) != 2 || grid.dim(0) != x.dim(0))
    return call.Fail("needs input [n, c, h, w] and grid [n, h, w, 2]");
  if (mode < 0 || mode > 2) return call.Fail("interpolation_mode is 0 to 2: bilinear, nearest, bicubic");
  const std::int64_t extents[2] = {x.dim(2), x.dim(3)};
  // What of a dimension is read for a place beyond it, both in steps of the input.
  const auto padded = [&](int d, Expr place) {
    const auto n = static_cast<double>(extents[d]);
    if (padding == 2) {
      const double low = align_corners ? 0 : -0.5, span = align_corners ? n - 1 : n;
      if (span == 0) return Expr(0.0);
      const Expr from = Abs(place - low), rest = Apply(BinaryOp::kFmod, from, span);
      const Expr turns = Apply(UnaryOp::kFloor, from / span);
      place = Select(Equal(Apply(BinaryOp::kFmod, turns, 2.0), 0.0), rest + low, Expr(span + low) - rest);
    }
    return padding == 0 ? place : Max(Min(place, n - 1), 0.0);
  };
  // Where the grid points to: height, then width.
  std::optional<Operand> places[2];
  for (int d = 0; d < 2; ++d) {
    const auto n = static_cast<double>(extents[d]);
    places[d] =
        call.Let(d == 0 ? "row" : "column", {grid.dim(0), grid.dim(1), grid.dim(2)}, x.dtype(), [&](Indices at) {
          const Expr g = grid({at[0], at[1], at[2], Expr(1 - d)});
          const Expr place = align_corners ? (g + 1.0) / 2.0 * (n - 1) : ((g + 1.0) * n - 1.0) / 2.0;
          return mode == 2 ? place : padded(d, place);  // cubic: each of the elements is looked for by itself
        });
  }
  call.Output({x.dim(0), x.dim(1), grid.dim(1), grid.dim(2)}, x.dtype(), [&](Indices at) {
    const std::vector<Expr> where = {at[0], at[2], at[3]};
    const Expr row = (*places[0])(where), column = (*places[1])(where);
    const auto element = [&](const Expr& i, const Expr& j) {
      const Expr inside = And(And(LessEqual(0.0, i), Less(i, static_cast<double>(extents[0]))),
                              And(LessEqual(0.0, j), Less(j, static_cast<double>(extents[1]))));
      return Select(inside, x({at[0], at[1], Cast(i, ScalarType::kInt), Cast(j, ScalarType::kInt)}), 0.0);
    };
    if (mode == 1) return element(Apply(UnaryOp::kRound, row), Apply(UnaryOp::kRound, column));
    const Expr i = Apply(UnaryOp::kFloor, row), j = Apply(UnaryOp::kFloor, column);
    const Expr down = row - i, right = column - j;
    if (mode == 2) {
      return CubicSum(down, [&](int k) {
        const Expr of = padded(0, i + (k - 1.0));
        return CubicSum(right, [&](int l) { return element(of, padded(1, j + (l - 1.0))); });
      });
    }
    return element(i, j) * (Expr(1.0) - down) * (Expr(1.0) - right) + element(i, j + 1.0) * (Expr(1.0) - down) * right +
           element(i + 1.0, j) * down * (Expr(1.0) - right) + element(i + 1.0, j + 1.0) * down * right;
  });
}

}  // namespace hone::op_grid_sampler_2d
