#include "graph/op.h"

namespace hone {

HONE_OP(mul, "self * other") {
  call.Binary(OpCall::ResultType::kSame,
              [](Expr a, Expr b) { return a->type == ScalarType::kBool ? And(a, b) : a * b; });
}

}  // namespace hone
