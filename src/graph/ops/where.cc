#include "graph/op.h"

namespace hone {

HONE_OP(where, "condition ? self : other") {
  const Operand condition = call.Tensor("condition");
  std::vector<Operand> operands = {condition};
  Expr numbers[2];
  const std::string_view names[2] = {"self", "other"};
  std::optional<DType> dtype;
  for (int i = 0; i < 2; ++i) {
    if (call.IsTensor(names[i])) {
      operands.push_back(call.Tensor(names[i]));
      const bool weak = operands.back().rank() == 0 && dtype;
      if (!weak) dtype = dtype ? Promote(*dtype, operands.back().dtype()) : operands.back().dtype();
    } else {
      numbers[i] = call.Scalar(names[i]);
    }
  }
  const DType result = dtype.value_or(DType::kF32);
  call.Elementwise(result, operands, [&](auto v) {
    std::size_t next = 1;
    Expr sides[2];
    for (int i = 0; i < 2; ++i) sides[i] = Cast(numbers[i] ? numbers[i] : v[next++], ScalarTypeOf(result));
    return Select(v[0], sides[0], sides[1]);
  });
}

}  // namespace hone
