#include "graph/op.h"

namespace hone {

HONE_OP(cumprod, "product of self from the first element to this one along dim") {
  const Operand x = call.Tensor("self");
  const int dim = call.Dim("dim", x.rank());
  const DType dtype = call.Type("dtype", IsFloat(x.dtype()) ? x.dtype() : DType::kI64);
  const ScalarType type = ScalarTypeOf(dtype);
  call.Output(x.shape(), dtype, [&](Indices at) {
    if (x.rank() == 0) return Cast(x(std::vector<Expr>{}), type);
    return Fold(ReduceOp::kProd, std::vector<std::int64_t>{x.dim(dim)}, [&](Indices k) {
      std::vector<Expr> full(at.begin(), at.end());
      full[static_cast<std::size_t>(dim)] = k[0];
      return Select(LessEqual(k[0], at[static_cast<std::size_t>(dim)]), Cast(x(full), type), Cast(Expr(1), type));
    });
  });
}

}  // namespace hone
