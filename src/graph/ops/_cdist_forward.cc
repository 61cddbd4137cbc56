#include "graph/loss.h"

namespace hone::op__cdist_forward {

HONE_OP(_cdist_forward, "|x1[i] - x2[j]|_p") {
  call.Ignore({"compute_mode"});
  const Operand a = call.Tensor("x1"), b = call.Tensor("x2");
  const double p = call.Real("p", 2);
  if (a.rank() < 2 || b.rank() < 2) return call.Fail("needs two matrices");
  const auto rows = [&](const Operand& x, bool first) {
    Shape shape = x.shape();
    shape.insert(first ? shape.end() - 1 : shape.end() - 2, 1);
    return call.Reshape(x, shape);
  };
  call.Output(PairDistance(call, rows(a, true), rows(b, false), p, 0));
}

}  // namespace hone::op__cdist_forward
