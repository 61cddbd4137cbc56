#include "graph/op.h"

namespace hone::op_where {

HONE_OP(where, "condition ? self : other") {
  if (!call.Has("self")) return call.Fail("hone does not define results whose shape hangs on the data");
  std::vector<Operand> operands = {call.Tensor("condition")};
  Expr numbers[2];
  const std::string_view names[2] = {"self", "other"};
  for (int i = 0; i < 2; ++i) {
    if (call.IsTensor(names[i]))
      operands.push_back(call.Tensor(names[i]));
    else
      numbers[i] = call.Scalar(names[i]);
  }
  const DType dtype = call.CommonType({"self", "other"});
  call.Elementwise(dtype, operands, [&](auto v) {
    std::size_t next = 1;
    Expr sides[2];
    for (int i = 0; i < 2; ++i) sides[i] = Cast(numbers[i] ? numbers[i] : v[next++], ScalarTypeOf(dtype));
    return Select(v[0], sides[0], sides[1]);
  });
}

}  // namespace hone::op_where
