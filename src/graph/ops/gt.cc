#include "graph/op.h"

namespace hone::op_gt {

HONE_OP(gt, "self > other") {
  call.Binary(OpCall::ResultType::kBool, [](Expr a, Expr b) { return Less(b, a); });
}

}  // namespace hone::op_gt
