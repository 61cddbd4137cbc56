#include <algorithm>

#include "graph/op.h"

namespace hone::op_linspace {

HONE_OP(linspace, "steps numbers from start to end") {
  if (call.IsTensor("start") || call.IsTensor("end")) return call.Fail("hone does not define linspace between tensors");
  const std::int64_t steps = call.Int("steps");
  const double start = call.Real("start"), end = call.Real("end");
  const DType dtype = call.Type("dtype", DType::kF32);
  if (!IsFloat(dtype)) return call.Fail("hone does not define linspace of whole numbers");
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  // From whichever end is nearer, as PyTorch counts.
  call.Output({steps}, dtype, [&](Indices at) {
    const auto counted = [&](const Expr& i) { return Cast(i, ScalarType::kReal) * step; };
    return Select(Less(at[0], std::max<std::int64_t>(steps / 2, 1)), Expr(start) + counted(at[0]),
                  Expr(end) - counted(Expr(steps - 1) - at[0]));
  });
}

}  // namespace hone::op_linspace
