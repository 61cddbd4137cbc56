#include "graph/op.h"

namespace hone::op_asin {

HONE_OP(asin, "arc sine") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kAsin, x); });
}

}  // namespace hone::op_asin
