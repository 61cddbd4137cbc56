#include "base/secret_random.h"

#include <openssl/evp.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace hone {

void SecretRandom::Free::operator()(evp_cipher_ctx_st* cipher) const { EVP_CIPHER_CTX_free(cipher); }

SecretRandom::Key SecretRandom::NewKey() {
  Key key;
  HONE_CHECK(getrandom(key.data(), key.size(), 0) == static_cast<ssize_t>(key.size()),
             "the kernel gives no random key");
  return key;
}

SecretRandom::SecretRandom(const Key& key, std::uint64_t stream) : cipher_(EVP_CIPHER_CTX_new()) {
  unsigned char start[16] = {};  // OpenSSL's layout: the block counter, then the nonce, which is our stream
  for (int i = 0; i < 8; ++i) start[8 + i] = static_cast<unsigned char>(stream >> (8 * i));
  HONE_CHECK(cipher_ && EVP_EncryptInit_ex(cipher_.get(), EVP_chacha20(), nullptr, key.data(), start) == 1,
             "OpenSSL gives no ChaCha20");
}

SecretRandom::result_type SecretRandom::operator()() {
  if (next_ == ready_.size()) {
    Fill(ready_.data(), sizeof ready_);
    next_ = 0;
  }
  return ready_[next_++];
}

void SecretRandom::Fill(void* to, std::size_t bytes) {
  std::memset(to, 0, bytes);  // the key stream is what zeros become
  auto* at = static_cast<unsigned char*>(to);
  while (bytes > 0) {
    const int piece = static_cast<int>(std::min<std::size_t>(bytes, 1 << 30));
    int made = 0;
    HONE_CHECK(EVP_EncryptUpdate(cipher_.get(), at, &made, at, piece) == 1 && made == piece, "ChaCha20 failed");
    at += made;
    bytes -= static_cast<std::size_t>(made);
  }
}

}  // namespace hone
