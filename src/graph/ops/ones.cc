#include "graph/op.h"

namespace hone::op_ones {

HONE_OP(ones, "1 everywhere") {
  const Expr value = 1;
  call.Output(call.Ints("size"), call.Type("dtype", DType::kF32), [&](Indices) { return value; });
}

}  // namespace hone::op_ones
