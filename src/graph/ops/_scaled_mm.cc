#include "graph/op.h"

namespace hone::op__scaled_mm {

namespace {

constexpr std::int64_t kBlock = 128;

std::int64_t Blocks(std::int64_t extent) { return (extent + kBlock - 1) / kBlock; }
// Whether a dimension of scales is of elements, or of blocks of them; and which scale is an element's.
bool Covers(std::int64_t scales, std::int64_t extent) { return scales == extent || scales == Blocks(extent); }
Expr ScaleAt(const Expr& place, std::int64_t scales, std::int64_t extent) {
  return scales == extent ? place : Apply(BinaryOp::kFloorDiv, place, Expr(kBlock));
}

}  // namespace

HONE_OP(_scaled_mm,
        "self @ mat2 of scaled 8-bit reals: each times its scale, one number, one a row or column, or one for 128 "
        "of K and one or 128 rows or columns, + bias") {
  const Operand a = call.Tensor("self"), b = call.Tensor("mat2");
  call.Ignore({"use_fast_accum"});
  const Operand scale_a = call.Tensor("scale_a"), scale_b = call.Tensor("scale_b");
  const auto bias = call.MaybeTensor("bias"), scale_result = call.MaybeTensor("scale_result");
  const DType dtype = call.Type("out_dtype", a.dtype());
  if (a.rank() != 2 || b.rank() != 2 || a.dim(1) != b.dim(0)) return call.Fail("needs matrices [m, k] and [k, n]");
  if (!IsFloat(dtype)) return call.Fail("out_dtype has to be a real type");
  const auto one = [](const Operand& scale) { return ElementCount(scale.shape()) == 1; };
  const std::int64_t m = a.dim(0), k_blocks = Blocks(a.dim(1)), n = b.dim(1);
  const bool a_in_blocks = scale_a.rank() == 2 && Covers(scale_a.dim(0), m) && scale_a.dim(1) == k_blocks,
             b_in_blocks = scale_b.rank() == 2 && scale_b.dim(0) == k_blocks && Covers(scale_b.dim(1), n);
  const bool blocks = a_in_blocks && b_in_blocks && k_blocks > 1;
  if (!blocks && !one(scale_a) && scale_a.shape() != Shape{m, 1})
    return call.Fail(
        "scale_a has to be one number, or one a row of self: [m, 1], or as scale_b one a block: [m, k / 128]");
  if (!blocks && !one(scale_b) && scale_b.shape() != Shape{1, n})
    return call.Fail(
        "scale_b has to be one number, or one a column of mat2: [1, n], or as scale_a one a block: [k / 128, n / 128]");
  if (scale_result && !one(*scale_result)) return call.Fail("scale_result has to be one number");
  if (bias && bias->shape() != Shape{b.dim(1)}) return call.Fail("bias has to be one number a column of mat2: [n]");
  const auto number = [](const Operand& scale) { return scale(std::vector<Expr>(scale.shape().size(), Expr(0))); };
  call.Output({a.dim(0), b.dim(1)}, dtype, [&](Indices at) {
    const Expr sum = Fold(ReduceOp::kSum, std::vector<std::int64_t>{a.dim(1)}, [&](Indices k) {
      const Expr product = a({at[0], k[0]}) * b({k[0], at[1]});
      if (!blocks) return product;
      const Expr block = Apply(BinaryOp::kFloorDiv, k[0], Expr(kBlock));
      return product * (scale_a({ScaleAt(at[0], scale_a.dim(0), m), block}) *
                        scale_b({block, ScaleAt(at[1], scale_b.dim(1), n)}));
    });
    Expr y = sum;
    if (!blocks) y = y * (one(scale_a) ? number(scale_a) : scale_a({at[0], 0}));
    if (!blocks) y = y * (one(scale_b) ? number(scale_b) : scale_b({0, at[1]}));
    if (bias) y = y + (*bias)({at[1]});
    // Of what is stored in 8 bits, the scale of the result is the third.
    return scale_result && Bytes(dtype) == 1 ? y * number(*scale_result) : y;
  });
}

}  // namespace hone::op__scaled_mm
