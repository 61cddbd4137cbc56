#include "index/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

namespace hone {
namespace {

constexpr std::array<std::string_view, 4> kVersionControl = {".git", ".hg", ".svn", ".jj"};
constexpr int kDeepestFolder = 64;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  const int fd_;
};

// All of it; nothing where it cannot be read, or is longer by now than may be.
std::optional<std::string> ReadAll(int fd) {
  std::string text;
  std::array<char, 1 << 16> block;
  while (text.size() <= kLargestSource) {
    const auto got = read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  return std::nullopt;
}

// Goes from folder to folder by descriptors, so that none of them can become a link on the way.
class Walk {
 public:
  Walk(PassedOver& passed, const std::function<Result<void>(const TreeFile&)>& take) : passed_(passed), take_(take) {}

  Result<void> Folder(int folder, const std::string& path, int depth) {
    for (const std::string& name : Names(folder)) {
      const std::string inside = path.empty() ? name : path + "/" + name;
      struct stat status{};
      if (inside.size() > kLongestSourcePath || fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        ++passed_.unreadable;
      } else if (S_ISLNK(status.st_mode)) {
        ++passed_.links;
      } else if (S_ISDIR(status.st_mode)) {
        if (std::ranges::find(kVersionControl, name) != kVersionControl.end()) continue;
        const Descriptor below(openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (below.get() < 0 || depth == kDeepestFolder) {
          ++passed_.unreadable;
        } else {
          HONE_TRY(Folder(below.get(), inside, depth + 1));
        }
      } else {
        HONE_TRY(File(folder, name, inside));
      }
    }
    return {};
  }

 private:
  static std::vector<std::string> Names(int folder) {
    std::vector<std::string> names;
    const int own = dup(folder);
    const std::unique_ptr<DIR, int (*)(DIR*)> all(own < 0 ? nullptr : fdopendir(own), closedir);
    if (!all) {
      if (own >= 0) close(own);
      return names;
    }
    while (const dirent* entry = readdir(all.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    std::ranges::sort(names);
    return names;
  }

  Result<void> File(int folder, const std::string& name, const std::string& path) {
    // A pipe would wait for its writer.
    const Descriptor file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    if (file.get() < 0 || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
      ++passed_.unreadable;
      return {};
    }
    if (static_cast<std::size_t>(status.st_size) > kLargestSource) {
      ++passed_.large;
      return {};
    }
    std::optional<std::string> text = ReadAll(file.get());
    if (!text) {
      ++passed_.unreadable;
      return {};
    }
    if (text->find('\0') != text->npos) {
      ++passed_.binary;
      return {};
    }
    if (++files_ > kMostSources)
      return Fail(ErrorKind::kUsage,
                  fmt::format("it has more than {} files: name a folder of sources in it", kMostSources));
    return take_({path, std::move(*text)});
  }

  PassedOver& passed_;
  const std::function<Result<void>(const TreeFile&)>& take_;
  std::size_t files_ = 0;
};

}  // namespace

Result<void> ForEachFile(const std::string& root, PassedOver& passed,
                         const std::function<Result<void>(const TreeFile&)>& take) {
  const Descriptor folder(open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return Fail(ErrorKind::kIo, fmt::format("cannot read {}: {}", root, std::strerror(errno)));
  return Walk(passed, take).Folder(folder.get(), "", 0);
}

}  // namespace hone
