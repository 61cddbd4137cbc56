#include "graph/op.h"

namespace hone::op_heaviside {

HONE_OP(heaviside, "0 below zero, 1 above, values at zero") {
  call.Binary(
      OpCall::ResultType::kSame,
      [](Expr x, Expr at_zero) {
        const ScalarType type = x->type;
        const Expr zero = Cast(0, type), one = Cast(1, type);
        if (type == ScalarType::kBool) return Select(x, one, at_zero);
        return Select(Equal(x, zero), at_zero, Select(Less(zero, x), one, zero));
      },
      "self", "values");
}

}  // namespace hone::op_heaviside
