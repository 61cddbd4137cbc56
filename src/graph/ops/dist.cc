#include <cmath>

#include "graph/op.h"

namespace hone::op_dist {

HONE_OP(dist, "(sum of |self - other|^p)^(1/p)") {
  const Operand a = call.Tensor("self"), b = call.Tensor("other");
  const double p = call.Real("p", 2);
  const Shape shape = call.BroadcastShape({a, b});
  const auto fold = [&](ReduceOp how, const std::function<Expr(const Expr&)>& term) {
    return Fold(how, shape, [&](Indices at) { return term(Abs(a.Broadcast(at) - b.Broadcast(at))); });
  };
  const auto distance = [&]() -> Expr {
    const auto plain = [](const Expr& x) { return x; };
    if (std::isinf(p)) return fold(p > 0 ? ReduceOp::kMax : ReduceOp::kMin, plain);
    if (p == 1) return fold(ReduceOp::kSum, plain);
    if (p == 2) return Sqrt(fold(ReduceOp::kSum, [](const Expr& x) { return x * x; }));
    if (p == 0) {
      return fold(ReduceOp::kSum,
                  [](const Expr& x) { return Cast(Apply(BinaryOp::kNotEqual, x, 0.0), ScalarType::kReal); });
    }
    return Apply(BinaryOp::kPow, fold(ReduceOp::kSum, [&](const Expr& x) { return Apply(BinaryOp::kPow, x, p); }),
                 1 / p);
  };
  call.Output({}, call.CommonType({"self", "other"}), [&](Indices) { return distance(); });
}

}  // namespace hone::op_dist
