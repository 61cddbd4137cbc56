#include <algorithm>

#include "graph/op.h"

namespace hone::op_native_layer_norm {

HONE_OP(native_layer_norm, "layer_norm, and the mean and 1/deviation that it used") {
  const Operand x = call.Tensor("input");
  const auto weight = call.MaybeTensor("weight"), bias = call.MaybeTensor("bias");
  const auto normalized = call.Ints("normalized_shape");
  const double eps = call.Real("eps", 1e-5);
  const int outer = x.rank() - static_cast<int>(normalized.size());
  if (outer < 0) return call.Fail("normalized_shape has more dimensions than input");
  Shape kept = x.shape();
  std::vector<std::int64_t> extents;
  double count = 1;
  for (int d = outer; d < x.rank(); ++d) {
    if (normalized[static_cast<std::size_t>(d - outer)] != x.dim(d))
      call.Fail("normalized_shape differs from the last dimensions of input");
    extents.push_back(x.dim(d));
    count *= static_cast<double>(x.dim(d));
    kept[static_cast<std::size_t>(d)] = 1;
  }
  for (const auto& given : {weight, bias}) {
    if (given && given->shape() != normalized) return call.Fail("weight and bias need the shape normalized_shape");
  }
  const auto inside = [&](Indices at, Indices reduced) {
    std::vector<Expr> full(at.begin(), at.begin() + outer);
    full.insert(full.end(), reduced.begin(), reduced.end());
    return full;
  };
  const auto row = [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.begin() + outer);
    full.resize(at.size(), Expr(0));
    return full;
  };
  const Operand mean = call.Let("mean", kept, KeptIn(x.dtype()), [&](Indices at) {
    return Fold(ReduceOp::kSum, extents, [&](Indices k) { return x(inside(at, k)); }) /
           std::max(count, 1.0);  // the mean of nothing is 0
  });
  const Operand rstd = call.Let("rstd", kept, KeptIn(x.dtype()), [&](Indices at) {
    const Expr squares = Fold(ReduceOp::kSum, extents, [&](Indices k) {
      const Expr d = x(inside(at, k)) - mean(at);
      return d * d;
    });
    return Apply(UnaryOp::kRsqrt, squares / count + eps);
  });
  call.Output(x.shape(), x.dtype(), [&](Indices at) {
    Expr y = (x(at) - mean(row(at))) * rstd(row(at));
    if (weight) y = y * weight->Broadcast(at);
    if (bias) y = y + bias->Broadcast(at);
    return y;
  });
  call.Output(call.As(mean, x.dtype()));
  call.Output(call.As(rstd, x.dtype()));
}

}  // namespace hone::op_native_layer_norm
