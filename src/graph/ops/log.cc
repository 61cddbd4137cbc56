#include "graph/op.h"

namespace hone::op_log {

HONE_OP(log, "natural logarithm") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kLog, x); });
}

}  // namespace hone::op_log
