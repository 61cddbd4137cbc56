#include <cmath>
#include <limits>
#include <numbers>

#include "graph/op.h"
#include "graph/polynomial.h"

namespace hone::op_lgamma {
namespace {

// Of lgamma(2 + t), |t| <= 1/2: t (1 - Euler's constant) and (-1)^k (zeta(k) - 1) / k t^k.
constexpr double kAboutTwo[] = {
    0.42278433509846713,     0.3224670334241132,     -0.067352301053198102,   0.020580808427784546,
    -0.0073855510286739857,  0.0028905103307415234,  -0.001192753911703261,   0.00050966952474304245,
    -0.00022315475845357939, 9.9457512781808531e-05, -4.4926236738133142e-05, 2.0507212775670691e-05,
    -9.4394882752683967e-06, 4.3748667899074882e-06, -2.0392157538013662e-06, 9.5514121304074194e-07,
    -4.4924691987645662e-07, 2.1207184805554665e-07, -1.0043224823968099e-07, 4.7698101693639804e-08,
    -2.2711094608943164e-08, 1.0838659214896955e-08, -5.1834750419700466e-09, 2.4836745438024785e-09,
    -1.1921401405860912e-09, 5.7313672416788623e-10};
// Of Stirling's series in 1 / x, 1 / x^3 ..: exact to 1e-17 from 8.5 on.
constexpr double kStirling[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156};

}  // namespace

// From a half to 8.5 that of its distance to a whole step below, which is the nearest to 2, and the logarithm of what
// the steps multiply to: nothing cancels but at 1. Below a half by the reflection at it.
HONE_OP(lgamma, "logarithm of the absolute value of the gamma function") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) {
    constexpr int kSteps = 6;
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    const auto nearest = [](const Expr& of) { return Apply(UnaryOp::kRound, of); };
    const Expr reflected = Less(x, 0.5), from = Select(reflected, 1.0 - x, x);
    const Expr steps = Max(Min(nearest(from - 2.0), double{kSteps}), -1.0), beside = from - 2.0 - steps;
    Expr passed = 1.0;
    for (int i = 1; i <= kSteps; ++i) passed = passed * Select(LessEqual(double(i), steps), from - double(i), 1.0);
    const Expr near = Polynomial(kAboutTwo, beside) * beside + Log(passed) -
                      Select(Less(steps, 0.0), Apply(UnaryOp::kLog1p, from - 1.0), 0.0);
    const Expr inverse = 1.0 / from;
    const Expr far = (from - 0.5) * (Log(from) - 1.0) + (0.5 * std::log(2 * std::numbers::pi) - 0.5) +
                     Polynomial(kStirling, inverse * inverse) * inverse;
    const Expr at = Select(Less(from, kSteps + 2.5), near, far);
    const Expr turn = Apply(UnaryOp::kSin, (x - nearest(x)) * std::numbers::pi);
    const Expr finite = Select(reflected, Log(Abs(std::numbers::pi / turn)) - at, at);
    return Select(Equal(Abs(x), kInfinite), kInfinite, finite);
  });
}

}  // namespace hone::op_lgamma
