#include "graph/op.h"

namespace hone::op_ge {

HONE_OP(ge, "self >= other") {
  call.Binary(OpCall::ResultType::kBool, [](Expr a, Expr b) { return LessEqual(b, a); });
}

}  // namespace hone::op_ge
