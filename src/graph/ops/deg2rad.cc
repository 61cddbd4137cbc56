#include "graph/op.h"

namespace hone::op_deg2rad {

HONE_OP(deg2rad, "degrees as radians") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) -> Expr { return x * 0.017453292519943295769; });
}

}  // namespace hone::op_deg2rad
