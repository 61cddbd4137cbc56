#include "graph/op.h"

namespace hone::op_prelu {

HONE_OP(prelu, "self where positive, else self * weight; one weight, or one a channel") {
  const Operand x = call.Tensor("self"), weight = call.Tensor("weight");
  if (weight.rank() > 1 ||
      (ElementCount(weight.shape()) != 1 && (x.rank() < 1 || weight.dim(0) != x.dim(x.rank() > 1 ? 1 : 0))))
    return call.Fail("needs one weight, or one a channel");
  call.Output(x.shape(), x.dtype(), [&](Indices at) {
    std::vector<Expr> place(weight.shape().size(), Expr(0));
    if (ElementCount(weight.shape()) != 1) place[0] = at[x.rank() > 1 ? 1 : 0];
    return Select(Less(0.0, x(at)), x(at), weight(place) * x(at));
  });
}

}  // namespace hone::op_prelu
