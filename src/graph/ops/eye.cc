#include "graph/op.h"

namespace hone::op_eye {

HONE_OP(eye, "1 on the diagonal of an n by m matrix, 0 elsewhere") {
  const std::int64_t n = call.Int("n"), m = call.Int("m", n);
  const DType dtype = call.Type("dtype", DType::kF32);
  call.Output({n, m}, dtype, [&](Indices at) { return Cast(Equal(at[0], at[1]), ScalarTypeOf(dtype)); });
}

}  // namespace hone::op_eye
