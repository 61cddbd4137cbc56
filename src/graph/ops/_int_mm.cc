#include "graph/op.h"

namespace hone::op__int_mm {

HONE_OP(_int_mm, "matrix product of whole numbers of 8 bits, exact: sum over k of self[i, k] * mat2[k, j]") {
  const Operand a = call.Tensor("self"), b = call.Tensor("mat2");
  if (a.rank() != 2 || b.rank() != 2 || a.dim(1) != b.dim(0)) return call.Fail("needs matrices [m, k] and [k, n]");
  if (ScalarTypeOf(a.dtype()) != ScalarType::kInt || ScalarTypeOf(b.dtype()) != ScalarType::kInt)
    return call.Fail("needs whole numbers");
  call.Output({a.dim(0), b.dim(1)}, DType::kI32, [&](Indices at) {
    return Fold(ReduceOp::kSum, std::vector<std::int64_t>{a.dim(1)},
                [&](Indices k) { return a({at[0], k[0]}) * b({k[0], at[1]}); });
  });
}

}  // namespace hone::op__int_mm
