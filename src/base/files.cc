#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace hone {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> FailErrno(std::string_view what, const std::string& path, int code) {
  return Fail(code == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo,
              fmt::format("cannot {} {}: {}", what, path, std::strerror(code)));
}

// Nobody else's name, of this process or another.
std::string TemporaryBeside(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}.{}.{}.tmp", path, getpid(), counter++);
}

// A descriptor that is closed on every way out. Close() is for the writer, who must know whether it worked.
struct Descriptor {
  int fd;
  explicit Descriptor(int opened) : fd(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { Close(); }
  bool Close() { return fd < 0 || close(std::exchange(fd, -1)) == 0; }
};

std::string Home() {
  if (const char* home = std::getenv("HOME"); home && *home) return home;
  if (const passwd* user = getpwuid(getuid()); user && user->pw_dir && *user->pw_dir) return user->pw_dir;
  return fmt::format("/tmp/hone-{}", getuid());
}

std::string OurDirectory(const char* ours, const char* xdg, std::string_view below_home) {
  if (const char* path = std::getenv(ours); path && *path) return path;
  // The XDG specification says that a relative path is invalid and to be ignored.
  if (const char* path = std::getenv(xdg); path && *path == '/') return fmt::format("{}/hone", path);
  return fmt::format("{}/{}/hone", Home(), below_home);
}

}  // namespace

bool WriteAll(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const auto wrote = write(descriptor, content.data(), content.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

Result<std::string> ReadFile(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) return FailErrno("read", path, errno);
  struct stat status{};
  if (fstat(file.fd, &status) != 0) return FailErrno("read", path, errno);
  std::string content;
  // The size is a hint only: files in /proc say 0.
  content.reserve(static_cast<std::size_t>(status.st_size) + 1);
  char block[1 << 16];
  while (true) {
    const auto got = read(file.fd, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailErrno("read", path, errno);
    if (got == 0) return content;
    content.append(block, static_cast<std::size_t>(got));
  }
}

Result<void> WriteFileAtomically(const std::string& path, std::string_view content) {
  const std::string folder = fs::path(path).parent_path().string();
  if (!folder.empty()) HONE_TRY(MakeDirectories(folder));
  const std::string temporary = TemporaryBeside(path);
  Descriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.fd < 0) return FailErrno("write", path, errno);
  if (!WriteAll(file.fd, content) || fsync(file.fd) != 0 || !file.Close() ||
      rename(temporary.c_str(), path.c_str()) != 0) {
    const int code = errno;
    unlink(temporary.c_str());
    return FailErrno("write", path, code);
  }
  // Without this the rename itself may be lost. Some file systems refuse to sync a directory; the content is safe even
  // so.
  const Descriptor directory(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.fd >= 0) (void)fsync(directory.fd);
  return {};
}

Result<void> CheckWritable(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return FailErrno("write", path, EISDIR);
  // Where its folder is missing, whether one can be made in the nearest that is there.
  fs::path there = fs::path(path).parent_path();
  const bool folder = there.empty() || fs::exists(there, ignored);
  while (!there.empty() && !fs::exists(there, ignored) && there.has_relative_path()) there = there.parent_path();
  const std::string probe = TemporaryBeside((there.empty() ? fs::path(".") : there) / fs::path(path).filename());
  if (!folder) {
    if (mkdir(probe.c_str(), 0777) != 0) return FailErrno("write", path, errno);
    rmdir(probe.c_str());
    return {};
  }
  const Descriptor file(open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.fd < 0) return FailErrno("write", path, errno);
  unlink(probe.c_str());
  return {};
}

Result<void> MakeDirectories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return FailErrno("make the directory", path, error.value());
  return {};
}

std::string CacheDirectory() { return OurDirectory("HONE_CACHE", "XDG_CACHE_HOME", ".cache"); }
std::string DataDirectory() { return OurDirectory("HONE_DATA", "XDG_DATA_HOME", ".local/share"); }
std::string ConfigDirectory() { return OurDirectory("HONE_CONFIG", "XDG_CONFIG_HOME", ".config"); }

Result<TempDirectory> TempDirectory::Create(std::string_view hint) {
  const char* base = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/hone-{}-XXXXXX", base && *base == '/' ? base : "/tmp", hint);
  if (!mkdtemp(path.data())) return FailErrno("make the directory", path, errno);
  return TempDirectory(std::move(path));
}

TempDirectory::TempDirectory(TempDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TempDirectory& TempDirectory::operator=(TempDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TempDirectory::~TempDirectory() {
  if (path_.empty()) return;
  std::error_code ignored;  // nothing can be done about it here, and the directory is in /tmp
  fs::remove_all(path_, ignored);
}

}  // namespace hone
