#include "target/build_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/files.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDefaultLimit = std::int64_t{2} << 30;
constexpr std::string_view kMagic = "hone build ";
constexpr std::time_t kRecentSeconds = 60;       // not evicted
constexpr std::time_t kAbandonedSeconds = 3600;  // a build folder this old belongs to nobody

std::int64_t Limit() {
  const char* text = std::getenv("HONE_CACHE_MAX");
  if (text == nullptr || *text == '\0') return kDefaultLimit;
  std::int64_t value = 0;
  const char* last = text + std::strlen(text);
  const auto [end, error] = std::from_chars(text, last, value);
  if (error != std::errc() || value < 0) return kDefaultLimit;
  const std::string_view suffix(end, static_cast<std::size_t>(last - end));
  const int shift = suffix == "K" ? 10 : suffix == "M" ? 20 : suffix == "G" ? 30 : 0;
  return std::min(value, INT64_MAX >> (shift + 1)) << shift;
}

// Bytes on the disk, which for a small file is more than its length.
std::int64_t DiskBytes(const struct stat& info) { return static_cast<std::int64_t>(info.st_blocks) * 512; }

}  // namespace

Result<FileLock> FileLock::Lock(const std::string& path, int operation) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return Fail(ErrorKind::kIo, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  FileLock lock(fd);
  while (flock(fd, operation) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return Fail(ErrorKind::kTimeout, path + " is locked");
    return Fail(ErrorKind::kIo, fmt::format("cannot lock {}: {}", path, std::strerror(errno)));
  }
  return lock;
}

Result<FileLock> FileLock::Acquire(const std::string& path) { return Lock(path, LOCK_EX); }

Result<FileLock> FileLock::AcquireShared(const std::string& path) { return Lock(path, LOCK_SH); }

Result<std::optional<FileLock>> FileLock::TryAcquire(const std::string& path) {
  auto lock = Lock(path, LOCK_EX | LOCK_NB);
  if (lock) return std::move(*lock);
  if (lock.error().kind == ErrorKind::kTimeout) return std::nullopt;
  return tl::unexpected<Error>(std::move(lock).error());
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  // Said explicitly: a child that another thread is just starting may hold a copy of the descriptor for a moment
  // longer.
  flock(descriptor_, LOCK_UN);
  close(descriptor_);
}

Result<BuildCache> BuildCache::Open() {
  std::error_code error;
  const auto folder = fs::absolute(CacheDirectory() + "/builds", error);  // the compiler runs elsewhere
  if (error) return Fail(ErrorKind::kIo, fmt::format("cannot tell where {} is: {}", CacheDirectory(), error.message()));
  BuildCache cache(folder.string(), Limit());
  for (const char* sub : {"/build", "/locks"}) {
    const std::string path = cache.folder_ + sub;
    const auto made = MakeDirectories(path);
    if (made && access(path.c_str(), W_OK) == 0) continue;
    return Fail(ErrorKind::kIo, fmt::format("{}; set HONE_CACHE to a folder that can be written to",
                                            made ? fmt::format("cannot write to {}: {}", path, std::strerror(errno))
                                                 : made.error().message));
  }
  return cache;
}

std::string BuildCache::EntryPath(std::string_view key, std::string_view suffix) const {
  return fmt::format("{}/{}/{}{}", folder_, key.substr(0, 2), key, suffix);
}

std::optional<CacheEntry> BuildCache::Find(std::string_view key) const {
  const auto log_path = EntryPath(key, ".log");
  auto text = ReadFile(log_path);
  if (!text || !text->starts_with(kMagic)) return std::nullopt;
  const auto newline = text->find('\n');
  if (newline == std::string::npos) return std::nullopt;
  std::int64_t bytes = -1;
  std::from_chars(text->data() + kMagic.size(), text->data() + newline, bytes);
  CacheEntry entry;
  if (bytes != 0) {
    entry.file = EntryPath(key, ".built");
    struct stat info{};
    if (stat(entry.file.c_str(), &info) != 0 || info.st_size != bytes) return std::nullopt;
  }
  entry.log = text->substr(newline + 1);
  utimensat(AT_FDCWD, log_path.c_str(), nullptr, 0);
  return entry;
}

Result<FileLock> BuildCache::Lock(std::string_view key) const {
  return FileLock::Acquire(fmt::format("{}/locks/{}", folder_, key.substr(0, 3)));
}

Result<std::string> BuildCache::MakeBuildFolder() const {
  auto path = folder_ + "/build/XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return Fail(ErrorKind::kIo, fmt::format("cannot make a folder in {}/build: {}", folder_, std::strerror(errno)));
  }
  return path;
}

Result<CacheEntry> BuildCache::Keep(std::string_view key, const std::string& built, std::string log) const {
  CacheEntry entry;
  HONE_TRY(MakeDirectories(fmt::format("{}/{}", folder_, key.substr(0, 2))));
  std::int64_t added = 0, bytes = 0;
  struct stat info{};
  if (!built.empty()) {
    if (lstat(built.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) {
      return Fail(ErrorKind::kIo, fmt::format("{} is not a built file", built));
    }
    bytes = info.st_size;
    added += DiskBytes(info);
    entry.file = EntryPath(key, ".built");
    if (rename(built.c_str(), entry.file.c_str()) != 0) {
      return Fail(ErrorKind::kIo, fmt::format("cannot write {}: {}", entry.file, std::strerror(errno)));
    }
  }
  const auto log_path = EntryPath(key, ".log");
  const auto folder = HONE_TRY(MakeBuildFolder());
  const auto draft = folder + "/log";
  const int fd = open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  const auto text = fmt::format("{}{}\n{}", kMagic, bytes, log);
  const bool written =
      fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fstat(fd, &info) == 0;
  if (fd >= 0) close(fd);
  const bool kept = written && rename(draft.c_str(), log_path.c_str()) == 0;
  const int failure = errno;
  unlink(draft.c_str());
  rmdir(folder.c_str());
  if (!kept) return Fail(ErrorKind::kIo, fmt::format("cannot write {}: {}", log_path, std::strerror(failure)));
  entry.log = std::move(log);
  Account(added + DiskBytes(info));
  return entry;
}

Result<CacheEntry> BuildCache::KeepBytes(std::string_view key, std::string_view built, std::string log) const {
  if (built.empty()) return Keep(key, "", std::move(log));
  const auto folder = HONE_TRY(MakeBuildFolder());
  const auto draft = folder + "/built";
  HONE_TRY(WriteFileAtomically(draft, built));
  auto entry = Keep(key, draft, std::move(log));
  unlink(draft.c_str());
  rmdir(folder.c_str());
  return entry;
}

void BuildCache::Account(std::int64_t added) const {
  const auto lock = FileLock::Acquire(folder_ + "/usage");
  if (!lock) return;
  char text[32] = {};
  std::int64_t used = -1;
  const auto length = pread(lock->descriptor(), text, sizeof text - 1, 0);
  if (length > 0) std::from_chars(text, text + length, used);
  used = used < 0 ? Evict() : used + added;  // a number that is lost is counted anew
  if (used > limit_) used = Evict();
  const auto now = fmt::format("{}\n", used);
  if (ftruncate(lock->descriptor(), 0) != 0) return;
  [[maybe_unused]] const auto written = pwrite(lock->descriptor(), now.data(), now.size(), 0);
}

// Counts everything, drops the oldest if it is too much, and returns the bytes that stay. Called under the lock of
// `usage`.
std::int64_t BuildCache::Evict() const {
  struct Found {
    std::string stem;  // path without .built or .log
    std::int64_t bytes = 0;
    timespec used{};
  };
  std::unordered_map<std::string, Found> entries;
  const auto now = std::time(nullptr);
  std::error_code error;
  for (const auto& folder : fs::directory_iterator(folder_, error)) {
    const auto name = folder.path().filename().string();
    if (name == "build") {
      for (const auto& build : fs::directory_iterator(folder.path(), error)) {
        struct stat info{};
        if (stat(build.path().c_str(), &info) == 0 && info.st_mtime < now - kAbandonedSeconds)
          fs::remove_all(build.path(), error);
      }
    }
    if (name.size() != 2) continue;
    for (const auto& file : fs::directory_iterator(folder.path(), error)) {
      struct stat info{};
      if (stat(file.path().c_str(), &info) != 0) continue;
      auto stem = (file.path().parent_path() / file.path().stem()).string();
      auto& found = entries[stem];
      found.stem = std::move(stem);
      found.bytes += DiskBytes(info);
      const auto newer =
          std::pair(info.st_mtim.tv_sec, info.st_mtim.tv_nsec) > std::pair(found.used.tv_sec, found.used.tv_nsec);
      if (newer) found.used = info.st_mtim;
    }
  }
  std::int64_t total = 0;
  std::vector<const Found*> order;
  for (const auto& [stem, found] : entries) {
    total += found.bytes;
    order.push_back(&found);
  }
  if (total <= limit_) return total;
  std::sort(order.begin(), order.end(), [](const Found* a, const Found* b) {
    return std::tie(a->used.tv_sec, a->used.tv_nsec, a->stem) < std::tie(b->used.tv_sec, b->used.tv_nsec, b->stem);
  });
  const auto goal = limit_ / 10 * 9;  // with room to spare, or every entry from now on would count them all again
  for (const auto* found : order) {
    if (total <= goal || found->used.tv_sec > now - kRecentSeconds) break;
    unlink((found->stem + ".log").c_str());  // first: without it there is no entry
    unlink((found->stem + ".built").c_str());
    total -= found->bytes;
  }
  return total;
}

}  // namespace hone
