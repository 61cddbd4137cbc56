#include <limits>

#include "graph/op.h"

namespace hone::op_isinf {

HONE_OP(isinf, "true where self is infinite") {
  call.Unary(OpCall::ResultType::kBool, [](Expr x) -> Expr {
    return Equal(Abs(Cast(x, ScalarType::kReal)), std::numeric_limits<double>::infinity());
  });
}

}  // namespace hone::op_isinf
