#include "graph/op.h"

namespace hone::op__weight_int8pack_mm {

HONE_OP(_weight_int8pack_mm, "self times rows of whole numbers of 8 bits, each of which has a scale") {
  const Operand x = call.Tensor("self"), w = call.Tensor("mat2"), scales = call.Tensor("scales");
  if (x.rank() != 2 || w.rank() != 2 || x.dim(1) != w.dim(1)) return call.Fail("needs matrices [m, k] and [n, k]");
  if (!IsFloat(x.dtype()) || ScalarTypeOf(w.dtype()) != ScalarType::kInt)
    return call.Fail("needs reals times whole numbers");
  if (scales.shape() != Shape{w.dim(0)}) return call.Fail("scales has to be one number a row of mat2: [n]");
  call.Output({x.dim(0), w.dim(0)}, x.dtype(), [&](Indices at) {
    const Expr sum = Fold(ReduceOp::kSum, std::vector<std::int64_t>{x.dim(1)},
                          [&](Indices k) { return x({at[0], k[0]}) * w({at[1], k[0]}); });
    return sum * scales({at[1]});
  });
}

}  // namespace hone::op__weight_int8pack_mm
