#include "graph/op.h"

namespace hone::op_mul {

HONE_OP(mul, "self * other") {
  call.Binary(OpCall::ResultType::kSame,
              [](Expr a, Expr b) { return a->type == ScalarType::kBool ? And(a, b) : a * b; });
}

}  // namespace hone::op_mul
