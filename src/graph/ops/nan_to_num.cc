#include <limits>

#include "graph/op.h"

namespace hone::op_nan_to_num {

HONE_OP(nan_to_num, "self with NaN and infinities replaced by nan, posinf and neginf (0 and the type's extremes)") {
  const Operand x = call.Tensor("self");
  const double largest = IsFloat(x.dtype()) ? RowOf(x.dtype()).largest : 0;
  const double nan = call.Real("nan", 0), high = call.Real("posinf", largest), low = call.Real("neginf", -largest);
  if (!IsFloat(x.dtype())) return call.Output(x);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  call.Elementwise(x.dtype(), {x}, [&](auto v) {
    return Select(Apply(UnaryOp::kIsNan, v[0]), nan,
                  Select(Equal(v[0], kInfinity), high, Select(Equal(v[0], -kInfinity), low, v[0])));
  });
}

}  // namespace hone::op_nan_to_num
