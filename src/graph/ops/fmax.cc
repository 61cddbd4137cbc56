#include "graph/op.h"

namespace hone::op_fmax {

HONE_OP(fmax, "the larger one; of a number and a NaN the number") {
  call.Binary(OpCall::ResultType::kSame, [](Expr a, Expr b) -> Expr {
    return a->type != ScalarType::kReal
               ? Max(a, b)
               : Select(Apply(UnaryOp::kIsNan, a), b, Select(Apply(UnaryOp::kIsNan, b), a, Max(a, b)));
  });
}

}  // namespace hone::op_fmax
