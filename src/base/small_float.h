// A real of fewer bits than a float has: a sign, `kExponent` and `kMantissa` bits, laid out as IEEE 754 does. With
// kInfinity the largest exponent is that of infinities and NaNs; without, it is one of numbers, all ones but for the
// sign are the NaN, and what is too large, infinities too, becomes the largest number: as PyTorch 2.13 has
// float8_e4m3fn. A conversion rounds once, to nearest, ties to even; loops over it are vectors, on any processor.
//
// The program, generated nests, generated modules and device code share it: plain C++ without library headers.
#pragma once

namespace hone {

// How a real lies in memory.
template <class Real>
struct RealBits;
template <>
struct RealBits<float> {
  using Word = unsigned;
  static constexpr int kMantissa = 23, kBias = 127;
};
template <>
struct RealBits<double> {
  using Word = unsigned long long;
  static constexpr int kMantissa = 52, kBias = 1023;
};

constexpr double PowerOfTwo(int exponent) {
  return __builtin_bit_cast(double, static_cast<unsigned long long>(1023 + exponent) << 52);
}

template <bool kTwoBytes>
struct SmallBits {
  using Type = unsigned char;
};
template <>
struct SmallBits<true> {
  using Type = unsigned short;
};

template <int kExponent, int kMantissa, bool kInfinity = true>
struct SmallFloat {
  using Bits = typename SmallBits<(kExponent + kMantissa > 7)>::Type;
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;
  static constexpr unsigned kSign = 1u << (kExponent + kMantissa);
  // What all that is too large becomes: the infinity, or the largest number where there is none.
  static constexpr unsigned kTop = kInfinity ? ((1u << kExponent) - 1) << kMantissa : kSign - 2;
  static constexpr unsigned kNan = kInfinity ? kTop | 1u << (kMantissa - 1) : kSign - 1;
  static constexpr bool kInfinite = kInfinity;
  static constexpr double kRoundoff = 0.5 / (1 << kMantissa);
  static constexpr double kLargest =
      kInfinity ? (2 - 2 * kRoundoff) * PowerOfTwo(kBias) : (2 - 4 * kRoundoff) * PowerOfTwo(kBias + 1);
  static constexpr double kStep = PowerOfTwo(1 - kBias - kMantissa);  // between the smallest numbers

  Bits bits;

  SmallFloat() = default;
  SmallFloat(float x) : bits(Rounded(x)) {}  // NOLINT: it converts as the types of the language do
  SmallFloat& operator=(float x) {           // not by way of a copy, which would keep loops from being vectors
    bits = Rounded(x);
    return *this;
  }
  operator float() const {  // NOLINT
    const unsigned magnitude = bits & (kSign - 1);
    unsigned word = magnitude << (23 - kMantissa);
    if constexpr (kBias < 127) {
      // The right mantissa under an exponent that is too small by the difference of the biases, subnormal or not.
      constexpr float kScale = __builtin_bit_cast(float, static_cast<unsigned>(254 - kBias) << 23);
      word = __builtin_bit_cast(unsigned, __builtin_bit_cast(float, word) * kScale);
      if constexpr (kInfinity)
        word = magnitude >= kTop ? 0x7f800000u | magnitude << (23 - kMantissa) : word;
      else
        word = magnitude == kNan ? 0x7fc00000u : word;
    }
    return __builtin_bit_cast(float, word | static_cast<unsigned>(bits & kSign) << (31 - kExponent - kMantissa));
  }

  // Of a float or a double, rounded once.
  template <class Real>
  static SmallFloat From(Real x) {
    return OfBits(Rounded(x));
  }
  static SmallFloat OfBits(Bits bits) {
    SmallFloat made;
    made.bits = bits;
    return made;
  }

 private:
  template <class Real>
  static Bits Rounded(Real x) {
    using Wide = RealBits<Real>;
    using Word = typename Wide::Word;
    constexpr int kShift = Wide::kMantissa - kMantissa;
    constexpr Word kOne = 1;
    const Word word = __builtin_bit_cast(Word, x), magnitude = word & (~Word{0} >> 1);
    // Another exponent, and rounding by a carry, which may go into the exponent, up to the infinity.
    constexpr Word kRebias = static_cast<Word>(Wide::kBias - kBias) << Wide::kMantissa;
    Word rounded = (magnitude - kRebias + ((kOne << (kShift - 1)) - 1) + (magnitude >> kShift & 1)) >> kShift;
    rounded = rounded > kTop ? kTop : rounded;
    if constexpr (kBias < Wide::kBias) {
      // Below the smallest normal number: the sum with one whose last bit is our smallest step is rounded as we want.
      constexpr Word kAlign = static_cast<Word>(1 - kBias + kShift + Wide::kBias) << Wide::kMantissa;
      const Real sum = __builtin_bit_cast(Real, magnitude) + __builtin_bit_cast(Real, kAlign);
      const Word tiny = __builtin_bit_cast(Word, sum) - kAlign;
      rounded = magnitude < kRebias + (kOne << Wide::kMantissa) ? tiny : rounded;
    }
    rounded = x != x ? kNan : rounded;
    const Word sign = word >> (sizeof(Word) * 8 - 1) << (kExponent + kMantissa);
    return static_cast<Bits>(sign | rounded);
  }
};

}  // namespace hone
