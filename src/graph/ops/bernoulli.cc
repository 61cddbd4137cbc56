#include "graph/random.h"

namespace hone::op_bernoulli {

HONE_OP(bernoulli, "1 with probability p (or self), else 0: a known draw (graph/random.h)") {
  const Operand x = call.Tensor("self");
  const ScalarType type = ScalarTypeOf(x.dtype());
  const std::optional<double> p = call.Has("p") ? std::optional(call.Real("p")) : std::nullopt;
  call.Output(x.shape(), x.dtype(), [&](Indices at) {
    const Expr flat = Flatten(at, x.shape());
    return Cast(p ? DrawnTruth(call, flat, *p) : Less(DrawnUniform(call, flat), x(at)), type);
  });
}

}  // namespace hone::op_bernoulli
