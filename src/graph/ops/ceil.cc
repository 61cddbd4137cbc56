#include "graph/op.h"

namespace hone::op_ceil {

HONE_OP(ceil, "smallest whole number not below self") {
  call.Unary(OpCall::ResultType::kSame, [](Expr x) { return Apply(UnaryOp::kCeil, x); });
}

}  // namespace hone::op_ceil
