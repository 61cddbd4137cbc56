#include "graph/order.h"

namespace hone::op_kthvalue {

HONE_OP(kthvalue, "the k-th smallest element along dim, and where it is; of equals the first comes first") {
  const Operand x = call.Tensor("self");
  const int dim = call.Dim("dim", x.rank(), -1);
  const std::int64_t k = call.Int("k");
  if (k < 1 || k > x.dim(dim)) return call.Fail("k is out of range");
  const Operand order = OrderOf(call, x, dim, false, k, Equals::kInAnyOrder);
  const Shape shape = OpCall::ReducedShape(x.shape(), x.rank() == 0 ? std::vector<int>{} : std::vector<int>{dim},
                                           call.Bool("keepdim", false));
  const bool keep = shape.size() == x.shape().size();
  const auto place = [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.end());
    if (x.rank() == 0) return full;
    if (!keep) full.insert(full.begin() + dim, Expr(k - 1));
    return Replaced(full, dim, k - 1);
  };
  call.Output(shape, x.dtype(), [&](Indices at) { return x(Replaced(place(at), dim, order(place(at)))); });
  call.Output(shape, DType::kI64, [&](Indices at) { return order(place(at)); });
}

}  // namespace hone::op_kthvalue
