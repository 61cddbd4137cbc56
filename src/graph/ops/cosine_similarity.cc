#include "graph/loss.h"

namespace hone::op_cosine_similarity {

HONE_OP(cosine_similarity, "x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along dim") {
  const Operand a = call.Tensor("x1"), b = call.Tensor("x2");
  const Shape shape = call.BroadcastShape({a, b});
  const int dim = call.Dim("dim", static_cast<int>(shape.size()), 1);
  const double eps = call.Real("eps", 1e-8);
  if (call.failed()) return;
  if (shape.empty()) return call.Fail("needs at least one dimension");
  call.Output(CosineOf(call, a, b, dim, [&](const Expr& left, const Expr& right) {
    return Max(Sqrt(left), eps) * Max(Sqrt(right), eps);
  }));
}

}  // namespace hone::op_cosine_similarity
