#include "graph/rms_norm.h"

#include <algorithm>

namespace hone {

void DefineRmsNorm(OpCall& call, bool with_factor) {
  const Operand x = call.Tensor("input");
  const auto weight = call.MaybeTensor("weight");
  const auto normalized = call.Ints("normalized_shape");
  // PyTorch's: of the type that it computes in.
  const double eps = call.Real("eps", x.dtype() == DType::kF64 ? 0x1p-52 : 0x1p-23);
  const int outer = x.rank() - static_cast<int>(normalized.size());
  if (outer < 0) return call.Fail("normalized_shape does not fit input");
  for (int d = outer; d < x.rank(); ++d) {
    if (normalized[static_cast<std::size_t>(d - outer)] != x.dim(d))
      return call.Fail("normalized_shape differs from the last dimensions of input");
  }
  if (weight && weight->shape() != normalized) return call.Fail("weight has another shape than normalized_shape");
  const Shape rows(x.shape().begin(), x.shape().begin() + outer);
  const Operand scale = call.Let("rstd", rows, KeptIn(x.dtype()), [&](Indices at) {
    const Expr squares = Fold(ReduceOp::kSum, normalized, [&](Indices k) {
      std::vector<Expr> full(at.begin(), at.end());
      full.insert(full.end(), k.begin(), k.end());
      return x(full) * x(full);
    });
    return Apply(UnaryOp::kRsqrt, squares / static_cast<double>(ElementCount(normalized)) + eps);
  });
  call.Output(x.shape(), x.dtype(), [&](Indices at) {
    const Expr y = x(at) * scale(at.first(static_cast<std::size_t>(outer)));
    return weight ? y * weight->Broadcast(at) : y;
  });
  if (!with_factor) return;
  Shape kept = x.shape();
  std::fill(kept.begin() + outer, kept.end(), 1);
  call.Output(call.Reshape(call.As(scale, x.dtype()), kept));
}

}  // namespace hone
