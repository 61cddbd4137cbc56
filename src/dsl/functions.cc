#include "dsl/functions.h"

namespace hone::dsl {
namespace {

using Arguments = std::span<const Expr>;

template <UnaryOp op>
Expr One(Arguments a) {
  return Apply(op, a[0]);
}
template <BinaryOp op>
Expr Two(Arguments a) {
  return Apply(op, a[0], a[1]);
}
template <ScalarType type>
Expr To(Arguments a) {
  return Cast(a[0], type);
}

Expr Square(const Expr& x) { return x * x; }
Expr Clamp(const Expr& x, const Expr& low, const Expr& high) { return Min(Max(x, low), high); }

// A NaN is neither below nor above: it takes the last branch of each of these and stays a NaN.
Expr Relu(Arguments a) { return Max(a[0], 0); }
Expr Gelu(Arguments a) { return 0.5 * a[0] * (1.0 + Apply(UnaryOp::kErf, a[0] * 0.70710678118654752440)); }
Expr GeluTanh(Arguments a) {
  const Expr& x = a[0];
  return 0.5 * x * (1.0 + Tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}
Expr SigmoidOf(Arguments a) { return Sigmoid(a[0]); }
Expr Silu(Arguments a) { return a[0] / (1.0 + Exp(-a[0])); }
Expr SoftplusOf(Arguments a) { return Softplus(a[0]); }
Expr Mish(Arguments a) { return a[0] * Tanh(Softplus(a[0])); }
Expr LeakyRelu(Arguments a) { return Select(Less(a[0], 0), a[0] * a[1], a[0]); }
Expr Elu(Arguments a) { return Select(Less(a[0], 0), Apply(UnaryOp::kExpm1, a[0]), a[0]); }
Expr Selu(Arguments a) {
  return 1.0507009873554804934193349852946 *
         Select(Less(a[0], 0), 1.6732632423543772848170429916717 * Apply(UnaryOp::kExpm1, a[0]), a[0]);
}
Expr HardSigmoid(Arguments a) { return Clamp(a[0] + 3, 0, 6) / 6; }
Expr HardSwish(Arguments a) { return a[0] * Clamp(a[0] + 3, 0, 6) / 6; }
Expr HardTanh(Arguments a) { return Clamp(a[0], -1, 1); }
Expr Softsign(Arguments a) { return a[0] / (1.0 + Abs(a[0])); }
Expr LogSigmoid(Arguments a) { return -Softplus(-a[0]); }
Expr ClampOf(Arguments a) { return Clamp(a[0], a[1], a[2]); }
Expr SquareOf(Arguments a) { return Square(a[0]); }
Expr SelectOf(Arguments a) { return Select(a[0], a[1], a[2]); }
Expr GreaterOf(Arguments a) { return Less(a[1], a[0]); }
Expr GreaterEqualOf(Arguments a) { return LessEqual(a[1], a[0]); }

constexpr Function kFunctions[] = {
    {"+", 2, "operator", Two<BinaryOp::kAdd>},
    {"-", 2, "operator", Two<BinaryOp::kSub>},
    {"*", 2, "operator", Two<BinaryOp::kMul>},
    {"/", 2, "operator; the quotient of reals, also of whole numbers", Two<BinaryOp::kDiv>},
    {"<", 2, "operator", Two<BinaryOp::kLess>},
    {"<=", 2, "operator", Two<BinaryOp::kLessEqual>},
    {">", 2, "operator", GreaterOf},
    {">=", 2, "operator", GreaterEqualOf},
    {"==", 2, "operator", Two<BinaryOp::kEqual>},
    {"!=", 2, "operator", Two<BinaryOp::kNotEqual>},
    {"neg", 1, "-x", One<UnaryOp::kNeg>},
    {"abs", 1, "absolute value", One<UnaryOp::kAbs>},
    {"exp", 1, "e^x", One<UnaryOp::kExp>},
    {"expm1", 1, "e^x - 1, exact near 0", One<UnaryOp::kExpm1>},
    {"log", 1, "natural logarithm", One<UnaryOp::kLog>},
    {"log1p", 1, "log(1 + x), exact near 0", One<UnaryOp::kLog1p>},
    {"log2", 1, "logarithm to base 2", One<UnaryOp::kLog2>},
    {"log10", 1, "logarithm to base 10", One<UnaryOp::kLog10>},
    {"sqrt", 1, "square root", One<UnaryOp::kSqrt>},
    {"rsqrt", 1, "1 / sqrt(x)", One<UnaryOp::kRsqrt>},
    {"reciprocal", 1, "1 / x", One<UnaryOp::kReciprocal>},
    {"sin", 1, "sine", One<UnaryOp::kSin>},
    {"cos", 1, "cosine", One<UnaryOp::kCos>},
    {"tan", 1, "tangent", One<UnaryOp::kTan>},
    {"asin", 1, "arc sine", One<UnaryOp::kAsin>},
    {"acos", 1, "arc cosine", One<UnaryOp::kAcos>},
    {"atan", 1, "arc tangent", One<UnaryOp::kAtan>},
    {"sinh", 1, "hyperbolic sine", One<UnaryOp::kSinh>},
    {"cosh", 1, "hyperbolic cosine", One<UnaryOp::kCosh>},
    {"tanh", 1, "hyperbolic tangent", One<UnaryOp::kTanh>},
    {"asinh", 1, "inverse of sinh", One<UnaryOp::kAsinh>},
    {"acosh", 1, "inverse of cosh", One<UnaryOp::kAcosh>},
    {"atanh", 1, "inverse of tanh", One<UnaryOp::kAtanh>},
    {"erf", 1, "error function", One<UnaryOp::kErf>},
    {"erfc", 1, "1 - erf(x), exact for large x", One<UnaryOp::kErfc>},
    {"floor", 1, "down to a whole number", One<UnaryOp::kFloor>},
    {"ceil", 1, "up to a whole number", One<UnaryOp::kCeil>},
    {"trunc", 1, "towards 0 to a whole number", One<UnaryOp::kTrunc>},
    {"round", 1, "to the nearest whole number, halves to the even one", One<UnaryOp::kRound>},
    {"sign", 1, "-1, 0 or 1", One<UnaryOp::kSign>},
    {"isnan", 1, "whether x is no number", One<UnaryOp::kIsNan>},
    {"not", 1, "of bools; bitwise of whole numbers", One<UnaryOp::kNot>, true},
    {"floordiv", 2, "floor(x / y)", Two<BinaryOp::kFloorDiv>},
    {"mod", 2, "x - y * floor(x / y)", Two<BinaryOp::kFloorMod>},
    {"fmod", 2, "x - y * trunc(x / y)", Two<BinaryOp::kFmod>},
    {"min", 2, "the smaller; a NaN on either side is the result", Two<BinaryOp::kMin>},
    {"max", 2, "the larger; a NaN on either side is the result", Two<BinaryOp::kMax>},
    {"pow", 2, "x to the power y", Two<BinaryOp::kPow>},
    {"atan2", 2, "the angle of the point (y, x), y first", Two<BinaryOp::kAtan2>},
    {"and", 2, "of bools; bitwise of whole numbers", Two<BinaryOp::kAnd>, true},
    {"or", 2, "of bools; bitwise of whole numbers", Two<BinaryOp::kOr>, true},
    {"xor", 2, "of bools; bitwise of whole numbers", Two<BinaryOp::kXor>, true},
    {"select", 3, "select(c, a, b): a where c holds, else b", SelectOf},
    {"real", 1, "as a real", To<ScalarType::kReal>},
    {"int", 1, "as a whole number, towards 0", To<ScalarType::kInt>},
    {"bool", 1, "x != 0", To<ScalarType::kBool>},
    {"square", 1, "x * x", SquareOf},
    {"clamp", 3, "clamp(x, low, high): min(max(x, low), high)", ClampOf},
    {"relu", 1, "max(x, 0)", Relu},
    {"leaky_relu", 2, "leaky_relu(x, s): x, or s * x below 0", LeakyRelu},
    {"elu", 1, "x, or expm1(x) below 0", Elu},
    {"selu", 1, "1.0507 * (x, or 1.6733 * expm1(x) below 0)", Selu},
    {"gelu", 1, "0.5 * x * (1 + erf(x / sqrt(2)))", Gelu},
    {"gelu_tanh", 1, "0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)))", GeluTanh},
    {"sigmoid", 1, "1 / (1 + exp(-x))", SigmoidOf},
    {"log_sigmoid", 1, "-softplus(-x)", LogSigmoid},
    {"silu", 1, "x / (1 + exp(-x))", Silu},
    {"softplus", 1, "log1p(exp(-abs(x))) + max(x, 0)", SoftplusOf},
    {"mish", 1, "x * tanh(softplus(x))", Mish},
    {"softsign", 1, "x / (1 + abs(x))", Softsign},
    {"hardsigmoid", 1, "clamp(x + 3, 0, 6) / 6", HardSigmoid},
    {"hardswish", 1, "x * clamp(x + 3, 0, 6) / 6", HardSwish},
    {"hardtanh", 1, "clamp(x, -1, 1)", HardTanh},
};

}  // namespace

std::span<const Function> AllFunctions() { return kFunctions; }

const Function* FindFunction(std::string_view name, std::size_t arguments) {
  for (const auto& function : kFunctions) {
    if (function.name == name && static_cast<std::size_t>(function.arguments) == arguments) return &function;
  }
  return nullptr;
}

const Function* FindFunction(std::string_view name) {
  for (const auto& function : kFunctions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

}  // namespace hone::dsl
