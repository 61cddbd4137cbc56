#include "graph/op.h"

namespace hone::op_softshrink {

HONE_OP(softshrink, "self drawn lambd towards 0; 0 where it is nearer than that") {
  const Expr limit = call.Scalar("lambd", 0.5);
  call.Unary(OpCall::ResultType::kSame,
             [&](Expr x) { return Select(Less(limit, x), x - limit, Select(Less(x, -limit), x + limit, x * 0.0)); });
}

}  // namespace hone::op_softshrink
