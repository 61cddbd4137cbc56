#include <cmath>

#include "graph/op.h"

namespace hone::op_arange {

HONE_OP(arange, "start, start + step, ... below end") {
  bool whole = true;
  for (const auto* name : {"start", "end", "step"})
    whole = whole && (!call.Has(name) || call.Scalar(name)->type != ScalarType::kReal);
  const DType dtype = call.Type("dtype", whole ? DType::kI64 : DType::kF32);
  // As 64-bit numbers, and as no others, all three lose their fractions before the elements are counted.
  const auto held = [&](double x) { return dtype == DType::kI64 ? std::trunc(x) : x; };
  const double start = held(call.Real("start", 0)), end = held(call.Real("end")), step = held(call.Real("step", 1));
  if (step == 0 || (end - start) / step < 0) return call.Fail("step never reaches end");
  const auto count = static_cast<std::int64_t>(std::ceil((end - start) / step));
  call.Output({count}, dtype, [&](Indices at) {
    if (IsFloat(dtype)) return at[0] * Expr(step) + Expr(start);
    return at[0] * static_cast<std::int64_t>(step) + static_cast<std::int64_t>(start);
  });
}

}  // namespace hone::op_arange
