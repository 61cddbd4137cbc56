#include "graph/op.h"

namespace hone::op_erfc {

HONE_OP(erfc, "1 - erf(self)") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kErfc, x); });
}

}  // namespace hone::op_erfc
