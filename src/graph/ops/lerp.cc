#include "graph/op.h"

namespace hone::op_lerp {

HONE_OP(lerp, "self + weight * (end - self)") {
  std::vector<Operand> operands = {call.Tensor("self"), call.Tensor("end")};
  if (call.IsTensor("weight")) operands.push_back(call.Tensor("weight"));
  call.Elementwise(call.CommonType({"self", "end"}), operands, [&](auto v) {
    const Expr weight = call.IsTensor("weight") ? v[2] : call.Scalar("weight");
    return Select(Less(Abs(weight), 0.5), v[0] + weight * (v[1] - v[0]), v[1] - (v[1] - v[0]) * (Expr(1.0) - weight));
  });
}

}  // namespace hone::op_lerp
