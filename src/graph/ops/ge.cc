#include "graph/op.h"

namespace hone {

HONE_OP(ge, "self >= other") {
  call.Binary(OpCall::ResultType::kBool, [](Expr a, Expr b) { return LessEqual(b, a); });
}

}  // namespace hone
