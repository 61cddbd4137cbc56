#include "graph/order.h"

namespace hone::op_argsort {

HONE_OP(argsort, "where each element of self in order along dim was; of equals the first comes first") {
  const Operand x = call.Tensor("self");
  const int dim = call.Dim("dim", x.rank(), -1);
  call.Output(OrderOf(call, x, dim, call.Bool("descending", false), x.dim(dim)));
}

}  // namespace hone::op_argsort
