// Inputs that differ in the last bit: what results look like from there says how far rounding alone takes them apart.
// Of those of 16 bits one element in four does, at random: a step of theirs is as large as what storing results rounds
// by, and all of them together would be off by more than that. Plain C++ without library headers: device code includes
// this file too, behind base/device_std.h and base/philox.h.
#pragma once

#ifndef __CUDACC_RTC__
#include <cstdint>

#include "base/philox.h"
#endif

namespace hone {

inline constexpr int kNudgedRuns = 3;

// The bits of a float, of which element `index` of tensor `tensor` is a neighbour, up or down by chance, another one in
// each run; zeros stay, and so does what is not finite.
inline std::uint32_t Nudged(std::uint32_t bits, int run, std::uint64_t tensor, std::uint64_t index) {
  constexpr std::uint64_t kSeed = 0x6e75646765;  // any other would do
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude == 0 || magnitude >= 0x7f7fffffu) return bits;
  const std::uint64_t stream = static_cast<std::uint64_t>(run) << 32 | tensor;
  const std::uint32_t word = Philox(kSeed, stream, index / 128).word[index / 32 % 4];
  return (word >> (index % 32) & 1) != 0 ? bits + 1 : bits - 1;
}
// The same of a number of 16 bits, whose type has its infinity at `infinity`.
inline std::uint16_t Nudged(std::uint16_t bits, std::uint16_t infinity, int run, std::uint64_t tensor,
                            std::uint64_t index) {
  constexpr std::uint64_t kSeed = 0x6e75646768;
  const unsigned magnitude = bits & 0x7fffu;
  if (magnitude == 0 || magnitude + 1 >= infinity) return bits;
  const std::uint64_t stream = static_cast<std::uint64_t>(run) << 32 | tensor;
  const unsigned chance = Philox(kSeed, stream, index / 32).word[index / 8 % 4] >> (index % 8 * 4) & 15;
  return static_cast<std::uint16_t>(chance >= 4 ? bits : chance % 2 != 0 ? bits + 1 : bits - 1);
}

}  // namespace hone
