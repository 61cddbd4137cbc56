// What device code that NVRTC compiles needs of the C++ library: it has none. Embedded as text before the headers that
// host and device share (base/philox.h, problem/drawing.h, oracle/element_check.h, oracle/generated_code/numbers.h);
// the host includes the library itself. NVRTC declares the functions of <math.h> on its own, those of float under their
// C names.
#pragma once

#ifdef __CUDACC_RTC__

namespace std {

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned;
using uint64_t = unsigned long long;
using size_t = decltype(sizeof 0);

template <class T>
struct numeric_limits;
template <>
struct numeric_limits<double> {
  static constexpr double infinity() { return __builtin_bit_cast(double, 0x7ff0000000000000ull); }
  static constexpr double quiet_NaN() { return __builtin_bit_cast(double, 0x7ff8000000000000ull); }
  static constexpr double epsilon() { return 0x1p-52; }
};
template <>
struct numeric_limits<float> {
  static constexpr float infinity() { return __builtin_bit_cast(float, 0x7f800000u); }
  static constexpr float quiet_NaN() { return __builtin_bit_cast(float, 0x7fc00000u); }
  static constexpr float epsilon() { return 0x1p-23f; }
};
#define HONE_WHOLE_LIMITS(TYPE, LEAST, MOST)      \
  template <>                                     \
  struct numeric_limits<TYPE> {                   \
    static constexpr TYPE min() { return LEAST; } \
    static constexpr TYPE max() { return MOST; }  \
  };
HONE_WHOLE_LIMITS(int8_t, -128, 127)
HONE_WHOLE_LIMITS(uint8_t, 0, 255)
HONE_WHOLE_LIMITS(int16_t, -32768, 32767)
HONE_WHOLE_LIMITS(int32_t, -2147483647 - 1, 2147483647)
HONE_WHOLE_LIMITS(int64_t, -9223372036854775807ll - 1, 9223372036854775807ll)
#undef HONE_WHOLE_LIMITS

template <class T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}

inline float abs(float x) { return ::fabsf(x); }
inline double abs(double x) { return ::fabs(x); }
inline bool isnan(double x) { return x != x; }
inline bool isinf(double x) { return ::fabs(x) == numeric_limits<double>::infinity(); }
inline bool isfinite(double x) { return ::fabs(x) < numeric_limits<double>::infinity(); }

#define HONE_FUNCTION(NAME)                           \
  inline float NAME(float x) { return ::NAME##f(x); } \
  inline double NAME(double x) { return ::NAME(x); }
HONE_FUNCTION(exp)
HONE_FUNCTION(expm1)
HONE_FUNCTION(log)
HONE_FUNCTION(log1p)
HONE_FUNCTION(log2)
HONE_FUNCTION(log10)
HONE_FUNCTION(sqrt)
HONE_FUNCTION(sin)
HONE_FUNCTION(cos)
HONE_FUNCTION(tan)
HONE_FUNCTION(asin)
HONE_FUNCTION(acos)
HONE_FUNCTION(atan)
HONE_FUNCTION(sinh)
HONE_FUNCTION(cosh)
HONE_FUNCTION(tanh)
HONE_FUNCTION(asinh)
HONE_FUNCTION(acosh)
HONE_FUNCTION(atanh)
HONE_FUNCTION(erf)
HONE_FUNCTION(erfc)
HONE_FUNCTION(floor)
HONE_FUNCTION(ceil)
HONE_FUNCTION(trunc)
HONE_FUNCTION(nearbyint)
#undef HONE_FUNCTION

#define HONE_FUNCTION(NAME)                                       \
  inline float NAME(float x, float y) { return ::NAME##f(x, y); } \
  inline double NAME(double x, double y) { return ::NAME(x, y); }
HONE_FUNCTION(pow)
HONE_FUNCTION(atan2)
HONE_FUNCTION(fmod)
HONE_FUNCTION(hypot)
HONE_FUNCTION(copysign)
HONE_FUNCTION(nextafter)
#undef HONE_FUNCTION

inline double ldexp(double x, int exponent) { return ::ldexp(x, exponent); }
inline int ilogb(double x) { return ::ilogb(x); }
inline void* memcpy(void* to, const void* from, size_t bytes) { return ::memcpy(to, from, bytes); }

}  // namespace std

#endif
