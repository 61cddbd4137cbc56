#include <limits>
#include <numbers>

#include "graph/op.h"
#include "graph/polynomial.h"

namespace hone::op_digamma {

// As lgamma, whose derivative it is: below a half by the reflection at it, below eight from eight steps up.
HONE_OP(digamma, "derivative of lgamma; NaN at whole numbers below 0, infinite at 0") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) {
    constexpr int kSteps = 8;
    constexpr double kSeries[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
    const Expr reflected = Less(x, 0.5), from = Select(reflected, 1.0 - x, x), few = Less(from, double{kSteps});
    Expr steps = 1.0 / from;
    for (int i = 1; i < kSteps; ++i) steps = steps + 1.0 / (from + double(i));
    const Expr z = Select(few, from + double{kSteps}, from), inverse = 1.0 / z, square = inverse * inverse;
    const Expr at = Log(z) - inverse * 0.5 - Polynomial(kSeries, square) * square - Select(few, steps, 0.0);
    const Expr beside = x - Apply(UnaryOp::kRound, x);
    const Expr below = at - std::numbers::pi / Apply(UnaryOp::kTan, beside * std::numbers::pi);
    const Expr pole = And(Less(x, 0.0), Equal(beside, 0.0));
    return Select(pole, std::numeric_limits<double>::quiet_NaN(), Select(reflected, below, at));
  });
}

}  // namespace hone::op_digamma
