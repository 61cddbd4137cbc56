#include "graph/scan.h"

namespace hone {

void DefineRunningExtreme(OpCall& call, bool largest) {
  const Operand x = call.Tensor("self");
  const int dim = call.Dim("dim", x.rank());
  const ScalarType type = ScalarTypeOf(x.dtype());
  if (x.rank() == 0) {
    call.Output(x.shape(), x.dtype(), [&](Indices at) { return x(at); });
    return call.Output(x.shape(), DType::kI64, [](Indices) { return Expr(0); });
  }
  Sequence steps(call, Reversed::no);
  const StepValue value = steps.Value("extreme", x.shape(), x.dtype(), dim);
  const StepValue place = steps.Value("place", x.shape(), DType::kI64, dim);
  const auto step = [&](Indices at) { return at[static_cast<std::size_t>(dim)]; };
  const auto taken = [&](Indices at) {
    const ScalarType compared = type == ScalarType::kBool ? ScalarType::kInt : type;
    const Expr now = Cast(x(at), compared), before = Cast(value.Before(at, x(at)), compared);
    const Expr better = largest ? LessEqual(before, now) : LessEqual(now, before);
    if (type != ScalarType::kReal) return better;
    return Apply(BinaryOp::kOr, Apply(UnaryOp::kIsNan, now), better);
  };
  steps.Define(value, [&](Indices at) { return Select(taken(at), x(at), value.Before(at, x(at))); });
  steps.Define(place, [&](Indices at) { return Select(taken(at), step(at), place.Before(at, 0)); });
  call.Output(value);
  call.Output(place);
}

}  // namespace hone
