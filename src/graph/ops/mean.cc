#include "graph/op.h"

namespace hone::op_mean {

HONE_OP(mean, "mean over dim (all dimensions when absent)") {
  const Operand x = call.Tensor("self");
  const DType dtype = call.Type("dtype", RealType(x.dtype()));
  const auto dims = call.Dims("dim", x.rank());
  double count = 1;
  for (const int dim : dims) count *= static_cast<double>(x.dim(dim));
  call.Reduction(
      ReduceOp::kSum, dtype, x, dims, call.Bool("keepdim", false),
      [&](Indices at) { return Cast(x(at), ScalarType::kReal); }, [&](Expr sum) { return sum / count; });
}

}  // namespace hone::op_mean
