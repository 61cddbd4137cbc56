#include "graph/op.h"

namespace hone::op_eq {

HONE_OP(eq, "self == other") {
  call.Binary(OpCall::ResultType::kBool, [](Expr a, Expr b) { return Equal(a, b); });
}

}  // namespace hone::op_eq
