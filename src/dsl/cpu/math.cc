// The coefficients are our own minimax fits (iteratively reweighted least squares in 40 digits). Those of Tanh and Erf
// were then moved by single bits until the worst result of the whole evaluation in floats was as small as it gets.
#include "dsl/cpu/math.h"

namespace hone::dsl {
namespace {

constexpr MathFunction kFunctions[] = {
    {.libm = "",
     .name = "Capped",
     .needs = {},
     .text =
         R"(// The smaller of two numbers that are not negative, as whole numbers: one instruction, and a NaN counts as large.
[[gnu::always_inline]] inline float Capped(float x, float most) {
  const unsigned a = __builtin_bit_cast(unsigned, x), b = __builtin_bit_cast(unsigned, most);
  return __builtin_bit_cast(float, a < b ? a : b);
}
)"},
    {.libm = "", .name = "Horner", .needs = {}, .text = R"(// The polynomial with these coefficients, the highest first.
template <class... Lower>
[[gnu::always_inline]] inline float Horner(float x, float highest, Lower... lower) {
  float p = highest;
  ((p = p * x + lower), ...);
  return p;
}
)"},
    {.libm = "",
     .name = "UpToOne",
     .needs = {},
     .text = R"(// A value of an odd function that tends to 1 and -1, which rounding may have carried past them.
[[gnu::always_inline]] inline float UpToOne(float y, float x) {
  return __builtin_fabsf(y) > 1.0f ? __builtin_copysignf(1.0f, x) : y;
}
)"},
    {.libm = "",
     .name = "ExpPart",
     .needs = {"Horner"},
     .text = R"(// e^x = 2^n * e^r, with r beside zero: gives e^r. ln 2 is in two parts: n times the first is exact.
[[gnu::always_inline]] inline float ExpPart(float x, float n) {
  const float r = x - n * 0.693145752f - n * 1.42860677e-6f;
  return Horner(r, 0.00138145965f, 0.00836871751f, 0.041668389f, 0.166665211f, 0.49999994f, 1.0f, 1.0f);
}
)"},
    {.libm = "exp",
     .name = "Exp",
     .needs = {"Horner", "ExpPart"},
     .text = R"(// e^x: adding 1.5 * 2^23 rounds to a whole n and leaves it in the last bits. Error below 0.9 ulp.
[[gnu::always_inline]] inline float Exp(float x) {
  const float shifted = x * 1.44269504f + 12582912.0f;
  const float p = ExpPart(x, shifted - 12582912.0f);
  const unsigned bits = __builtin_bit_cast(unsigned, p) + (__builtin_bit_cast(unsigned, shifted) << 23);
  const float normal = x < -87.33654f ? 0.0f : __builtin_bit_cast(float, bits);
  return x <= 88.72283f ? normal : x + __builtin_inff();  // a NaN is not below and stays one
}
)",
     .ulp = 0.9},
    {.libm = "",
     .name = "ExpDown",
     .needs = {"Horner", "ExpPart"},
     .text = R"(// e^x of an x that is not above zero, or a NaN: nothing overflows. Error below 0.9 ulp.
[[gnu::always_inline]] inline float ExpDown(float x) {
  const float shifted = x * 1.44269504f + 12583039.0f;  // 1.5 * 2^23 + 127: 2^n's exponent, as a float has it
  const float power = __builtin_bit_cast(float, __builtin_bit_cast(unsigned, shifted) << 23);
  return x < -87.33654f ? 0.0f : ExpPart(x, shifted - 12583039.0f) * power;
}
)"},
    {.libm = "expm1",
     .name = "Expm1",
     .needs = {"Horner"},
     .text = R"(// e^x - 1 = 2^n * (e^r - 1) + (2^n - 1), halved on the way so that n may be 128. Error below 1.6 ulp.
[[gnu::always_inline]] inline float Expm1(float x) {
  const float low = x < -18.0f ? -18.0f : x;
  const float c = low > 89.0f ? 89.0f : low;
  const float shifted = c * 1.44269504f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  const float r = c - n * 0.693145752f - n * 1.42860677e-6f;
  const float p = Horner(r, 0.0013882519f, 0.00836652052f, 0.0416672006f, 0.166665435f, 0.49999997f);
  const float q = r * r * p + r;
  const float half = __builtin_bit_cast(float, (__builtin_bit_cast(unsigned, shifted) + 126u) << 23);
  return __builtin_copysignf(2.0f * (half * q + (half - 0.5f)), x);
}
)",
     .ulp = 1.6},
    {.libm = "log1p",
     .name = "Log1p",
     .needs = {"Horner"},
     .text =
         R"(// log(1 + x) = e * ln 2 + log(1 + f), where 1 + x = 2^e * (1 + f) and f, in [-1/3, 1/3], is made of x itself: what
// 1 + x rounds away is not lost. Error below 2 ulp.
[[gnu::always_inline]] inline float Log1p(float x) {
  const unsigned power = (__builtin_bit_cast(unsigned, 1.0f + x) - 0x3f2aaaabu) & 0xff800000u;  // e, as an exponent
  const float scaled = __builtin_bit_cast(float, __builtin_bit_cast(unsigned, x) - power);
  const float f = scaled + (0.25f * __builtin_bit_cast(float, 0x40800000u - power) - 1.0f);
  const float p = Horner(f, 0.138201356f, -0.151221901f, 0.140423283f, -0.164723247f, 0.200079188f, -0.250042379f,
                         0.333332658f, -0.5f);
  const float y = static_cast<float>(static_cast<int>(power)) * 8.26295832e-8f + (f * f * p + f);  // ln 2 / 2^23
  const float end = x < -1.0f ? __builtin_nanf("") : x == -1.0f ? -__builtin_inff() : x;
  return (x > -1.0f) & (x < __builtin_inff()) ? __builtin_copysignf(y, x) : end;
}
)",
     .ulp = 2},
    {.libm = "tanh",
     .name = "Tanh",
     .needs = {"Capped", "Horner", "UpToOne"},
     .text = R"(// tanh(x) = x * P(x^2) / Q(x^2) up to 9.02, where it rounds to 1. Relative error below 3.3e-7.
[[gnu::always_inline]] inline float Tanh(float x) {
  const float t = Capped(x * x, 81.3604f);
  const float p = Horner(t, 1.33193776e-8f, 2.05836986e-5f, 0.00349404942f, 0.133797303f, 1.0f);
  const float q = Horner(t, 7.76213255e-7f, 0.00032831158f, 0.0258711316f, 0.467130452f, 1.0f);
  return UpToOne(x * p / q, x);
}
)",
     .ulp = 5.5},
    {.libm = "erf",
     .name = "Erf",
     .needs = {"Capped", "Horner", "UpToOne"},
     .text = R"(// erf(x) = x * P(x^2) / Q(x^2) up to 3.925, where it rounds to 1. Relative error below 3.3e-7.
[[gnu::always_inline]] inline float Erf(float x) {
  const float t = Capped(x * x, 15.405625f);
  const float p = Horner(t, 2.045972e-6f, 0.000284835784f, 0.00377246062f, 0.052769009f, 0.190592408f, 1.12837911f);
  const float q = Horner(t, 3.80467427e-5f, 0.00116382516f, 0.0149830244f, 0.11418207f, 0.502240837f, 1.0f);
  return UpToOne(x * p / q, x);
}
)",
     .ulp = 5.5},
};

}  // namespace

std::span<const MathFunction> MathFunctions() { return kFunctions; }

const MathFunction* FindMathFunction(std::string_view libm) {
  for (const auto& function : kFunctions) {
    if (!libm.empty() && function.libm == libm) return &function;
  }
  return nullptr;
}

const MathFunction* FindOwnFunction(std::string_view name) {
  for (const auto& function : kFunctions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

}  // namespace hone::dsl
