#include <limits>

#include "graph/op.h"

namespace hone::op_linalg_vector_norm {

HONE_OP(linalg_vector_norm, "(sum over dim of |self|^ord)^(1/ord)") {
  const Operand x = call.Tensor("self");
  const double ord = call.Real(call.Has("p") ? "p" : "ord", 2);
  const DType dtype = RealType(call.Type("dtype", x.dtype()));
  const auto dims = call.Dims("dim", x.rank());
  const bool keep = call.Bool("keepdim", false);
  const auto element = [&](Indices at) { return Abs(x(at)); };
  if (ord == std::numeric_limits<double>::infinity())
    return call.Reduction(ReduceOp::kMax, dtype, x, dims, keep, element);
  if (ord == -std::numeric_limits<double>::infinity())
    return call.Reduction(ReduceOp::kMin, dtype, x, dims, keep, element);
  if (ord == 0) {
    return call.Reduction(ReduceOp::kSum, dtype, x, dims, keep,
                          [&](Indices at) { return Cast(Apply(BinaryOp::kNotEqual, x(at), 0.0), ScalarType::kReal); });
  }
  if (ord == 1) return call.Reduction(ReduceOp::kSum, dtype, x, dims, keep, element);
  if (ord == 2) {
    return call.Reduction(
        ReduceOp::kSum, dtype, x, dims, keep, [&](Indices at) { return x(at) * x(at); },
        [](Expr sum) { return Sqrt(sum); });
  }
  call.Reduction(
      ReduceOp::kSum, dtype, x, dims, keep, [&](Indices at) { return Apply(BinaryOp::kPow, Abs(x(at)), ord); },
      [&](Expr sum) { return Apply(BinaryOp::kPow, sum, 1 / ord); });
}

}  // namespace hone::op_linalg_vector_norm
