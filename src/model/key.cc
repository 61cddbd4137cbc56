#include "model/key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace hone {
namespace {

constexpr std::size_t kLongestKey = 8192, kShortestBlotted = 6;  // bytes

}  // namespace

Result<Key> Key::Create(std::string secret, const std::string& where) {
  const auto last = secret.find_last_not_of(" \t\r\n");
  secret.resize(last == secret.npos ? 0 : last + 1);
  secret.erase(0, std::min(secret.find_first_not_of(" \t\r\n"), secret.size()));
  // Whatever else there is would end the header that it stands in.
  if (secret.empty() || !std::all_of(secret.begin(), secret.end(), [](char c) { return c > ' ' && c < 0x7f; }))
    return Fail(ErrorKind::kUsage, fmt::format("{} holds no key: one word of printable ASCII", where));
  Key key;
  key.secret_ = std::move(secret);
  return key;
}

Result<Key> Key::FromEnvironment(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  if (value == nullptr || *value == '\0')
    return Fail(ErrorKind::kUsage, fmt::format("the environment variable {} is not set", variable));
  return Create(value, fmt::format("the environment variable {}", variable));
}

Result<Key> Key::FromFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0)
    return Fail(ErrorKind::kUsage, fmt::format("cannot read the key file {}: {}", path, std::strerror(errno)));
  struct stat status{};
  const bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  std::string text(kLongestKey, '\0');
  const auto got = regular ? read(file, text.data(), text.size()) : -1;
  close(file);
  if (!regular || got < 0) return Fail(ErrorKind::kUsage, fmt::format("the key file {} is no file", path));
  if ((status.st_mode & 077) != 0)
    return Fail(ErrorKind::kUsage, fmt::format("others can read the key file {}; chmod 600 it", path));
  text.resize(static_cast<std::size_t>(got));
  return Create(std::move(text), fmt::format("the key file {}", path));
}

std::string Key::Blot(std::string text) const {
  if (secret_.size() < kShortestBlotted) return text;
  for (std::size_t at = text.find(secret_); at != text.npos; at = text.find(secret_, at)) {
    text.replace(at, secret_.size(), "(key)");
  }
  return text;
}

}  // namespace hone
