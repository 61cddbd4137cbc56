#include "graph/op.h"

namespace hone::op__scaled_mm {

HONE_OP(_scaled_mm,
        "self @ mat2 of scaled 8-bit reals: each times its scale, one number or one a row or column, + bias") {
  const Operand a = call.Tensor("self"), b = call.Tensor("mat2");
  const Operand scale_a = call.Tensor("scale_a"), scale_b = call.Tensor("scale_b");
  const auto bias = call.MaybeTensor("bias"), scale_result = call.MaybeTensor("scale_result");
  const DType dtype = call.Type("out_dtype", a.dtype());
  if (a.rank() != 2 || b.rank() != 2 || a.dim(1) != b.dim(0)) return call.Fail("needs matrices [m, k] and [k, n]");
  if (!IsFloat(dtype)) return call.Fail("out_dtype has to be a real type");
  const auto one = [](const Operand& scale) { return ElementCount(scale.shape()) == 1; };
  if (!one(scale_a) && scale_a.shape() != Shape{a.dim(0), 1})
    return call.Fail("scale_a has to be one number, or one a row of self: [m, 1]");
  if (!one(scale_b) && scale_b.shape() != Shape{1, b.dim(1)})
    return call.Fail("scale_b has to be one number, or one a column of mat2: [1, n]");
  if (scale_result && !one(*scale_result)) return call.Fail("scale_result has to be one number");
  if (bias && bias->shape() != Shape{b.dim(1)}) return call.Fail("bias has to be one number a column of mat2: [n]");
  const auto number = [](const Operand& scale) { return scale(std::vector<Expr>(scale.shape().size(), Expr(0))); };
  call.Output({a.dim(0), b.dim(1)}, dtype, [&](Indices at) {
    const Expr sum = Fold(ReduceOp::kSum, std::vector<std::int64_t>{a.dim(1)},
                          [&](Indices k) { return a({at[0], k[0]}) * b({k[0], at[1]}); });
    Expr y = sum * (one(scale_a) ? number(scale_a) : scale_a({at[0], 0}));
    y = y * (one(scale_b) ? number(scale_b) : scale_b({0, at[1]}));
    if (bias) y = y + (*bias)({at[1]});
    // Of what is stored in 8 bits, the scale of the result is the third.
    return scale_result && Bytes(dtype) == 1 ? y * number(*scale_result) : y;
  });
}

}  // namespace hone::op__scaled_mm
