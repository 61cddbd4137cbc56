#include "graph/op.h"

namespace hone::op_masked_scatter {

HONE_OP(masked_scatter, "self with the elements of source, one after another, where mask is true") {
  const Operand self = call.Tensor("self"), mask = call.Tensor("mask"), source = call.Tensor("source");
  const Shape shape = call.BroadcastShape({self, mask});
  if (call.failed()) return;
  const std::int64_t count = ElementCount(shape);
  const Operand flat = call.Let("mask", {count}, DType::kI64, [&](Indices at) {
    return Cast(mask.Broadcast(Unflatten(at[0], shape)), ScalarType::kInt);
  });
  const Operand number = call.Scan("number", {count}, DType::kI64, 0, Expr(0),
                                   [&](Indices at, const Expr& before) { return before + flat(at); });
  if (ElementCount(source.shape()) == 0)
    return call.Output(shape, self.dtype(), [&](Indices at) { return self.Broadcast(at); });
  call.Output(shape, self.dtype(), [&](Indices at) {
    const std::vector<Expr> place = {Flatten(at, shape)};
    return Select(mask.Broadcast(at), source(Unflatten(number(place) - 1, source.shape())), self.Broadcast(at));
  });
}

}  // namespace hone::op_masked_scatter
