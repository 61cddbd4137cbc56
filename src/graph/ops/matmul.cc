#include "graph/op.h"

namespace hone::op_matmul {

HONE_OP(matmul, "matrix product with broadcast batch dimensions; vectors count as one row or one column") {
  const Operand a = call.Tensor("self"), b = call.Tensor("other");
  if (a.rank() < 1 || b.rank() < 1) return call.Fail("needs at least one dimension on both sides");
  const bool row = a.rank() == 1, column = b.rank() == 1;
  const std::int64_t k = a.dim(a.rank() - 1);
  if (k != b.dim(column ? 0 : b.rank() - 2))
    return call.Fail("the inner dimensions differ: " + ToString(a.shape()) + " and " + ToString(b.shape()));
  const auto batch = [](const Operand& x) {
    return Operand(x.buffer(), x.rank() > 2 ? Shape(x.shape().begin(), x.shape().end() - 2) : Shape{}, x.dtype());
  };
  Shape shape = call.BroadcastShape({batch(a), batch(b)});
  const std::size_t batches = shape.size();
  if (!row) shape.push_back(a.dim(a.rank() - 2));
  if (!column) shape.push_back(b.dim(b.rank() - 1));
  call.Output(shape, a.dtype(), [&](Indices at) {
    const auto element = [&](const Operand& x, std::vector<Expr> matrix) {
      const std::size_t own = x.shape().size() - matrix.size();
      std::vector<Expr> full;
      for (std::size_t d = 0; d < own; ++d) full.push_back(x.shape()[d] == 1 ? Expr(0) : at[batches - own + d]);
      full.insert(full.end(), matrix.begin(), matrix.end());
      return x(full);
    };
    return Fold(ReduceOp::kSum, std::vector<std::int64_t>{k}, [&](Indices fold) {
      const Expr left = element(a, row ? std::vector<Expr>{fold[0]} : std::vector<Expr>{at[batches], fold[0]});
      const Expr right = element(b, column ? std::vector<Expr>{fold[0]} : std::vector<Expr>{fold[0], at.back()});
      return left * right;
    });
  });
}

}  // namespace hone::op_matmul
