#include "graph/op.h"

namespace hone::op_minimum {

HONE_OP(minimum, "the smaller one; a NaN on either side is the result") {
  call.Binary(OpCall::ResultType::kSame, [](Expr a, Expr b) { return Min(a, b); });
}

}  // namespace hone::op_minimum
