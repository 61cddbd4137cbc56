#include "graph/op.h"

namespace hone::op_clamp {

HONE_OP(clamp, "min(max(self, min), max); either bound may be absent") {
  if (!call.Has("min") && !call.Has("max")) call.Fail("needs min or max");
  std::vector<Operand> operands = {call.Tensor("self")};
  const DType dtype = call.CommonType({"self", "min", "max"});
  for (const auto* name : {"min", "max"}) {
    if (call.IsTensor(name)) operands.push_back(call.Tensor(name));
  }
  call.Elementwise(dtype, operands, [&](auto v) {
    std::size_t next = 1;
    const auto bound = [&](std::string_view name) {
      if (!call.IsTensor(name)) return Held(call.Scalar(name), dtype);
      const std::size_t i = next++;
      return Held(v[i], operands[i].dtype(), dtype);
    };
    Expr x = Held(v[0], operands[0].dtype(), dtype);
    if (call.Has("min")) x = Max(x, bound("min"));
    if (call.Has("max")) x = Min(x, bound("max"));
    return x;
  });
}

}  // namespace hone::op_clamp
