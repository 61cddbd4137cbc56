// What losses share: their last step, `reduction` (0 none, 1 mean, 2 sum).
#pragma once

#include "graph/op.h"

namespace hone {

// The loss of each place of `shape`, reduced as the argument says.
void OutputLoss(OpCall& call, const Shape& shape, DType dtype, const ElementFunction& loss);
// The same for losses of an element of self against one of target; they broadcast.
void DefinePairLoss(OpCall& call, const std::function<Expr(const Expr& x, const Expr& target)>& loss);

// The negative log likelihood of the target classes, given log probabilities self [n, c, ...] or [c]: the loss, and the
// sum of the weights that its mean divides by if `with_total`.
void DefineNllLoss(OpCall& call, bool with_total);

// (sum of size^p)^(1/p) over so many places; of 0 the number of sizes that are not 0, of an infinite one an extreme.
Expr LengthOf(double p, const std::vector<std::int64_t>& extents, const ElementFunction& size);
// |a - b + eps|_p over the last dimension of the broadcast shape, as a Let of the shape without it.
Operand PairDistance(OpCall& call, const Operand& a, const Operand& b, double p, double eps);
// a . b / (|a| |b|) over dimension `dim` of their broadcast shape, as a Let of the shape without it; `join` makes the
// divisor of the two squared lengths.
Operand CosineOf(OpCall& call, const Operand& a, const Operand& b, int dim,
                 const std::function<Expr(const Expr&, const Expr&)>& join);

}  // namespace hone
