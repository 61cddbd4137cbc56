#include "graph/op.h"

namespace hone::op_rad2deg {

HONE_OP(rad2deg, "radians as degrees") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) -> Expr { return x * 57.295779513082320877; });
}

}  // namespace hone::op_rad2deg
