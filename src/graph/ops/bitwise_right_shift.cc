#include "graph/shift.h"

namespace hone::op_bitwise_right_shift {

HONE_OP(bitwise_right_shift,
        "floor(self / 2^other): the sign fills up; of all bits, or a negative number, only it is left") {
  call.Binary(OpCall::ResultType::kWhole, [](Expr a, Expr n) {
    const Expr quotient = Apply(BinaryOp::kFloorDiv, a, PowerOfTwo(n));
    return Select(And(LessEqual(0, n), Less(n, 63)), quotient, Select(Less(a, 0), -1, 0));
  });
}

}  // namespace hone::op_bitwise_right_shift
