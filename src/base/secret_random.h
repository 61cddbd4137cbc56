// Random numbers that nobody can foretell, whoever knows all that came before: ChaCha20's key stream (RFC 8439) under a
// key from the kernel. The same key and stream give the same numbers again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

struct evp_cipher_ctx_st;  // OpenSSL's

namespace hone {

// Not thread-safe. Movable; a UniformRandomBitGenerator.
class SecretRandom {
 public:
  using Key = std::array<std::uint8_t, 32>;
  static Key NewKey();

  // The streams of a key have nothing to do with each other.
  SecretRandom(const Key& key, std::uint64_t stream);

  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()();
  std::uint64_t Below(std::uint64_t bound) { return (*this)() % bound; }  // the bias is at most bound / 2^64
  bool OneIn(std::uint64_t count) { return Below(count) == 0; }
  void Fill(void* to, std::size_t bytes);

 private:
  struct Free {
    void operator()(evp_cipher_ctx_st* cipher) const;
  };
  std::unique_ptr<evp_cipher_ctx_st, Free> cipher_;
  std::array<std::uint64_t, 64> ready_{};
  std::size_t next_ = 64;  // of ready_
};

}  // namespace hone
