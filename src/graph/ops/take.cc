#include "graph/op.h"

namespace hone::op_take {

HONE_OP(take, "the elements of self, seen flat, that index names") {
  const Operand x = call.Tensor("self"), index = call.Tensor("index");
  const std::int64_t count = ElementCount(x.shape());
  call.Output(index.shape(), x.dtype(), [&](Indices at) {
    const Expr i = index(at);
    return x(Unflatten(Select(Less(i, 0), i + count, i), x.shape()));
  });
}

}  // namespace hone::op_take
