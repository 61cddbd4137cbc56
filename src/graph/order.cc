#include "graph/order.h"

#include "expr/ranked_fold.h"

namespace hone {

Operand OrderOf(OpCall& call, const Operand& self, int dim, bool descending, std::int64_t count, Equals equals) {
  const Operand x = self.rank() == 0 ? call.Reshape(self, {1}) : self;
  const auto along = static_cast<std::size_t>(dim);
  const std::vector<std::int64_t> extent = {x.dim(dim)};
  const auto comparable = [&](Indices at) { return x.dtype() == DType::kBool ? Cast(x(at), ScalarType::kInt) : x(at); };
  const Operand rank = call.Let("rank", x.shape(), DType::kI64, [&](Indices at) {
    return Fold(ReduceOp::kSum, extent, [&](Indices k) {
      const Expr other = comparable(Replaced(at, dim, k[0])), own = comparable(at);
      return Cast(ComesFirst(k[0], other, at[along], own, descending), ScalarType::kInt);
    });
  });
  Shape shape = x.shape();
  shape[along] = count;
  const Operand order = call.Let("order", shape, DType::kI64, [&](Indices at) {
    return Fold(ReduceOp::kSum, extent, [&](Indices k) {
      return Select(Equal(rank(Replaced(at, dim, k[0])), at[along]), k[0], std::int64_t{0});
    });
  });
  if (equals == Equals::kInAnyOrder) call.AllowAnyOfEquals(order);
  return self.rank() == 0 ? call.Reshape(order, {}) : order;
}

void OutputOrdered(OpCall& call, const Operand& x, int dim, bool descending, std::int64_t count, Equals equals) {
  const Operand order = OrderOf(call, x, dim, descending, count, equals);
  call.Output(order.shape(), x.dtype(), [&](Indices at) { return x(Replaced(at, dim, order(at))); });
  call.Output(order);
}

}  // namespace hone
