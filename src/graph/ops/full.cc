#include "graph/op.h"

namespace hone::op_full {

HONE_OP(full, "fill_value everywhere") {
  const Expr value = call.Scalar("fill_value");
  const DType dtype = call.Type("dtype", value->type == ScalarType::kReal   ? DType::kF32
                                         : value->type == ScalarType::kBool ? DType::kBool
                                                                            : DType::kI64);
  call.Output(call.Ints("size"), dtype, [&](Indices) { return value; });
}

}  // namespace hone::op_full
