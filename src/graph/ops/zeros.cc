#include "graph/op.h"

namespace hone::op_zeros {

HONE_OP(zeros, "0 everywhere") {
  const Expr value = 0;
  call.Output(call.Ints("size"), call.Type("dtype", DType::kF32), [&](Indices) { return value; });
}

}  // namespace hone::op_zeros
