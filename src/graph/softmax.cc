#include "graph/softmax.h"

#include <limits>

namespace hone {

Operand SoftmaxOf(OpCall& call, const Operand& self, int dim, DType dtype, SoftmaxForm form) {
  const Operand x = self.rank() == 0 ? call.Reshape(self, {1}) : self;
  const Shape rows = OpCall::ReducedShape(x.shape(), {dim}, true);
  const auto row = [&](Indices at) { return Replaced(at, dim, 0); };
  const auto fold = [&](ReduceOp op, Indices at, const std::function<Expr(const Expr&)>& term) {
    return Fold(op, std::vector<std::int64_t>{x.dim(dim)},
                [&](Indices k) { return term(Cast(x(Replaced(at, dim, k[0])), ScalarType::kReal)); });
  };
  const Operand most = call.Let("max", rows, KeptIn(dtype), [&](Indices at) {
    const Expr largest = fold(ReduceOp::kMax, at, [](const Expr& v) { return v; });
    if (form != SoftmaxForm::kSafe) return largest;
    return Select(Equal(largest, -std::numeric_limits<double>::infinity()), 0.0, largest);
  });
  const Operand sum = call.Let("sum", rows, KeptIn(dtype), [&](Indices at) {
    return fold(ReduceOp::kSum, at, [&](const Expr& v) { return Exp(v - most(row(at))); });
  });
  const Operand result = call.Let("result", x.shape(), dtype, [&](Indices at) {
    const Expr shifted = x(at) - most(row(at)), total = sum(row(at));
    if (form == SoftmaxForm::kLog) return shifted - Log(total);
    if (form == SoftmaxForm::kPlain) return Exp(shifted) / total;
    return Select(Equal(total, 0.0), 0.0, Exp(shifted) / total);
  });
  return call.Reshape(result, self.shape());
}

void DefineSoftmax(OpCall& call, SoftmaxForm form) {
  const Operand x = call.Tensor("self");
  const int dim = call.Dim("dim", x.rank());
  const DType asked = RealType(call.Type("dtype", x.dtype()));
  const DType dtype = call.Bool("half_to_float", false) ? DType::kF32 : asked;
  call.Output(SoftmaxOf(call, x, dim, dtype, form));
}

}  // namespace hone
