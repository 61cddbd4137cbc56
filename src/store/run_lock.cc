#include "store/run_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hone {
namespace {

struct flock OneByte(std::int64_t sequence) {
  struct flock range{};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = sequence;
  range.l_len = 1;
  return range;
}

}  // namespace

Result<bool> RunLock::Held(const std::string& store_path, std::int64_t sequence) {
  if (store_path == ":memory:") return false;
  const std::string path = store_path + "-lock";
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT) return false;
  const RunLock closes(descriptor);
  struct flock range = OneByte(sequence);
  if (descriptor < 0 || fcntl(descriptor, F_OFD_GETLK, &range) != 0) {
    return Fail(ErrorKind::kIo,
                fmt::format("cannot look at the locks of {}: {}; make it writable", path, std::strerror(errno)));
  }
  return range.l_type != F_UNLCK;
}

Result<std::optional<RunLock>> RunLock::Try(const std::string& store_path, std::int64_t sequence) {
  if (store_path == ":memory:") return RunLock(-1);
  const std::string path = store_path + "-lock";
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return Fail(ErrorKind::kIo,
                fmt::format("cannot open {}: {}; make its folder writable, or name another store with --store", path,
                            std::strerror(errno)));
  }
  RunLock lock(descriptor);
  struct flock range{};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = sequence;
  range.l_len = 1;
  if (fcntl(descriptor, F_OFD_SETLK, &range) == 0) return lock;
  if (errno == EAGAIN || errno == EACCES) return std::nullopt;
  return Fail(ErrorKind::kIo,
              fmt::format("cannot lock {}: {}; name a store on a local disk with --store", path, std::strerror(errno)));
}

RunLock& RunLock::operator=(RunLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

RunLock::~RunLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace hone
