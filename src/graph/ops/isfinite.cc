#include <limits>

#include "graph/op.h"

namespace hone::op_isfinite {

HONE_OP(isfinite, "true where self is a finite number") {
  call.Unary(OpCall::ResultType::kBool, [](Expr x) -> Expr {
    return Less(Abs(Cast(x, ScalarType::kReal)), std::numeric_limits<double>::infinity());
  });
}

}  // namespace hone::op_isfinite
