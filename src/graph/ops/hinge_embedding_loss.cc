#include "graph/loss.h"

namespace hone::op_hinge_embedding_loss {

HONE_OP(hinge_embedding_loss, "self where target is 1, max(margin - self, 0) where it is -1, both elsewhere; reduced") {
  const double margin = call.Real("margin", 1);
  DefinePairLoss(call, [&](const Expr& x, const Expr& target) {
    const Expr apart = Select(Equal(target, 1.0), 0.0, Max(Expr(margin) - x, 0.0));
    return apart + Select(Equal(target, -1.0), 0.0, x);
  });
}

}  // namespace hone::op_hinge_embedding_loss
