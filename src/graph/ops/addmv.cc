#include "graph/op.h"

namespace hone::op_addmv {

HONE_OP(addmv, "beta self + alpha mat vec; an alpha or beta of 0 leaves out what it would scale, NaN or not") {
  const Operand self = call.Tensor("self"), mat = call.Tensor("mat"), vec = call.Tensor("vec");
  const Expr beta = call.Scalar("beta", 1), alpha = call.Scalar("alpha", 1);
  if (mat.rank() != 2 || vec.rank() != 1 || mat.dim(1) != vec.dim(0))
    return call.Fail("needs a matrix and a vector that fit");
  const ScalarType type = ScalarTypeOf(self.dtype());
  if (type == ScalarType::kBool) return call.Fail("has no meaning for truth values");
  const auto is = [](const Expr& e, int value) {
    return e->type == ScalarType::kReal ? e->real == value : e->whole == value;
  };
  call.Output({mat.dim(0)}, self.dtype(), [&](Indices at) {
    const Expr sum = Fold(ReduceOp::kSum, std::vector<std::int64_t>{vec.dim(0)},
                          [&](Indices k) { return mat({at[0], k[0]}) * vec({k[0]}); });
    const Expr product = is(alpha, 0) ? Cast(0, type) : is(alpha, 1) ? sum : sum * Cast(alpha, type);
    if (is(beta, 0)) return product;
    const Expr own = self.Broadcast(at);
    return (is(beta, 1) ? own : own * Cast(beta, type)) + product;
  });
}

}  // namespace hone::op_addmv
