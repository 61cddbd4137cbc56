#include "graph/order.h"

namespace hone::op_sort {

HONE_OP(sort, "self in order along dim, and where each element was; of equals the first comes first if it is stable") {
  const Operand x = call.Tensor("self");
  const int dim = call.Dim("dim", x.rank(), -1);
  const Equals equals = call.Bool("stable", false) ? Equals::kInOrder : Equals::kInAnyOrder;
  OutputOrdered(call, x, dim, call.Bool("descending", false), x.dim(dim), equals);
}

}  // namespace hone::op_sort
