#include "graph/op.h"

namespace hone::op_trunc {

HONE_OP(trunc, "self without its fraction") {
  call.Unary(OpCall::ResultType::kSame, [](Expr x) { return Apply(UnaryOp::kTrunc, x); });
}

}  // namespace hone::op_trunc
