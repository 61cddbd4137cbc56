#include <cmath>

#include "graph/op.h"

namespace hone::op_pow {

namespace {

constexpr double kMostFactors = 16;
// Of a power that is a tensor: so many at once, and as many of those. Of so many even factors nothing is left; of odd
// ones there may be no more.
constexpr std::int64_t kWholeFactors = 64;

// What PyTorch's kernels compute without a power, on zeros, infinities and NaN too. Of whole numbers it is exact, and
// wraps around, as no power of reals does.
bool IsPlain(double exponent, DType dtype) {
  if (!IsFloat(dtype) && dtype != DType::kBool && exponent >= 0 && exponent <= kMostFactors &&
      exponent == std::floor(exponent))
    return true;
  return exponent == 0 || exponent == 1 || exponent == 2 || exponent == 3 ||
         (IsFloat(dtype) && (exponent == -1 || exponent == -2 || exponent == 0.5 || exponent == -0.5));
}

Expr Power(const Expr& x, double exponent) {
  if (exponent == 0) return x->type == ScalarType::kReal ? Expr(1.0) : Expr(1);
  if (exponent >= 2) {
    Expr product = x;
    for (int factors = 1; factors < static_cast<int>(exponent); ++factors) product = product * x;
    return product;
  }
  if (exponent == -1) return Apply(UnaryOp::kReciprocal, x);
  if (exponent == -2) return Apply(UnaryOp::kReciprocal, x * x);
  if (exponent == 0.5) return Sqrt(x);
  if (exponent == -0.5) return Apply(UnaryOp::kRsqrt, x);
  return x;
}

}  // namespace

HONE_OP(pow, "self to the power exponent; a small whole exponent is repeated multiplication") {
  // Squares and cubes are what nearly every use is, and their gradients have powers of one less.
  if (call.Has("exponent") && !call.IsTensor("exponent")) {
    const double exponent = call.Real("exponent");
    const DType dtype = call.CommonType({"self", "exponent"});  // 2.0 makes a real of a whole number
    if (IsPlain(exponent, dtype)) {
      return call.Elementwise(dtype, {call.Tensor("self")},
                              [&](auto v) { return Power(Cast(v[0], ScalarTypeOf(dtype)), exponent); });
    }
  }
  call.Binary(
      OpCall::ResultType::kSame,
      [](Expr a, Expr b) {
        if (a->type != ScalarType::kInt) return Cast(Apply(BinaryOp::kPow, a, b), a->type);
        // As a product, which is exact and wraps around.
        const auto power = [](const Expr& x, const Expr& factors) {
          return Fold(ReduceOp::kProd, std::vector<std::int64_t>{kWholeFactors},
                      [&](auto k) { return Select(Less(k[0], factors), x, 1); });
        };
        Expr many = a;
        for (std::int64_t factors = 1; factors < kWholeFactors; factors *= 2) many = many * many;
        const Expr product = power(a, Apply(BinaryOp::kFloorMod, b, kWholeFactors)) *
                             power(many, Apply(BinaryOp::kFloorDiv, b, kWholeFactors));
        // One over a whole number: only of 1 and -1 is anything left.
        const Expr odd = Equal(Apply(BinaryOp::kFloorMod, b, 2), 1);
        const Expr inverse = Select(Equal(a, 1), 1, Select(Equal(a, -1), Select(odd, -1, 1), 0));
        const Expr is_unit = Apply(BinaryOp::kOr, Equal(a, 1), Equal(a, -1));
        return Select(Apply(BinaryOp::kOr, Less(b, 0), is_unit), inverse, product);
      },
      "self", "exponent");
}

}  // namespace hone::op_pow
