#include "graph/op.h"

namespace hone::op_sub {

HONE_OP(sub, "self - alpha * other") {
  const bool scaled = call.Has("alpha") && call.Real("alpha") != 1;
  const Expr alpha = call.Scalar("alpha", 1);
  call.Binary(OpCall::ResultType::kSame, [&](Expr a, Expr b) { return scaled ? a - alpha * b : a - b; });
}

}  // namespace hone::op_sub
