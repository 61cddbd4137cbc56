#include "graph/shift.h"

namespace hone::op_bitwise_left_shift {

HONE_OP(bitwise_left_shift, "self * 2^other, of which the type's lowest bits are kept; 0 where all bits leave it") {
  const auto bits = static_cast<std::int64_t>(8 * Bytes(call.CommonType({"self", "other"})));
  call.Binary(OpCall::ResultType::kWhole,
              [&](Expr a, Expr n) { return Select(And(LessEqual(0, n), Less(n, bits)), a * PowerOfTwo(n), 0); });
}

}  // namespace hone::op_bitwise_left_shift
