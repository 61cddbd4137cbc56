// The one source of chance of a run. Seeded, recorded with the run, and the same sequence on every machine and standard
// library (the standard's distributions are not): xoshiro256** with its state filled by SplitMix64. Not thread-safe;
// not for secrets.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hone {

class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) word = Mix(seed += 0x9e3779b97f4a7c15);
  }

  // Where it is in its sequence, and one that goes on from there.
  using State = std::array<std::uint64_t, 4>;
  const State& state() const { return state_; }
  explicit Random(const State& state) : state_(state) {}

  std::uint64_t Next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t carried = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= carried;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform over 0 ... count - 1; count > 0. Draws again where the remainder would favour small values.
  std::size_t Below(std::size_t count) {
    const std::uint64_t n = count;
    const std::uint64_t reject = (0 - n) % n;  // 2^64 mod n
    std::uint64_t draw = Next();
    while (draw < reject) draw = Next();
    return static_cast<std::size_t>(draw % n);
  }

  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }  // 0 <= x < 1

  // A well-stirred value of a word: for hashes that have to be the same everywhere.
  static std::uint64_t Mix(std::uint64_t word) {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
  }

 private:
  State state_{};
};

}  // namespace hone
