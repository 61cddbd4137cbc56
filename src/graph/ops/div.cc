#include "graph/op.h"

namespace hone::op_div {

HONE_OP(div, "self / other; rounding_mode floor or trunc rounds the quotient") {
  const std::string mode = call.String("rounding_mode", "");
  if (!mode.empty() && mode != "floor" && mode != "trunc") call.Fail("rounding_mode has to be floor or trunc");
  if (mode.empty()) {
    call.Binary(OpCall::ResultType::kReal, [](Expr a, Expr b) { return a / b; });
  } else {
    call.Binary(OpCall::ResultType::kSame, [&](Expr a, Expr b) {
      return mode == "floor" ? Apply(BinaryOp::kFloorDiv, a, b) : Cast(Apply(UnaryOp::kTrunc, a / b), a->type);
    });
  }
}

}  // namespace hone::op_div
