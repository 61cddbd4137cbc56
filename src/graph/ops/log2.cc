#include "graph/op.h"

namespace hone::op_log2 {

HONE_OP(log2, "logarithm to base 2") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kLog2, x); });
}

}  // namespace hone::op_log2
