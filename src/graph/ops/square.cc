#include "graph/op.h"

namespace hone {

HONE_OP(square, "self * self") {
  call.Unary(OpCall::ResultType::kSame, [](Expr x) { return x * x; });
}

}  // namespace hone
