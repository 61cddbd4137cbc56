#include "graph/op.h"

namespace hone {

HONE_OP(zeros, "0 everywhere") {
  const Expr value = 0;
  call.Output(call.Ints("size"), call.Type("dtype", DType::kF32), [&](Indices) { return value; });
}

}  // namespace hone
