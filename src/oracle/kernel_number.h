// A number in which stages of one form differ, as a parameter of the kernel that they share, with what it takes to
// divide by it as fast as by a constant. Plain C++ without library headers: device code includes this file too, behind
// base/device_std.h.
#pragma once

#ifndef __CUDACC_RTC__
#include <cstdint>
#endif

namespace hone {

// A quotient of unsigned numbers of 32 bits is two additions and shifts behind the high half of a product (Granlund and
// Montgomery, "Division by invariant integers using multiplication", 1994, figure 4.1).
struct KernelNumber {
  std::int32_t value = 0;
  std::uint32_t factor = 0;
  std::int32_t first_shift = 0, second_shift = 0;
};

// `value` is not negative; by 0 nobody divides.
constexpr KernelNumber KernelNumberOf(std::int32_t value) {
  KernelNumber number;
  number.value = value;
  if (value == 0) return number;
  int bits = 0;  // 2^bits is the least power that is not less
  while ((std::uint64_t{1} << bits) < static_cast<std::uint64_t>(value)) ++bits;
  const std::uint64_t over = (std::uint64_t{1} << bits) - static_cast<std::uint64_t>(value);
  number.factor = static_cast<std::uint32_t>((over << 32) / static_cast<std::uint64_t>(value) + 1);
  number.first_shift = bits < 1 ? bits : 1;
  number.second_shift = bits < 1 ? 0 : bits - 1;
  return number;
}

// As by an int of the value.
inline std::uint32_t operator/(std::uint32_t a, const KernelNumber& by) {
  const std::uint32_t high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(by.factor) * a >> 32);
  return (high + ((a - high) >> by.first_shift)) >> by.second_shift;
}
inline std::uint32_t operator%(std::uint32_t a, const KernelNumber& by) {
  return a - a / by * static_cast<std::uint32_t>(by.value);
}
inline std::int64_t operator/(std::int64_t a, const KernelNumber& by) {
  if (static_cast<std::uint64_t>(a) >> 32 == 0) return static_cast<std::uint32_t>(a) / by;
  return a / by.value;
}
inline std::int64_t operator%(std::int64_t a, const KernelNumber& by) { return a - a / by * by.value; }

template <int count>
struct KernelNumbers {
  KernelNumber of[count];
};

}  // namespace hone
