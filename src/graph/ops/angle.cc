#include <numbers>

#include "graph/op.h"

namespace hone::op_angle {

HONE_OP(angle, "pi below zero, else 0") {
  call.Unary(OpCall::ResultType::kReal,
             [&](Expr x) { return Select(Apply(UnaryOp::kIsNan, x), x, Select(Less(x, 0.0), std::numbers::pi, 0.0)); });
}

}  // namespace hone::op_angle
