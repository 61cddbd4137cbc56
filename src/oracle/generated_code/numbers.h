// The number types and functions that generated loop nests are written in (oracle/loop_nest.cc embeds this text before
// them).
// One file because it travels as one text, in front of each nest.
//
// A nest is a template over its real type R:
//   float, double   plain arithmetic: the naive baseline
//   Honest<T>       arithmetic in T, operands of contractions rounded to the contract's precision: the honest
//                   implementation
//   Tracked         a double and a first-order bound of the error that rounding each operation once in the contract's
//                   precision would cause: the oracle
//
// Device code that NVRTC compiles takes this text too, behind base/device_std.h. It is then in no namespace: a type
// without linkage cannot be an argument of a kernel's template.
#pragma once

#ifndef __CUDACC_RTC__
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

namespace {
#endif

constexpr double kInf = std::numeric_limits<double>::infinity();

// Unit roundoff of ordinary operations and of the operands of contractions (sums of products), and the smallest normal
// number of the contract's precision; set by the generated code, behind this text or before it. Where sums keep fewer
// bits of a product than it has, kProductUnit is what that rounds it by. Where tensor cores make them, kCutTerms
// products are added up at a time, and to the others' sum, which is cut off to its precision, not rounded; 0 where they
// do not.
#ifndef HONE_UNITS_ARE_SET
extern const double kUnit;
extern const double kOperandUnit;
extern const double kSmallest;
constexpr double kProductUnit = 0;
constexpr unsigned kCutTerms = 0;
#endif
// Error of a transcendental function in units of kUnit: vector math libraries are good to 4 ulp, which is 8 units.
constexpr double kFunctionUnits = 8;
// Candidates are allowed so many times the error (kBudgetFactor): where it does not grow as its operands' do, a scale
// is the part of what comes of operands that are off by so many times theirs.
constexpr double kAllowed = 4;

// --- Tracked ---

// A truth value that may hang on rounding: `sure` is false when the compared numbers are closer than their errors.
struct Truth {
  bool value = false, sure = true;
  Truth(bool v = false, bool s = true) : value(v), sure(s) {}
};

struct Tracked {
  double v = 0;  // the value
  double e = 0;  // bound of its error, >= 0; infinity when nothing can be said
  Tracked() = default;
  explicit Tracked(double value, double error = 0) : v(value), e(error) {}
};

// A whole number that may hang on rounding: the index of a largest element, a real rounded to a whole number.
struct Whole {
  std::int64_t v = 0;
  bool sure = true;
  Whole(std::int64_t value = 0, bool is_sure = true) : v(value), sure(is_sure) {}
};

inline double NoNan(double e) { return e == e ? e : kInf; }
// Below the smallest normal number a result may be flushed to zero: vector math libraries do. Of exact operands an
// infinity is exact, too, as the logarithm of 0 is.
inline Tracked Rounded(double v, double e, double units = 1) {
  const double size = std::abs(v);
  if (e == 0 && size == kInf) return Tracked(v);
  return Tracked(v, NoNan(e + (size < kSmallest ? size : size * (units * kUnit))));
}

// A number as the problem writes it: in single precision it is rounded once.
template <class R>
R Constant(double v) {
  return R(v);
}
template <>
inline Tracked Constant<Tracked>(double v) {
  const bool rounds = kUnit > 0x1p-50 && static_cast<double>(static_cast<float>(v)) != v;
  return Tracked(v, rounds ? std::abs(v) * kUnit : 0);
}

inline Tracked operator+(Tracked a, Tracked b) { return Rounded(a.v + b.v, a.e + b.e); }
inline Tracked operator-(Tracked a, Tracked b) { return Rounded(a.v - b.v, a.e + b.e); }
inline Tracked operator-(Tracked a) { return Tracked(-a.v, a.e); }
inline Tracked operator*(Tracked a, Tracked b) {
  const double e =
      (a.e > 0 ? a.e * std::abs(b.v) : 0) + (b.e > 0 ? b.e * std::abs(a.v) : 0) + (a.e > 0 && b.e > 0 ? a.e * b.e : 0);
  return Rounded(a.v * b.v, e);
}
inline Tracked operator/(Tracked a, Tracked b) {
  const double v = a.v / b.v;
  if (b.e == 0) return Rounded(v, a.e > 0 ? a.e / std::abs(b.v) : 0);
  const double room = std::abs(b.v) - b.e;
  return Rounded(v, room > 0 ? (a.e + std::abs(v) * b.e) / room : kInf);
}
// One product of a contraction: its operands may be rounded to the contract's precision first.
inline Tracked Product(Tracked a, Tracked b) {
  Tracked p = a * b;
  if (kOperandUnit > kUnit) p.e += 2 * std::abs(p.v) * kOperandUnit;
  return p;
}

// What a real of fewer bits, a hone::SmallFloat, holds of it; below the smallest normal number it holds steps of one
// size.
template <class Small>
Tracked Stored(Tracked a) {
  double v = a.v;
  if (!Small::kInfinite && std::abs(v) > Small::kLargest) v = std::copysign(Small::kLargest, v);
  return Tracked(v, NoNan(a.e + std::max(std::abs(v) * Small::kRoundoff, v == 0 ? 0 : Small::kStep / 2)));
}

// What single precision holds of a number of more bits: of one that is exact all make the same.
inline double Single(double a) { return static_cast<double>(static_cast<float>(a)); }
inline Tracked Single(Tracked a) {
  const double v = Single(a.v);
  return Tracked(v, a.e > 0 ? NoNan(a.e + std::abs(v) * 0x1p-24) : 0);
}

// f with derivative bound d at a: |f(x) - f(a)| <= e * d to first order.
inline Tracked Function(Tracked a, double v, double derivative) {
  return Rounded(v, a.e > 0 ? a.e * std::abs(derivative) : 0, kFunctionUnits);
}

// Of an f that only rises or only falls, and bends within about 1: where the error of its operand is not small beside
// that, the derivative at one place says nothing of the others. (-200 of a sum of 2^26 may come out as 244, and erf is
// -1 of the one, without a slope, and 1 of the other.)
template <class F>
Tracked Monotone(Tracked a, double v, double derivative, const F& f) {
  constexpr double kSmall = 1e-3;
  const double off = kAllowed * a.e;
  if (!(off > kSmall)) return Function(a, v, derivative);
  const double most = NoNan(std::max(std::abs(f(a.v + off) - v), std::abs(v - f(a.v - off)))) / kAllowed;
  return Rounded(v, std::max(a.e * std::abs(derivative), most), kFunctionUnits);
}

inline Tracked Abs(Tracked a) { return Tracked(std::abs(a.v), a.e); }
inline Tracked Sign(Tracked a) { return Tracked((a.v > 0) - (a.v < 0), a.e > std::abs(a.v) ? 2 : 0); }
inline double ExpError(Tracked a) {
  const double up = kAllowed * a.e;
  if (up == 0 || a.v == -kInf) return 0;
  return (up < 1 ? std::exp(a.v) * std::expm1(up) : std::exp(a.v + up) - std::exp(a.v)) / kAllowed;
}
inline Tracked Exp(Tracked a) { return Rounded(std::exp(a.v), ExpError(a), kFunctionUnits); }
inline Tracked Expm1(Tracked a) { return Rounded(std::expm1(a.v), ExpError(a), kFunctionUnits); }
// Near 1 a logarithm is small but its argument's rounding is not: the error of x dominates, as it should.
inline Tracked LogOf(Tracked a, double v, double scale) {
  return Rounded(v, a.e > 0 ? (a.v > a.e ? scale * a.e / (a.v - a.e) : kInf) : 0, kFunctionUnits);
}
inline Tracked Log(Tracked a) { return LogOf(a, std::log(a.v), 1); }
inline Tracked Log2(Tracked a) { return LogOf(a, std::log2(a.v), 1.4426950408889634); }
inline Tracked Log10(Tracked a) { return LogOf(a, std::log10(a.v), 0.4342944819032518); }
inline Tracked Log1p(Tracked a) {
  return Rounded(std::log1p(a.v), a.e > 0 ? (1 + a.v > a.e ? a.e / (1 + a.v - a.e) : kInf) : 0, kFunctionUnits);
}
inline Tracked Sqrt(Tracked a) {
  const double v = std::sqrt(a.v);
  return Rounded(v, a.e > 0 ? std::max(std::sqrt(a.v + a.e) - v, v - std::sqrt(std::max(a.v - a.e, 0.0))) : 0);
}
inline Tracked Rsqrt(Tracked a) {
  const double v = 1 / std::sqrt(a.v);
  return Rounded(v, a.e > 0 ? (a.v > a.e ? 1 / std::sqrt(a.v - a.e) - v : kInf) : 0, kFunctionUnits);
}
inline Tracked Reciprocal(Tracked a) { return Tracked(1.0) / a; }
inline Tracked Sin(Tracked a) { return Function(a, std::sin(a.v), 1); }
inline Tracked Cos(Tracked a) { return Function(a, std::cos(a.v), 1); }
inline Tracked Tan(Tracked a) {
  const double t = std::tan(a.v);
  return Function(a, t, 1 + t * t);
}
inline Tracked Asin(Tracked a) { return Function(a, std::asin(a.v), 1 / std::sqrt(std::max(1 - a.v * a.v, 1e-300))); }
inline Tracked Acos(Tracked a) { return Function(a, std::acos(a.v), 1 / std::sqrt(std::max(1 - a.v * a.v, 1e-300))); }
inline Tracked Atan(Tracked a) {
  return Monotone(a, std::atan(a.v), 1 / (1 + a.v * a.v), [](double x) { return std::atan(x); });
}
inline Tracked Sinh(Tracked a) { return Function(a, std::sinh(a.v), std::cosh(a.v)); }
inline Tracked Cosh(Tracked a) { return Function(a, std::cosh(a.v), std::sinh(std::abs(a.v))); }
inline Tracked Tanh(Tracked a) {
  const double t = std::tanh(a.v);
  return Monotone(a, t, 1 - t * t, [](double x) { return std::tanh(x); });
}
inline Tracked Asinh(Tracked a) {
  return Monotone(a, std::asinh(a.v), 1 / std::sqrt(1 + a.v * a.v), [](double x) { return std::asinh(x); });
}
inline Tracked Acosh(Tracked a) { return Function(a, std::acosh(a.v), 1 / std::sqrt(std::max(a.v * a.v - 1, 1e-300))); }
inline Tracked Atanh(Tracked a) { return Function(a, std::atanh(a.v), 1 / std::max(1 - a.v * a.v, 1e-300)); }
inline Tracked Erf(Tracked a) {
  return Monotone(a, std::erf(a.v), 1.1283791670955126 * std::exp(-a.v * a.v), [](double x) { return std::erf(x); });
}
inline Tracked Erfc(Tracked a) {
  return Monotone(a, std::erfc(a.v), 1.1283791670955126 * std::exp(-a.v * a.v), [](double x) { return std::erfc(x); });
}
inline Tracked Step(Tracked, double v, double low, double high) { return Tracked(v, low == high ? 0 : high - low); }
inline Tracked Floor(Tracked a) { return Step(a, std::floor(a.v), std::floor(a.v - a.e), std::floor(a.v + a.e)); }
inline Tracked Ceil(Tracked a) { return Step(a, std::ceil(a.v), std::ceil(a.v - a.e), std::ceil(a.v + a.e)); }
inline Tracked Trunc(Tracked a) { return Step(a, std::trunc(a.v), std::trunc(a.v - a.e), std::trunc(a.v + a.e)); }
inline Tracked Round(Tracked a) {
  return Step(a, std::nearbyint(a.v), std::nearbyint(a.v - a.e), std::nearbyint(a.v + a.e));
}
inline Tracked Pow(Tracked a, Tracked b) {
  const double v = std::pow(a.v, b.v);
  double e = 0;
  if (a.e > 0) e += a.v != 0 ? std::abs(v * b.v / a.v) * a.e : std::abs(std::pow(a.e, b.v));
  if (b.e > 0) e += std::abs(v * std::log(std::abs(a.v))) * b.e;
  return Rounded(v, e, 2 * kFunctionUnits);
}
inline Tracked Atan2(Tracked a, Tracked b) {
  return Rounded(std::atan2(a.v, b.v), (a.e + b.e) / std::max(std::hypot(a.v, b.v), 1e-300), kFunctionUnits);
}
inline Tracked Fmod(Tracked a, Tracked b) {
  const double v = std::fmod(a.v, b.v), room = std::min(std::abs(v), std::abs(b.v) - std::abs(v));
  return Tracked(v, a.e + b.e == 0                           ? 0
                    : room > a.e + b.e * std::abs(a.v / b.v) ? a.e + b.e * std::abs(a.v / b.v)
                                                             : kInf);
}
inline Tracked FloorMod(Tracked a, Tracked b) {
  Tracked m = Fmod(a, b);
  return m.v != 0 && (m.v < 0) != (b.v < 0) ? Rounded(m.v + b.v, m.e + b.e) : m;
}
// As Python: from the exact remainder, so that 3.0 // 0.1 is 29.
inline double FloorQuotient(double a, double b) {
  if (b == 0) return a / b;
  const double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0 && (b < 0) != (remainder < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}
inline Tracked FloorDiv(Tracked a, Tracked b) {
  const Tracked q = a / b;
  return Step(q, FloorQuotient(a.v, b.v), std::floor(q.v - q.e), std::floor(q.v + q.e));
}
// The smaller may come out above the larger by as much of what candidates are allowed as the gap between them leaves.
inline Tracked Max(Tracked a, Tracked b) {
  if (a.v != a.v) return a;
  if (b.v != b.v) return b;
  const Tracked& big = a.v >= b.v ? a : b;
  const Tracked& small = a.v >= b.v ? b : a;
  return Tracked(big.v, std::max(big.e, small.e - (big.v - small.v) / kAllowed));
}
inline Tracked Min(Tracked a, Tracked b) { return -Max(-a, -b); }
// Likewise they may fall on the other side that far away.
inline Truth Compared(bool value, Tracked a, Tracked b) {
  const double errors = kAllowed * (a.e + b.e);
  return Truth(value, !(std::abs(a.v - b.v) <= errors) || errors == 0);
}
inline Truth Less(Tracked a, Tracked b) { return Compared(a.v < b.v, a, b); }
inline Truth LessEqual(Tracked a, Tracked b) { return Compared(a.v <= b.v, a, b); }
inline Truth Equal(Tracked a, Tracked b) { return Compared(a.v == b.v, a, b); }
inline Truth NotEqual(Tracked a, Tracked b) { return Compared(a.v != b.v, a, b); }
inline Truth IsNan(Tracked a) { return a.v != a.v; }
inline Truth And(Truth a, Truth b) {
  return Truth(a.value && b.value, (a.sure && b.sure) || (a.sure && !a.value) || (b.sure && !b.value));
}
inline Truth Or(Truth a, Truth b) {
  return Truth(a.value || b.value, (a.sure && b.sure) || (a.sure && a.value) || (b.sure && b.value));
}
inline Truth Xor(Truth a, Truth b) { return Truth(a.value != b.value, a.sure && b.sure); }
inline Truth Not(Truth a) { return Truth(!a.value, a.sure); }
// The text of a nest names T: beside operands that may be in doubt others are plain numbers or truth values.
template <class T>
T Choose(Truth c, T a, T b);
template <>
inline Tracked Choose(Truth c, Tracked a, Tracked b) {
  const Tracked& taken = c.value ? a : b;
  return c.sure ? taken : Tracked(taken.v, NoNan(taken.e + std::abs(a.v - b.v) + std::max(a.e, b.e)));
}
template <>
inline Whole Choose(Truth c, Whole a, Whole b) {
  return Whole(c.value ? a.v : b.v, (c.value ? a.sure : b.sure) && (c.sure || a.v == b.v));
}
template <>
inline Truth Choose(Truth c, Truth a, Truth b) {
  return c.sure || a.value == b.value ? (c.value ? a : b) : Truth(c.value ? a.value : b.value, false);
}
inline Tracked FromTruth(Tracked, Truth t) { return Tracked(t.value, t.sure ? 0 : 1); }
inline Truth ToTruth(Tracked a) { return NotEqual(a, Tracked(0)); }

// What softmaxes are made of (oracle/softmax_form.h): x - m, where any other m would do as well,
inline Tracked Shifted(Tracked x, Tracked m) { return x - Tracked(m.v); }
// exp(shifted) over `total`, the sum of such exponents and this one. The others sum up to rest + 4 errors of theirs if
// all are as large as they may be, and then to no less than rest^2 over that if all are as small: x and 1 / x are
// convex.
inline Tracked Softmax(Tracked shifted, Tracked total) {
  const Tracked own = Exp(shifted);
  const double v = own.v / total.v, rest = std::max(total.v - own.v, 0.0);
  const double most = own.v + kAllowed * own.e, least = own.v > 0 ? own.v / most * own.v : 0;
  const double rest_most = rest + kAllowed * std::max(total.e - own.e, 0.0),
               rest_least = rest > 0 ? rest / rest_most * rest : 0;
  const double up = most > 0 ? 1 / (1 + rest_least / most) : 0, down = least > 0 ? 1 / (1 + rest_most / least) : 0;
  return Rounded(v, std::max(std::max(up - v, v - down), 0.0) / kAllowed, 2 * kFunctionUnits);
}
// and its logarithm; likewise it is no smaller than 1 over as much as it may be larger.
inline Tracked LogOfSum(Tracked total) {
  const double e = total.e > 0 ? std::log1p(kAllowed * total.e / total.v) / kAllowed : 0;
  return Rounded(std::log(total.v), e, kFunctionUnits);
}
inline double Plain(Tracked a) { return a.v; }
inline bool Plain(Truth t) { return t.value; }
inline std::int64_t Plain(Whole a) { return a.v; }

// --- Honest<T> ---

// To a type of unit roundoff `unit` by Veltkamp's splitting: no bit tricks, so loops over it are vectors. What is too
// large to be split stays as it is.
template <class T>
T RoundTo(T x, double unit) {
  const T spread = x * static_cast<T>(unit / (std::numeric_limits<T>::epsilon() / 2) + 1);
  const T rounded = spread - (spread - x);
  return std::abs(x) < static_cast<T>(1e30) ? rounded : x;
}
template <class T>
T RoundOperand(T x) {
  return kOperandUnit <= kUnit ? x : RoundTo(x, kOperandUnit);
}
template <class T>
T RoundProduct(T x) {
  return kProductUnit <= kUnit ? x : RoundTo(x, kProductUnit);
}

template <class T>
struct Honest {
  T v = 0;
  Honest() = default;
  explicit Honest(double value) : v(static_cast<T>(value)) {}
};
template <class T>
Honest<T> Wrap(T v) {
  Honest<T> h;
  h.v = v;
  return h;
}
template <class Small, class T>
Honest<T> Stored(Honest<T> a) {
  return Wrap<T>(static_cast<T>(static_cast<float>(Small::From(a.v))));
}
template <class T>
Honest<T> Single(Honest<T> a) {
  return Wrap<T>(static_cast<T>(static_cast<float>(a.v)));
}
template <class T>
Honest<T> Product(Honest<T> a, Honest<T> b) {
  return Wrap<T>(RoundProduct(RoundOperand(a.v) * RoundOperand(b.v)));
}
template <class T>
Honest<T> FromTruth(Honest<T>, bool t) {
  return Honest<T>(t);
}
template <class T>
double Plain(Honest<T> a) {
  return static_cast<double>(a.v);
}

// --- Plain numbers, and Honest through them ---

inline bool And(bool a, bool b) { return a && b; }
inline bool Or(bool a, bool b) { return a || b; }
inline bool Xor(bool a, bool b) { return a != b; }
inline bool Not(bool a) { return !a; }
// Division by zero has no meaning; it gives 0 rather than end the process. By -1 it is a negation, which wraps.
inline std::int64_t Negated(std::int64_t a) { return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)); }
inline std::int64_t FloorDiv(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return b == 0 ? 0 : Negated(a);
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
inline std::int64_t FloorMod(std::int64_t a, std::int64_t b) { return b == -1 ? 0 : a - FloorDiv(a, b) * b; }
template <class T>
T Product(T a, T b) {
  return a * b;
}
template <class T>
T FromTruth(T, bool t) {
  return T(t);
}
inline double Plain(float a) { return static_cast<double>(a); }
inline double Plain(double a) { return a; }
inline bool Plain(bool a) { return a; }
inline std::int64_t Plain(std::int64_t a) { return a; }
template <class T>
T Choose(bool c, T a, T b) {
  return c ? a : b;
}

#define HONE_UNARY(NAME, EXPRESSION)                                    \
  inline float NAME(float x) { return static_cast<float>(EXPRESSION); } \
  inline double NAME(double x) { return EXPRESSION; }                   \
  template <class T>                                                    \
  Honest<T> NAME(Honest<T> x) {                                         \
    return Wrap<T>(NAME(x.v));                                          \
  }
HONE_UNARY(Abs, std::abs(x))
HONE_UNARY(Sign, (x > 0) - (x < 0))
HONE_UNARY(Exp, std::exp(x))
HONE_UNARY(Expm1, std::expm1(x))
HONE_UNARY(Log, std::log(x))
HONE_UNARY(Log1p, std::log1p(x))
HONE_UNARY(Log2, std::log2(x))
HONE_UNARY(Log10, std::log10(x))
HONE_UNARY(Sqrt, std::sqrt(x))
HONE_UNARY(Rsqrt, 1 / std::sqrt(x))
HONE_UNARY(Reciprocal, 1 / x)
HONE_UNARY(Sin, std::sin(x))
HONE_UNARY(Cos, std::cos(x))
HONE_UNARY(Tan, std::tan(x))
HONE_UNARY(Asin, std::asin(x))
HONE_UNARY(Acos, std::acos(x))
HONE_UNARY(Atan, std::atan(x))
HONE_UNARY(Sinh, std::sinh(x))
HONE_UNARY(Cosh, std::cosh(x))
HONE_UNARY(Tanh, std::tanh(x))
HONE_UNARY(Asinh, std::asinh(x))
HONE_UNARY(Acosh, std::acosh(x))
HONE_UNARY(Atanh, std::atanh(x))
HONE_UNARY(Erf, std::erf(x))
HONE_UNARY(Erfc, std::erfc(x))
HONE_UNARY(Floor, std::floor(x))
HONE_UNARY(Ceil, std::ceil(x))
HONE_UNARY(Trunc, std::trunc(x))
HONE_UNARY(Round, std::nearbyint(x))
#undef HONE_UNARY
inline std::int64_t Abs(std::int64_t x) { return x < 0 ? -x : x; }
inline std::int64_t Sign(std::int64_t x) { return (x > 0) - (x < 0); }
inline bool IsNan(float x) { return x != x; }
inline bool IsNan(double x) { return x != x; }
template <class T>
bool IsNan(Honest<T> x) {
  return x.v != x.v;
}

#define HONE_BINARY(NAME, EXPRESSION)                                            \
  inline float NAME(float a, float b) { return static_cast<float>(EXPRESSION); } \
  inline double NAME(double a, double b) { return EXPRESSION; }                  \
  template <class T>                                                             \
  Honest<T> NAME(Honest<T> a, Honest<T> b) {                                     \
    return Wrap<T>(NAME(a.v, b.v));                                              \
  }
HONE_BINARY(Max, a != a ? a : b != b ? b : (a > b ? a : b))
HONE_BINARY(Min, a != a ? a : b != b ? b : (a < b ? a : b))
HONE_BINARY(Pow, std::pow(a, b))
HONE_BINARY(Atan2, std::atan2(a, b))
HONE_BINARY(Fmod, std::fmod(a, b))
HONE_BINARY(FloorDiv, FloorQuotient(static_cast<double>(a), static_cast<double>(b)))
HONE_BINARY(FloorMod, std::fmod(a, b) + (std::fmod(a, b) != 0 && (std::fmod(a, b) < 0) != (b < 0) ? b : 0))
#undef HONE_BINARY
inline std::int64_t Max(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
inline std::int64_t Min(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
inline std::int64_t Fmod(std::int64_t a, std::int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

#define HONE_OPERATOR(OP)                           \
  template <class T>                                \
  Honest<T> operator OP(Honest<T> a, Honest<T> b) { \
    return Wrap<T>(a.v OP b.v);                     \
  }
HONE_OPERATOR(+)
HONE_OPERATOR(-)
HONE_OPERATOR(*)
HONE_OPERATOR(/)
#undef HONE_OPERATOR
template <class T>
Honest<T> Shifted(Honest<T> x, Honest<T> m) {
  return x - m;
}
template <class T>
Honest<T> Softmax(Honest<T> shifted, Honest<T> total) {
  return Exp(shifted) / total;
}
template <class T>
Honest<T> LogOfSum(Honest<T> total) {
  return Log(total);
}
template <class T>
Honest<T> operator-(Honest<T> a) {
  return Wrap<T>(-a.v);
}

#define HONE_COMPARE(NAME, OP)                                        \
  inline bool NAME(float a, float b) { return a OP b; }               \
  inline bool NAME(double a, double b) { return a OP b; }             \
  inline bool NAME(std::int64_t a, std::int64_t b) { return a OP b; } \
  template <class T>                                                  \
  bool NAME(Honest<T> a, Honest<T> b) {                               \
    return a.v OP b.v;                                                \
  }
HONE_COMPARE(Less, <)
HONE_COMPARE(LessEqual, <=)
HONE_COMPARE(Equal, ==)
HONE_COMPARE(NotEqual, !=)
#undef HONE_COMPARE
template <class T>
bool ToTruth(Honest<T> a) {
  return a.v != 0;
}
inline bool ToTruth(float a) { return a != 0; }
inline bool ToTruth(double a) { return a != 0; }
inline bool ToTruth(std::int64_t a) { return a != 0; }

// The other types that go with a real type: of truth values and whole numbers that hang on rounding, and of reals that
// do not.
template <class R>
struct TypesOf {
  using Truth = bool;
  using Whole = std::int64_t;
  using Exact = R;
};
template <>
struct TypesOf<Tracked> {
  using Truth = ::Truth;
  using Whole = ::Whole;
  using Exact = double;
};

// --- Whole numbers ---

inline std::int64_t ToWhole(double x) {
  return x > -9.2e18 && x < 9.2e18 ? static_cast<std::int64_t>(x) : std::numeric_limits<std::int64_t>::min();
}
inline std::int64_t ToWhole(float x) { return ToWhole(static_cast<double>(x)); }
inline std::int64_t ToWhole(bool x) { return x; }
template <class T>
std::int64_t ToWhole(Honest<T> x) {
  return ToWhole(static_cast<double>(x.v));
}
inline Whole ToWhole(Tracked x) { return Whole(ToWhole(x.v), x.e == 0 || ToWhole(x.v - x.e) == ToWhole(x.v + x.e)); }
inline Whole ToWhole(Truth x) { return Whole(x.value, x.sure); }
template <class R>
R FromWhole(R, std::int64_t x) {
  return R(static_cast<double>(x));
}
inline Tracked FromWhole(Tracked, Whole x) { return Tracked(static_cast<double>(x.v), x.sure ? 0 : kInf); }
inline float FromWhole(float, std::int64_t x) { return static_cast<float>(x); }
inline Truth ToTruth(Whole x) { return Truth(x.v != 0, x.sure); }
// As the narrower type would hold it.
template <class N>
std::int64_t Narrow(std::int64_t x) {
  return static_cast<N>(x);
}
template <class N>
Whole Narrow(Whole x) {
  return Whole(static_cast<N>(x.v), x.sure);
}

#define HONE_WHOLE(SIGNATURE, EXPRESSION) \
  inline Whole SIGNATURE(Whole a, Whole b) { return Whole(EXPRESSION, a.sure && b.sure); }
HONE_WHOLE(operator+, a.v + b.v)
HONE_WHOLE(operator-, a.v - b.v)
HONE_WHOLE(operator*, a.v* b.v)
HONE_WHOLE(operator&, a.v & b.v)
HONE_WHOLE(operator|, a.v | b.v)
HONE_WHOLE(operator^, a.v ^ b.v)
HONE_WHOLE(FloorDiv, FloorDiv(a.v, b.v))
HONE_WHOLE(FloorMod, FloorMod(a.v, b.v))
HONE_WHOLE(Fmod, Fmod(a.v, b.v))
HONE_WHOLE(Max, Max(a.v, b.v))
HONE_WHOLE(Min, Min(a.v, b.v))
#undef HONE_WHOLE
inline Whole operator-(Whole a) { return Whole(-a.v, a.sure); }
inline Whole operator~(Whole a) { return Whole(~a.v, a.sure); }
inline Whole Abs(Whole a) { return Whole(Abs(a.v), a.sure); }
inline Whole Sign(Whole a) { return Whole(Sign(a.v), a.sure); }
inline Truth Less(Whole a, Whole b) { return Truth(a.v < b.v, a.sure && b.sure); }
inline Truth LessEqual(Whole a, Whole b) { return Truth(a.v <= b.v, a.sure && b.sure); }
inline Truth Equal(Whole a, Whole b) { return Truth(a.v == b.v, a.sure && b.sure); }
inline Truth NotEqual(Whole a, Whole b) { return Truth(a.v != b.v, a.sure && b.sure); }

// An index out of data: whatever it is, the load stays inside. Where the index is not sure, nor is what it picks.
inline std::int64_t Inside(std::int64_t index, std::int64_t extent) {
  return index < 0 ? 0 : index < extent ? index : extent - 1;
}
inline std::int64_t Inside(Whole index, std::int64_t extent) { return Inside(index.v, extent); }
template <class T>
T Picked(std::int64_t, T x) {
  return x;
}
inline Tracked Picked(Whole index, Tracked x) { return index.sure ? x : Tracked(x.v, kInf); }
inline Whole Picked(Whole index, Whole x) { return Whole(x.v, x.sure && index.sure); }
inline Truth Picked(Whole index, Truth x) { return Truth(x.value, x.sure && index.sure); }

inline bool IsSure(std::int64_t) { return true; }
inline bool IsSure(Whole x) { return x.sure; }

// --- Sums ---

// kLanes sums side by side.
constexpr int kLanes = 64;
// An honest sum in T adds its terms in order, as the definition's own loop does: the order with the largest error of
// all that people write. Of more than kBlock terms it adds up blocks of so many: in single precision a longer sum of
// terms of one sign loses its own terms, and a budget of four times that would let anything pass.
constexpr std::int64_t kBlock = 1 << 20;

template <class R>
struct Sums;  // a sum in each lane: only the two below
template <class R>
struct Terms;  // one sum whose terms come a lane each: only the two below

// How errors of terms add up: roundings of the sum itself as their magnitudes (it may be taken in any order, so partial
// sums may be as large), those that the terms bring along as independent ones do, in quadrature, but in full as far as
// all of one sign pull one way. Linear sums would be larger by the root of the number of terms, which in a few layers
// lets anything pass. Where that is too small, the honest implementation shows it (oracle/oracle.h): but of a few sums
// it may by chance be off by next to nothing. So terms of one sign, added up in order, are off by no less than such
// sums are: n of them by 0.22 to 0.25 sqrt(n) units of the sum in the mean square, as its last bits are worth one unit
// or two; one in ten million is off by more than kAllowed thirds of sqrt(n).
struct TermErrors {
  double magnitude = 0;   // sum of |t|
  double squares = 0;     // sum of e^2
  double signed_sum = 0;  // sum of e with the sign of t
  double terms = 0;       // that are not 0
  // Of a sum that comes to v.
  double Total(double v) const {
    const double own = std::max(magnitude, std::abs(v) * std::sqrt(terms) / 3);
    return NoNan(own * kUnit + std::sqrt(squares) + std::abs(signed_sum));
  }
};

// Values and errors apart, so that all loops over lanes are vectors.
template <>
struct Sums<Tracked> {
  double v[kLanes] = {}, magnitude[kLanes] = {}, squares[kLanes] = {}, signed_sum[kLanes] = {};
  double terms[kLanes] = {}, products = 0;  // of a lane; `products`: those of 0 too, as counting others takes time
  void Add(int lane, Tracked t) {
    v[lane] += t.v;
    magnitude[lane] += std::abs(t.v);
    squares[lane] += t.e * t.e;
    signed_sum[lane] += std::copysign(t.e, t.v);
    terms[lane] += t.v != 0 ? 1 : 0;
  }
  void AddProduct(int lane, Tracked a, Tracked b) { Add(lane, Product(a, b)); }
  // The product of two numbers without error: it rounds once itself, and its operands may be rounded to the contract's
  // precision.
  void AddExactProduct(int lane, double a, double b) {
    const double p = a * b;
    v[lane] += p;
    magnitude[lane] += std::abs(p);
    if (kOperandUnit > kUnit) squares[lane] += p * p;
  }
  void AddExact(int lane, double a) {
    v[lane] += a;
    magnitude[lane] += std::abs(a);
    terms[lane] += a != 0 ? 1 : 0;
  }
  void NextTerm() { products += 1; }  // of each lane
  void Flush(std::int64_t) {}
  void ScaleExactProducts() {
    for (int i = 0; i < kLanes; ++i) {
      magnitude[i] *= 2;
      terms[i] = products;
      if (kOperandUnit > kUnit) {
        squares[i] *= 4 * kOperandUnit * kOperandUnit;
        signed_sum[i] = 2 * kOperandUnit * v[i];
      }
    }
  }
  Tracked Get(int lane) const {
    return Tracked(v[lane], TermErrors{magnitude[lane], squares[lane], signed_sum[lane], terms[lane]}.Total(v[lane]));
  }
  Tracked Total() const {
    double sum = 0;
    TermErrors errors;
    for (int i = 0; i < kLanes; ++i) {
      sum += v[i];
      errors.magnitude += magnitude[i];
      errors.squares += squares[i];
      errors.signed_sum += signed_sum[i];
      errors.terms += terms[i];
    }
    return Tracked(sum, errors.Total(sum));
  }
};

template <>
struct Terms<Tracked> : Sums<Tracked> {
  void Flush(std::int64_t lanes) { products += static_cast<double>(lanes) / kLanes; }
};

template <class T>
struct Sums<Honest<T>> {
  T total[kLanes] = {}, block[kLanes] = {};
  std::int64_t count = 0;  // of the terms in a block
  void Add(int lane, Honest<T> t) { block[lane] += t.v; }
  void AddExactProduct(int lane, T a, T b) { block[lane] += RoundProduct(RoundOperand(a) * RoundOperand(b)); }
  void AddExact(int lane, T a) { block[lane] += a; }
  void NextTerm() {}
  // After so many more terms of each lane.
  void Flush(std::int64_t terms) {
    if ((count += terms) < kBlock) return;
    count = 0;
    for (int i = 0; i < kLanes; ++i) {
      total[i] += block[i];
      block[i] = 0;
    }
  }
  void ScaleExactProducts() {}
  Honest<T> Get(int lane) const { return Wrap<T>(total[lane] + block[lane]); }
};

template <class T>
struct Terms<Honest<T>> {
  T term[kLanes], total = 0, block = 0;
  std::int64_t count = 0;
  void Add(int lane, Honest<T> t) { term[lane] = t.v; }
  void AddExactProduct(int lane, T a, T b) { term[lane] = RoundProduct(RoundOperand(a) * RoundOperand(b)); }
  void AddExact(int lane, T a) { term[lane] = a; }
  // After a term of each of the first `lanes`.
  void Flush(std::int64_t lanes) {
    for (std::int64_t i = 0; i < lanes; ++i) block += term[i];
    if ((count += lanes) < kBlock) return;
    count = 0;
    total += block;
    block = 0;
  }
  void ScaleExactProducts() {}
  Honest<T> Total() const { return Wrap<T>(total + block); }
};

// One sum, for places where lanes do not fit. Merge adds another's terms: sums in parts.
template <class T>
struct Sum {
  T total{};
  void Add(T t) { total = total + t; }
  void Merge(const Sum& other) { total = total + other.total; }
  T Get() const { return total; }
};
template <class T>
struct Sum<Honest<T>> {
  T total = 0, block = 0;
  std::int64_t count = 0;
  void Add(Honest<T> t) {
    block += t.v;
    if (++count % kBlock != 0) return;
    total += block;
    block = 0;
  }
  void AddExactProduct(T a, T b) { Add(Wrap<T>(RoundProduct(RoundOperand(a) * RoundOperand(b)))); }
  void AddExact(T a) { Add(Wrap<T>(a)); }
  void ScaleExactProducts() {}
  void Merge(const Sum& other) {
    total = (total + block) + (other.total + other.block);
    block = 0;
  }
  Honest<T> Get() const { return Wrap<T>(total + block); }
};
template <>
struct Sum<Tracked> {
  double v = 0;
  TermErrors errors;
  void Add(Tracked t) {
    v += t.v;
    errors.magnitude += std::abs(t.v);
    errors.squares += t.e * t.e;
    errors.signed_sum += std::copysign(t.e, t.v);
    errors.terms += t.v != 0 ? 1 : 0;
  }
  // As in Sums: of numbers without error, whose products' errors ScaleExactProducts adds in the end.
  void AddExactProduct(double a, double b) {
    const double p = a * b;
    v += p;
    errors.magnitude += std::abs(p);
    if (kOperandUnit > kUnit) errors.squares += p * p;
    errors.terms += p != 0 ? 1 : 0;
  }
  void AddExact(double a) {
    v += a;
    errors.magnitude += std::abs(a);
    errors.terms += a != 0 ? 1 : 0;
  }
  void ScaleExactProducts() {
    errors.magnitude *= 2;
    if (kOperandUnit > kUnit) {
      errors.squares *= 4 * kOperandUnit * kOperandUnit;
      errors.signed_sum = 2 * kOperandUnit * v;
    }
  }
  void Merge(const Sum& other) {
    v += other.v;
    errors.magnitude += other.errors.magnitude;
    errors.squares += other.errors.squares;
    errors.signed_sum += other.errors.signed_sum;
    errors.terms += other.errors.terms;
  }
  Tracked Get() const { return Tracked(v, errors.Total(v)); }
};

// The first extreme; a NaN is extreme. `rival` is how near the runners-up come: where one is within the errors, the
// index is not sure.
template <class R>
struct Best {
  R best{};
  std::int64_t at = -1;
  void Offer(R x, std::int64_t i, bool largest) {
    const auto v = Plain(x), b = Plain(best);
    if (at < 0 || (b == b && (v != v || (largest ? v > b : v < b)))) {
      best = x;
      at = i;
    }
  }
  void Merge(const Best& other, bool largest) {
    const bool later = at >= 0 && other.at > at;  // of two that are equal the first counts
    if (other.at < 0) return;
    if (later) return Offer(other.best, other.at, largest);
    Best first = other;
    if (at >= 0) first.Offer(best, at, largest);
    *this = first;
  }
  std::int64_t At() const { return at; }
};
template <>
struct Best<Tracked> {
  Tracked best;
  std::int64_t at = -1;
  double sign = 1, rival = -kInf,
         rival_error = 0;  // rival: the largest v + 4 e of those that lost, in the direction of the extreme
  void Offer(Tracked x, std::int64_t i, bool largest) {
    sign = largest ? 1 : -1;
    if (at < 0 || (best.v == best.v && (x.v != x.v || sign * x.v > sign * best.v))) {
      if (at >= 0) Lost(best);
      best = x;
      at = i;
    } else {
      Lost(x);
    }
  }
  void Lost(Tracked x) {
    rival = std::max(rival, sign * x.v + 4 * x.e);
    rival_error = std::max(rival_error, x.e);
  }
  void Merge(const Best& other, bool largest) {
    if (other.at < 0) return;
    if (at < 0) {
      *this = other;
      return;
    }
    Best first = other.at > at ? *this : other;
    const Best& second = other.at > at ? other : *this;
    first.Offer(second.best, second.at, largest);
    first.rival = std::max(first.rival, second.rival);
    first.rival_error = std::max(first.rival_error, second.rival_error);
    *this = first;
  }
  Whole At() const {
    return Whole(at, best.v != best.v || best.e + rival_error == 0 || rival < sign * best.v - 4 * best.e);
  }
};
template <>
struct Best<Whole> {
  Whole best;
  std::int64_t at = -1;
  bool sure = true;
  void Offer(Whole x, std::int64_t i, bool largest) {
    sure = sure && x.sure;
    if (at < 0 || (largest ? x.v > best.v : x.v < best.v)) {
      best = x;
      at = i;
    }
    best.sure = sure;
  }
  void Merge(const Best& other, bool largest) {
    if (other.at < 0) return;
    const bool all = sure && other.sure;
    if (at < 0) {
      *this = other;
    } else {
      Best first = other.at > at ? *this : other;
      const Best& second = other.at > at ? other : *this;
      first.Offer(second.best, second.at, largest);
      *this = first;
    }
    sure = best.sure = all;
  }
  Whole At() const { return Whole(at, sure); }
};

// Whether terms that hang on rounding, and are not taken if it does nothing, can change nothing any more of what a fold
// has come to.
template <class T>
bool IsSettled(const T&) {
  return false;
}
inline bool IsSettled(const Sum<Tracked>& sum) { return !(sum.errors.squares < kInf); }
inline bool IsSettled(const Sum<Whole>& sum) { return !sum.total.sure; }
inline bool IsSettled(const Best<Whole>& best) { return !best.sure; }
inline bool IsSettled(Truth any) { return any.value || !any.sure; }

inline void Store(Tracked x, double* value, double* scale) {
  *value = x.v;
  *scale = x.e;
}
inline void Store(Truth x, double* value, double* scale) {
  *value = x.value;
  *scale = x.sure ? 0 : kInf;
}
inline void Store(Whole x, double* value, double* scale) {
  *value = static_cast<double>(x.v);
  *scale = x.sure ? 0 : kInf;
}
inline void Store(std::int64_t x, double* value, double* scale) {
  *value = static_cast<double>(x);
  *scale = 0;
}
template <class T>
void Store(Honest<T> x, double* value, double* scale) {
  *value = static_cast<double>(x.v);
  *scale = 0;
}
inline void Store(bool x, double* value, double* scale) {
  *value = x;
  *scale = 0;
}
inline void Store(double x, double* value, double* scale) {
  *value = x;
  *scale = 0;
}

#ifndef __CUDACC_RTC__
// The values of one stage, not initialized: the nest writes each before another stage reads it.
template <class T>
class Memory {
 public:
  explicit Memory(std::int64_t count)
      : data_(static_cast<T*>(::operator new(static_cast<std::size_t>(count) * sizeof(T) + 1))) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { Release(); }
  void Release() {
    ::operator delete(data_);
    data_ = nullptr;
  }
  T* data() const { return data_; }

 private:
  T* data_;
};

}  // namespace
#endif
