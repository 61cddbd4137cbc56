#include "graph/op.h"

namespace hone {

HONE_OP(hypot, "length of the vector (self, other)") {
  call.Binary(OpCall::ResultType::kReal, [](Expr a, Expr b) -> Expr { return Sqrt(a * a + b * b); });
}

}  // namespace hone
