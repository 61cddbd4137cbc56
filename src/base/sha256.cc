#include "base/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "base/check.h"

namespace hone {
namespace {

class Hash {
 public:
  Hash() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    HONE_CHECK(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1, "OpenSSL gives no SHA-256");
  }
  void Add(const void* bytes, std::size_t count) {
    HONE_CHECK(EVP_DigestUpdate(context_.get(), bytes, count) == 1, "SHA-256 failed");
  }
  std::string Hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    HONE_CHECK(EVP_DigestFinal_ex(context_.get(), digest, &length) == 1, "SHA-256 failed");
    constexpr char kDigits[] = "0123456789abcdef";
    std::string hex;
    for (unsigned i = 0; i < length; ++i) {
      hex += kDigits[digest[i] >> 4];
      hex += kDigits[digest[i] & 15];
    }
    return hex;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string Sha256(std::string_view bytes) {
  Hash hash;
  hash.Add(bytes.data(), bytes.size());
  return hash.Hex();
}

Result<std::string> Sha256OfFile(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) {
    return Fail(errno == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo,
                fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  Hash hash;
  std::vector<char> piece(std::size_t{1} << 20);
  while (const auto got = std::fread(piece.data(), 1, piece.size(), file.get())) hash.Add(piece.data(), got);
  if (std::ferror(file.get()))
    return Fail(ErrorKind::kIo, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  return hash.Hex();
}

}  // namespace hone
