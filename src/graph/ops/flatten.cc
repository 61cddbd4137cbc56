#include "graph/op.h"

namespace hone::op_flatten {

HONE_OP(flatten, "dimensions start_dim to end_dim as one") {
  const Operand x = call.Tensor("self");
  const int first = call.Dim("start_dim", x.rank(), 0), last = call.Dim("end_dim", x.rank(), -1);
  Shape shape;
  for (int d = 0; d < x.rank(); ++d) {
    if (d > first && d <= last)
      shape.back() *= x.dim(d);
    else
      shape.push_back(x.dim(d));
  }
  if (x.rank() == 0) shape = {1};
  call.Output(call.Reshape(x, shape));
}

}  // namespace hone::op_flatten
