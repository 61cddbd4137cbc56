#include "graph/op.h"

namespace hone::op_lt {

HONE_OP(lt, "self < other") {
  call.Binary(OpCall::ResultType::kBool, [](Expr a, Expr b) { return Less(a, b); });
}

}  // namespace hone::op_lt
