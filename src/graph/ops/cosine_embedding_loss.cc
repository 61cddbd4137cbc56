#include "graph/loss.h"

namespace hone::op_cosine_embedding_loss {

HONE_OP(cosine_embedding_loss, "1 - cosine where target is 1, max(cosine - margin, 0) where it is -1; reduced") {
  const Operand a = call.Tensor("input1"), b = call.Tensor("input2"), target = call.Tensor("target");
  const double margin = call.Real("margin", 0);
  if (a.rank() < 1 || a.rank() > 2 || b.rank() != a.rank()) return call.Fail("needs vectors or matrices");
  constexpr double kEps = 1e-12;  // PyTorch's
  const Operand cosine = CosineOf(call, a, b, a.rank() - 1, [&](const Expr& left, const Expr& right) {
    return Sqrt((left + kEps) * (right + kEps));
  });
  OutputLoss(call, call.BroadcastShape({cosine, target}), a.dtype(), [&](Indices at) {
    const Expr t = Cast(target.Broadcast(at), ScalarType::kReal), c = cosine.Broadcast(at);
    return Select(Equal(t, 1.0), Expr(1.0) - c, 0.0) + Select(Equal(t, -1.0), Max(c - margin, 0.0), 0.0);
  });
}

}  // namespace hone::op_cosine_embedding_loss
