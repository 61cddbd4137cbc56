#include "graph/op.h"

namespace hone::op_pixel_unshuffle {

HONE_OP(pixel_unshuffle, "[..., c, h * r, w * r] as [..., c * r^2, h, w]") {
  const Operand x = call.Tensor("self");
  const std::int64_t r = call.Int("downscale_factor");
  if (x.rank() < 3 || r < 1 || x.dim(x.rank() - 2) % r != 0 || x.dim(x.rank() - 1) % r != 0)
    return call.Fail("height and width do not fit the factor");
  Shape shape = x.shape();
  const std::size_t c = shape.size() - 3;
  shape[c] *= r * r, shape[c + 1] /= r, shape[c + 2] /= r;
  call.Output(shape, x.dtype(), [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.end());
    const Expr part = Apply(BinaryOp::kFloorMod, at[c], r * r);
    full[c] = Apply(BinaryOp::kFloorDiv, at[c], r * r);
    full[c + 1] = at[c + 1] * r + Apply(BinaryOp::kFloorDiv, part, r);
    full[c + 2] = at[c + 2] * r + Apply(BinaryOp::kFloorMod, part, r);
    return x(full);
  });
}

}  // namespace hone::op_pixel_unshuffle
