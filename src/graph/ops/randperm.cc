#include "graph/order.h"
#include "graph/random.h"

namespace hone::op_randperm {

HONE_OP(randperm, "0 .. n - 1 in the order of draws (graph/random.h)") {
  const std::int64_t n = call.Int("n");
  const Operand draws = call.Let("draws", {n}, DType::kI64, [&](Indices at) { return DrawnBits(call, at[0]); });
  const Operand order = OrderOf(call, draws, 0, false, n, Equals::kInOrder);
  const DType dtype = call.Type("dtype", DType::kI64);
  call.Output({n}, dtype, [&](Indices at) { return Cast(order(at), ScalarTypeOf(dtype)); });
}

}  // namespace hone::op_randperm
