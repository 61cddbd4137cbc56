#include "graph/op.h"

namespace hone {

HONE_OP(log2, "logarithm to base 2") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kLog2, x); });
}

}  // namespace hone
