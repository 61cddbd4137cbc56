#include "graph/op.h"

namespace hone {

HONE_OP(lt, "self < other") {
  call.Binary(OpCall::ResultType::kBool, [](Expr a, Expr b) { return Less(a, b); });
}

}  // namespace hone
