#include "graph/quantize.h"

namespace hone {

void DefineFakeQuantize(OpCall& call, const ElementFunction& scale, const ElementFunction& zero_point,
                        const std::optional<Operand>& enabled) {
  const Operand x = call.Tensor("self");
  const Expr least(static_cast<double>(call.Int("quant_min"))), most(static_cast<double>(call.Int("quant_max")));
  if (call.failed()) return;
  const auto step = [&](Indices at) { return Apply(UnaryOp::kRound, x(at) * (1.0 / scale(at))) + zero_point(at); };
  const auto where = [&](Expr quantized, Expr otherwise) {
    if (!enabled) return quantized;
    const Expr one = (*enabled)(std::vector<Expr>(enabled->shape().size(), Expr(0)));
    return Select(Equal(one, Cast(0, one->type)), otherwise, quantized);
  };
  call.Output(x.shape(), x.dtype(),
              [&](Indices at) { return where((Min(Max(step(at), least), most) - zero_point(at)) * scale(at), x(at)); });
  call.Output(x.shape(), DType::kBool, [&](Indices at) {
    return where(And(LessEqual(least, step(at)), LessEqual(step(at), most)), Expr::Bool(true));
  });
}

}  // namespace hone
