#include "graph/op.h"

namespace hone {

HONE_OP(ceil, "smallest whole number not below self") {
  call.Unary(OpCall::ResultType::kSame, [](Expr x) { return Apply(UnaryOp::kCeil, x); });
}

}  // namespace hone
