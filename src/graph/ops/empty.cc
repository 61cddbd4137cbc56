#include "graph/op.h"

namespace hone::op_empty {

HONE_OP(empty, "0 everywhere, of the shape size: what PyTorch leaves undefined") {
  const DType dtype = call.Type("dtype", DType::kF32);
  call.Output(call.Ints("size"), dtype, [&](Indices) { return Cast(0, ScalarTypeOf(dtype)); });
}

}  // namespace hone::op_empty
