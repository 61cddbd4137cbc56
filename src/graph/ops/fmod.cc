#include "graph/op.h"

namespace hone::op_fmod {

HONE_OP(fmod, "remainder with the sign of self") {
  call.Binary(OpCall::ResultType::kSame, [](Expr a, Expr b) { return Apply(BinaryOp::kFmod, a, b); });
}

}  // namespace hone::op_fmod
