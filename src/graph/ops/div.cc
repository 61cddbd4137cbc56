#include "graph/op.h"

namespace hone::op_div {

namespace {

// Towards zero. Whole numbers are divided as such: reals do not hold all of them.
Expr Truncated(const Expr& a, const Expr& b) {
  if (a->type != ScalarType::kInt) return Cast(Apply(UnaryOp::kTrunc, a / b), a->type);
  const Expr apart = Apply(BinaryOp::kNotEqual, Less(a, 0), Less(b, 0));
  const Expr rest = Apply(BinaryOp::kNotEqual, Apply(BinaryOp::kFloorMod, a, b), 0);
  return Apply(BinaryOp::kFloorDiv, a, b) + Select(Apply(BinaryOp::kAnd, apart, rest), 1, 0);
}

}  // namespace

HONE_OP(div, "self / other; rounding_mode floor or trunc rounds the quotient") {
  const std::string mode = call.String("rounding_mode", "");
  if (!mode.empty() && mode != "floor" && mode != "trunc") call.Fail("rounding_mode has to be floor or trunc");
  if (mode.empty()) {
    call.Binary(OpCall::ResultType::kReal, [](Expr a, Expr b) { return a / b; });
  } else {
    call.Binary(OpCall::ResultType::kSame,
                [&](Expr a, Expr b) { return mode == "floor" ? Apply(BinaryOp::kFloorDiv, a, b) : Truncated(a, b); });
  }
}

}  // namespace hone::op_div
