#include "graph/op.h"

namespace hone::op_pixel_shuffle {

HONE_OP(pixel_shuffle, "[..., c * r^2, h, w] as [..., c, h * r, w * r]") {
  const Operand x = call.Tensor("self");
  const std::int64_t r = call.Int("upscale_factor");
  if (x.rank() < 3 || r < 1 || x.dim(x.rank() - 3) % (r * r) != 0)
    return call.Fail("the channels do not fit the factor");
  Shape shape = x.shape();
  const std::size_t c = shape.size() - 3;
  shape[c] /= r * r, shape[c + 1] *= r, shape[c + 2] *= r;
  call.Output(shape, x.dtype(), [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.end());
    const auto part = [&](std::size_t d) { return Apply(BinaryOp::kFloorMod, at[d], r); };
    full[c] = at[c] * (r * r) + part(c + 1) * r + part(c + 2);
    full[c + 1] = Apply(BinaryOp::kFloorDiv, at[c + 1], r);
    full[c + 2] = Apply(BinaryOp::kFloorDiv, at[c + 2], r);
    return x(full);
  });
}

}  // namespace hone::op_pixel_shuffle
