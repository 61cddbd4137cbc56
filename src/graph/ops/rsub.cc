#include "graph/op.h"

namespace hone::op_rsub {

HONE_OP(rsub, "other - alpha * self") {
  const bool scaled = call.Has("alpha") && call.Real("alpha") != 1;
  const Expr alpha = call.Scalar("alpha", 1);
  call.Binary(OpCall::ResultType::kSame, [&](Expr a, Expr b) { return scaled ? b - alpha * a : b - a; });
}

}  // namespace hone::op_rsub
