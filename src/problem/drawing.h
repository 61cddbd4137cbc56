// How the elements of a tensor are drawn: bit for bit the same on the host and on a device. An element depends on the
// drawing and its own index only. Plain C++ without library headers, plain arithmetic without fused multiply-adds (the
// files that include this say so to their compilers): device code includes this file too, behind base/device_std.h,
// base/philox.h and base/small_float.h.
#pragma once

#ifndef __CUDACC_RTC__
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/philox.h"
#include "base/small_float.h"
#endif

namespace hone {

struct Drawing {
  enum class Kind : std::int32_t { kUniform, kNormal, kConstant, kWhole };
  Kind kind = Kind::kConstant;
  std::int32_t real = 0;      // the tensor is of a real type
  std::int32_t fine = 0;      // of 64 bits: uniform draws have 53
  std::int32_t outliers = 0;  // one in 10^4, `chosen`, and all from `tail` on are a thousand times larger
  std::int32_t widen = 0;     // if not 0: a factor of each from 2^-widen to 2^widen, in a second rounding
  std::uint64_t seed = 0, stream = 0;
  std::int64_t chosen = 0, tail = 0;
  double low = 0, high = 0;        // kUniform; kConstant: low
  double mean = 0, deviation = 0;  // kNormal
  std::int64_t least = 0;          // kWhole: [least, least + span)
  std::uint64_t span = 0;
  double scale = 1;
};

namespace drawing {

constexpr double kTwoTo32 = 4294967296.0;
constexpr std::uint64_t kSecondary = 1ull << 63;  // counters of the outlier lottery, apart from those of the values
constexpr std::uint32_t kOneInTenThousand = 429'497u;  // 2^32 / 10^4
constexpr double kOutlierFactor = 1000;
constexpr std::uint64_t kWidenStreams = 4096;  // streams of the wide factors, apart from those of the values

inline std::uint64_t BitsOf(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline double FromBits(std::uint64_t bits) {
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// How an element of each type is stored: from a double, and back.
template <class Float>
struct Small {  // Float: a hone::SmallFloat
  Float value;
  static Small From(double real) { return {Float::From(real)}; }
  double Value() const { return static_cast<double>(static_cast<float>(value)); }
};
template <class T>
struct Plain {
  T value;
  static Plain From(double real) {
    // Out of range is undefined in C++; a clamp is what a person would expect of 1e30 in an int.
    if (std::isnan(real)) return {0};
    const double low = static_cast<double>(std::numeric_limits<T>::min()),
                 high = static_cast<double>(std::numeric_limits<T>::max());
    if (real >= high) return {std::numeric_limits<T>::max()};
    return {static_cast<T>(real < low ? low : real)};
  }
  double Value() const { return static_cast<double>(value); }
};
template <>
inline Plain<double> Plain<double>::From(double real) {
  return {real};
}
template <>
inline Plain<float> Plain<float>::From(double real) {
  return {static_cast<float>(real)};
}
template <>
inline Plain<bool> Plain<bool>::From(double real) {
  return {real != 0};
}

template <class Element>
Element FromWhole(std::int64_t whole) {
  return Element::From(static_cast<double>(whole));
}
template <>
inline Plain<std::int64_t> FromWhole(std::int64_t whole) {
  return {whole};
}

// The next element towards minus infinity: for a uniform draw that was rounded up onto its excluded bound.
template <class Float>
Small<Float> Below(Small<Float> element) {
  const unsigned bits = element.value.bits;
  const unsigned next = (bits & ~Float::kSign) == 0 ? Float::kSign + 1 : bits & Float::kSign ? bits + 1 : bits - 1;
  return {Float::OfBits(static_cast<typename Float::Bits>(next))};
}
inline Plain<float> Below(Plain<float> element) {
  return {std::nextafter(element.value, -std::numeric_limits<float>::infinity())};
}
inline Plain<double> Below(Plain<double> element) {
  return {std::nextafter(element.value, -std::numeric_limits<double>::infinity())};
}
template <class T>
Plain<T> Below(Plain<T> element) {
  return element;
}

// The natural logarithm of 0 < x <= 1, and sine and cosine of a 2^32th of a turn, good to some 1e-16. Not the
// library's, which is another on every machine.
inline double LogOfUnit(double x) {
  const std::uint64_t bits = BitsOf(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = FromBits((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);  // 1 <= m < 2
  if (m > 1.4142135623730951) {
    m = m / 2;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1), z = s * s;  // log m = 2 (s + s^3 / 3 + ...), z < 0.03
  double sum = 0;
  for (int k = 21; k > 0; k -= 2) sum = sum * z + 1.0 / k;
  return exponent * 0.6931471805599453 + 2 * s * sum;
}

inline void SinCosOfTurn(std::uint32_t turn, double& sine, double& cosine) {
  const std::uint32_t quadrant = (turn + (1u << 29)) >> 30;  // the nearest
  const double x = static_cast<double>(static_cast<std::int32_t>(turn - (quadrant << 30))) * 1.4629180792671596e-09;
  const double z = x * x;  // |x| <= pi / 4
  double s = 1, c = 1;
  for (int k = 18; k > 0; k -= 2) s = 1 - s * z * (1.0 / (k * (k + 1)));
  for (int k = 18; k > 0; k -= 2) c = 1 - c * z * (1.0 / (k * (k - 1)));
  s = s * x;
  const bool swap = (quadrant & 1) != 0;
  sine = (quadrant & 2) != 0 ? -(swap ? c : s) : swap ? c : s;
  cosine = ((quadrant + 1) & 2) != 0 ? -(swap ? s : c) : swap ? s : c;
}

// Reals of elements [4 * block, 4 * block + 4).
inline void DrawReals(const Drawing& d, std::uint64_t block, double* out) {
  if (d.kind == Drawing::Kind::kConstant) {
    for (int i = 0; i < 4; ++i) out[i] = d.low;
  } else if (d.kind == Drawing::Kind::kNormal) {
    const PhiloxWords words = Philox(d.seed, d.stream, block);
    for (int i = 0; i < 4; i += 2) {  // Box and Muller: two uniforms give two normals
      const double radius = std::sqrt(-2 * LogOfUnit((words.word[i] + 1.0) / kTwoTo32));
      double sine = 0, cosine = 0;
      SinCosOfTurn(words.word[i + 1], sine, cosine);
      out[i] = d.mean + d.deviation * (radius * cosine);
      out[i + 1] = d.mean + d.deviation * (radius * sine);
    }
  } else if (d.fine != 0) {  // 53 bits each: f64 shows the steps of 2^-32
    for (int half = 0; half < 2; ++half) {
      const PhiloxWords words = Philox(d.seed, d.stream, 2 * block + static_cast<std::uint64_t>(half));
      for (int i = 0; i < 2; ++i) {
        const std::uint64_t bits = (std::uint64_t{words.word[2 * i + 1]} << 32 | words.word[2 * i]) >> 11;
        out[2 * half + i] = d.low + (d.high - d.low) * (static_cast<double>(bits) * 0x1p-53);
      }
    }
  } else {
    const PhiloxWords words = Philox(d.seed, d.stream, block);
    for (int i = 0; i < 4; ++i) out[i] = d.low + (d.high - d.low) * (words.word[i] / kTwoTo32);
  }
}

// Whole number `index` of any 64-bit range, exactly.
inline std::int64_t DrawWhole(const Drawing& d, std::uint64_t index) {
  std::uint64_t offset = 0;
  if (d.span <= (1ull << 32)) {  // by multiplication: the bias is at most span / 2^32
    offset = (Philox(d.seed, d.stream, index / 4).word[index % 4] * d.span) >> 32;
  } else {
    const PhiloxWords words = Philox(d.seed, d.stream, index / 2);
    offset = (std::uint64_t{words.word[2 * (index % 2) + 1]} << 32 | words.word[2 * (index % 2)]) % d.span;
  }
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(d.least) + offset);
}

inline double Varied(const Drawing& d, double value, std::uint64_t index) {
  value *= d.scale;
  if (d.outliers == 0) return value;
  const bool wins = static_cast<std::int64_t>(index) == d.chosen || static_cast<std::int64_t>(index) >= d.tail ||
                    Philox(d.seed, d.stream, kSecondary | index / 4).word[index % 4] < kOneInTenThousand;
  return wins ? value * kOutlierFactor : value;
}

template <class Element>
Element Widened(const Drawing& d, Element element, std::uint64_t index) {
  if (d.widen == 0) return element;
  const std::uint32_t word = Philox(d.seed, d.stream + kWidenStreams, index).word[0];
  const int exponent = static_cast<int>(word % static_cast<std::uint32_t>(2 * d.widen + 1)) - d.widen;
  return Element::From(std::ldexp(element.Value(), exponent));
}

// Elements [4 * block, 4 * block + 4).
template <class Element>
void DrawFour(const Drawing& d, std::uint64_t block, Element* out) {
  double reals[4] = {};
  if (d.kind != Drawing::Kind::kWhole) DrawReals(d, block, reals);
  const bool own = d.scale == 1 && d.outliers == 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t index = 4 * block + static_cast<std::uint64_t>(i);
    if (d.kind == Drawing::Kind::kWhole) {
      const std::int64_t whole = DrawWhole(d, index);
      out[i] = d.real != 0 ? Element::From(Varied(d, static_cast<double>(whole), index)) : FromWhole<Element>(whole);
    } else {
      out[i] = Element::From(own ? reals[i] : Varied(d, reals[i], index));
      if (d.kind == Drawing::Kind::kUniform && own && out[i].Value() >= d.high) out[i] = Below(Element::From(d.high));
    }
    out[i] = Widened(d, out[i], index);
  }
}

}  // namespace drawing
}  // namespace hone
