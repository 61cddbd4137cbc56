// Philox4x32-10: a random number generator without state (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011). A key and a counter give four random 32-bit words, so that any element of any tensor can be
// drawn on its own, on any thread, in any order. Plain C++ without library headers: device code includes this file too.
#pragma once

#ifndef __CUDACC_RTC__
#include <cstdint>
#endif

#ifdef __CUDACC__
#define HONE_PHILOX_INLINE __host__ __device__ inline
#else
#define HONE_PHILOX_INLINE inline
#endif

namespace hone {

struct PhiloxWords {
  std::uint32_t word[4];
};

// The words at `counter` (low and high half) of the sequence named by `seed` and `stream`.
HONE_PHILOX_INLINE PhiloxWords Philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  std::uint32_t c0 = static_cast<std::uint32_t>(counter), c1 = static_cast<std::uint32_t>(counter >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(stream), c3 = static_cast<std::uint32_t>(stream >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * c0;
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * c2;
    const std::uint32_t next0 = static_cast<std::uint32_t>(b >> 32) ^ c1 ^ k0;
    const std::uint32_t next2 = static_cast<std::uint32_t>(a >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(b);
    c3 = static_cast<std::uint32_t>(a);
    c0 = next0;
    c2 = next2;
    k0 += 0x9E3779B9u;  // the golden ratio and sqrt(3) - 1: Weyl sequences of the paper's key schedule
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace hone
