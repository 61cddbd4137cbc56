// Softmax in its forms: what softmax, log_softmax, cross entropy and attention share.
#pragma once

#include "graph/op.h"

namespace hone {

enum class SoftmaxForm { kPlain, kLog, kSafe };  // kSafe: zero where all of a row is minus infinity

// Along `dim` of x, as a value of x's shape.
Operand SoftmaxOf(OpCall& call, const Operand& x, int dim, DType dtype, SoftmaxForm form);
// The operator: arguments self, dim, dtype.
void DefineSoftmax(OpCall& call, SoftmaxForm form);

}  // namespace hone
