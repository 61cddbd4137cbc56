#include "graph/order.h"

namespace hone::op_sort {

HONE_OP(sort, "self in order along dim, and where each element was; of equals the first comes first") {
  const Operand x = call.Tensor("self");
  const int dim = call.Dim("dim", x.rank(), -1);
  OutputOrdered(call, x, dim, call.Bool("descending", false), x.dim(dim));
}

}  // namespace hone::op_sort
