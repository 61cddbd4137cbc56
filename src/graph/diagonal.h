// A diagonal of matrices that lie in two dimensions of a tensor.
#pragma once

#include "graph/op.h"

namespace hone {

struct Diagonal {
  int dim1 = 0, dim2 = 1;
  std::int64_t row = 0, column = 0;  // of its first element
  Shape shape;                       // of the tensor that it is: the other dimensions, then its own
};
// By the arguments offset, dim1 and dim2; nothing where one is bad.
std::optional<Diagonal> DiagonalOf(OpCall& call, const Operand& x);

}  // namespace hone
