#include "graph/op.h"

namespace hone {

HONE_OP(round, "nearest whole number, halves to even") {
  call.Unary(OpCall::ResultType::kSame, [](Expr x) { return Apply(UnaryOp::kRound, x); });
}

}  // namespace hone
