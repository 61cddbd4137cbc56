#include "graph/op.h"

namespace hone::op__grouped_mm {
namespace {

// The group of each of `extent` places in a row, given where groups end. A place behind all of them is PyTorch's to
// leave unwritten: it counts as the last one's.
Operand GroupOf(OpCall& call, const Operand& ends, std::int64_t extent) {
  return call.Let("group", {extent}, DType::kI64, [&](Indices at) {
    const Expr passed = Fold(ReduceOp::kSum, std::vector<std::int64_t>{ends.dim(0)},
                             [&](Indices g) { return Cast(LessEqual(ends({g[0]}), at[0]), ScalarType::kInt); });
    return Min(passed, ends.dim(0) - 1);
  });
}

Expr SumOver(std::int64_t extent, const std::function<Expr(Expr)>& product) {
  return Fold(ReduceOp::kSum, std::vector<std::int64_t>{extent}, [&](Indices k) { return product(k[0]); });
}

}  // namespace

HONE_OP(_grouped_mm, "matrix products of groups: offs says where each group of rows, of columns or of the sum ends") {
  const Operand a = call.Tensor("self"), b = call.Tensor("mat2");
  const DType dtype = call.Type("out_dtype", a.dtype());
  if (call.Has("bias")) return call.Fail("bias is not there in PyTorch either");
  if (a.rank() == 3 && b.rank() == 3) {
    if (a.dim(0) != b.dim(0) || a.dim(2) != b.dim(1)) return call.Fail("needs [g, m, k] and [g, k, n]");
    return call.Output({a.dim(0), a.dim(1), b.dim(2)}, dtype, [&](Indices at) {
      return SumOver(a.dim(2), [&](const Expr& k) { return a({at[0], at[1], k}) * b({at[0], k, at[2]}); });
    });
  }
  const Operand ends = call.Tensor("offs");
  if (ends.rank() != 1 || ends.dim(0) < 1) return call.Fail("offs needs to be a vector, one end a group");
  if (a.rank() == 2 && b.rank() == 3) {
    if (a.dim(1) != b.dim(1) || b.dim(0) != ends.dim(0)) return call.Fail("needs [rows, k] and [g, k, n]");
    const Operand group = GroupOf(call, ends, a.dim(0));
    return call.Output({a.dim(0), b.dim(2)}, dtype, [&](Indices at) {
      return SumOver(a.dim(1), [&](const Expr& k) { return a({at[0], k}) * b({group({at[0]}), k, at[1]}); });
    });
  }
  if (a.rank() == 3 && b.rank() == 2) {
    if (a.dim(2) != b.dim(0) || a.dim(0) != ends.dim(0)) return call.Fail("needs [g, m, k] and [k, columns]");
    const Operand group = GroupOf(call, ends, b.dim(1));
    return call.Output({a.dim(1), b.dim(1)}, dtype, [&](Indices at) {
      return SumOver(a.dim(2), [&](const Expr& k) { return a({group({at[1]}), at[0], k}) * b({k, at[1]}); });
    });
  }
  if (a.rank() != 2 || b.rank() != 2 || a.dim(1) != b.dim(0)) return call.Fail("needs [m, k] and [k, n]");
  return call.Output({ends.dim(0), a.dim(0), b.dim(1)}, dtype, [&](Indices at) {
    const Expr begin = Select(Equal(at[0], 0), Expr(0), Cast(ends({Max(at[0] - 1, 0)}), ScalarType::kInt));
    return SumOver(a.dim(1), [&](const Expr& k) {
      const Expr inside = And(LessEqual(begin, k), Less(k, ends({at[0]})));
      return Select(inside, a({at[1], k}) * b({k, at[2]}), 0.0);
    });
  });
}

}  // namespace hone::op__grouped_mm
