#include "graph/loss.h"
#include "graph/softmax.h"

namespace hone::op_cross_entropy_loss {

HONE_OP(cross_entropy_loss,
        "nll_loss of log_softmax(self), or -target . log_softmax(self) for probabilities; labels smoothed") {
  const Operand x = call.Tensor("self"), target = call.Tensor("target");
  const auto weight = call.MaybeTensor("weight");
  const std::int64_t reduction = call.Int("reduction", 1), ignored = call.Int("ignore_index", -100);
  const double smoothing = call.Real("label_smoothing", 0);
  const int dim = x.rank() == 1 ? 0 : 1;
  if (x.rank() < 1 || reduction < 0 || reduction > 2)
    return call.Fail("needs self [n, c, ...] or [c], and a reduction");
  const std::int64_t classes = x.dim(dim);
  const Shape shape = OpCall::ReducedShape(x.shape(), {dim}, false);
  const bool probabilities = target.shape() == x.shape();
  if (!probabilities && target.shape() != shape)
    return call.Fail("target fits neither as classes nor as probabilities");
  const Operand logs = SoftmaxOf(call, x, dim, x.dtype(), SoftmaxForm::kLog);
  const auto with = [&](Indices at, const Expr& c) {
    std::vector<Expr> full(at.begin(), at.end());
    full.insert(full.begin() + dim, c);
    return full;
  };
  const auto weight_of = [&](const Expr& c) { return weight ? (*weight)({c}) : Expr(1.0); };
  const auto over_classes = [&](const std::function<Expr(const Expr&)>& term) {
    return Fold(ReduceOp::kSum, std::vector<std::int64_t>{classes}, [&](Indices c) { return term(c[0]); });
  };
  const double each = smoothing / static_cast<double>(classes);
  const auto counts = [&](Indices at) { return Apply(BinaryOp::kNotEqual, target(at), ignored); };
  const auto loss = [&](Indices at) {
    if (probabilities) {
      return -over_classes([&](const Expr& c) {
        const Expr t = Cast(target(with(at, c)), ScalarType::kReal);
        const Expr share = smoothing > 0 ? t * (1 - smoothing) + each : t;
        return weight ? logs(with(at, c)) * share * weight_of(c) : logs(with(at, c)) * share;
      });
    }
    const Expr own = weight_of(target(at)) * logs(with(at, target(at)));
    if (smoothing == 0) return Select(counts(at), -own, 0.0);
    const Expr all = over_classes([&](const Expr& c) { return weight_of(c) * logs(with(at, c)); });
    return Select(counts(at), -(Expr(1 - smoothing) * own) - Expr(each) * all, 0.0);
  };
  const Operand losses = call.Let("losses", shape, x.dtype(), loss);
  if (reduction == 0) return call.Output(losses);
  call.Output({}, x.dtype(), [&](Indices) {
    const Expr sum = Fold(ReduceOp::kSum, shape, [&](Indices at) { return losses(at); });
    if (reduction == 2) return sum;
    if (probabilities) return sum / static_cast<double>(ElementCount(shape));
    const Expr total =
        Fold(ReduceOp::kSum, shape, [&](Indices at) { return Select(counts(at), weight_of(target(at)), 0.0); });
    return sum / total;
  });
}

}  // namespace hone::op_cross_entropy_loss
