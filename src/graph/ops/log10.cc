#include "graph/op.h"

namespace hone::op_log10 {

HONE_OP(log10, "logarithm to base 10") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kLog10, x); });
}

}  // namespace hone::op_log10
