#include "graph/order.h"

namespace hone::op_argsort {

HONE_OP(argsort, "where each element of self in order along dim was; of equals the first comes first if it is stable") {
  const Operand x = call.Tensor("self");
  const int dim = call.Dim("dim", x.rank(), -1);
  const Equals equals = call.Bool("stable", false) ? Equals::kInOrder : Equals::kInAnyOrder;
  call.Output(OrderOf(call, x, dim, call.Bool("descending", false), x.dim(dim), equals));
}

}  // namespace hone::op_argsort
