#include "graph/op.h"

namespace hone::op_le {

HONE_OP(le, "self <= other") {
  call.Binary(OpCall::ResultType::kBool, [](Expr a, Expr b) { return LessEqual(a, b); });
}

}  // namespace hone::op_le
