#include "graph/op.h"

namespace hone::op_hardtanh {

HONE_OP(hardtanh, "min(max(self, min_val), max_val)") {
  const double low = call.Real("min_val", -1), high = call.Real("max_val", 1);
  call.Unary(OpCall::ResultType::kSame, [&](Expr x) { return Min(Max(x, low), high); });
}

}  // namespace hone::op_hardtanh
