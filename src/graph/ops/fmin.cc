#include "graph/op.h"

namespace hone::op_fmin {

HONE_OP(fmin, "the smaller one; of a number and a NaN the number") {
  call.Binary(OpCall::ResultType::kSame, [](Expr a, Expr b) -> Expr {
    return a->type != ScalarType::kReal
               ? Min(a, b)
               : Select(Apply(UnaryOp::kIsNan, a), b, Select(Apply(UnaryOp::kIsNan, b), a, Min(a, b)));
  });
}

}  // namespace hone::op_fmin
