#include "graph/op.h"

namespace hone::op_maximum {

HONE_OP(maximum, "the larger one; a NaN on either side is the result") {
  call.Binary(OpCall::ResultType::kSame, [](Expr a, Expr b) { return Max(a, b); });
}

}  // namespace hone::op_maximum
