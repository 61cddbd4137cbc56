#include "graph/order.h"

namespace hone::op_topk {

HONE_OP(topk, "the k largest (or smallest) elements along dim in order, and where they are; of equals the first") {
  const Operand x = call.Tensor("self");
  call.Ignore({"sorted"});  // without it any order will do
  const int dim = call.Dim("dim", x.rank(), -1);
  const std::int64_t k = call.Int("k");
  if (k < 0 || k > x.dim(dim)) return call.Fail("k is out of range");
  if (x.rank() == 0 && k != 1) return call.Fail("k is out of range");
  OutputOrdered(call, x, dim, call.Bool("largest", true), k, Equals::kInAnyOrder);
}

}  // namespace hone::op_topk
