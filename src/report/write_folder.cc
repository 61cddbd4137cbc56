#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "report/export.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// A folder that goes with this object unless it was renamed meanwhile.
class Unfinished {
 public:
  explicit Unfinished(fs::path path) : path_(std::move(path)) {}
  ~Unfinished() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Result<void> WriteOne(const fs::path& path, const ExportedFile& file) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error)
    return Fail(ErrorKind::kIo, fmt::format("cannot make {}: {}", path.parent_path().string(), error.message()));
  if (!file.copy_of.empty()) {
    fs::copy_file(file.copy_of, path, error);
    if (!error) return {};
    const bool gone = error == std::errc::no_such_file_or_directory;
    return Fail(gone ? ErrorKind::kNotFound : ErrorKind::kIo,
                fmt::format("cannot copy {}: {}", file.copy_of, error.message()));
  }
  std::ofstream stream(path, std::ios::binary);
  stream << file.content;
  stream.close();
  if (!stream) return Fail(ErrorKind::kIo, fmt::format("cannot write {}: is the disk full?", path.string()));
  return {};
}

}  // namespace

Result<void> WriteFolder(const std::string& folder, const std::vector<ExportedFile>& files) {
  std::error_code error;
  // With a slash at its end the folder would be its own parent.
  fs::path target = fs::absolute(folder, error).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  const auto refuse = [&] {
    return Fail(ErrorKind::kUsage,
                fmt::format("{} is not an empty folder: name a new one, or remove it first", folder));
  };
  if (fs::exists(target, error) && (!fs::is_directory(target, error) || !fs::is_empty(target, error))) return refuse();
  fs::create_directories(target.parent_path(), error);
  const Unfinished unfinished(target.parent_path() / fmt::format(".{}.{}", target.filename().string(), getpid()));
  fs::remove_all(unfinished.path(), error);
  if (!fs::create_directory(unfinished.path(), error)) {
    return Fail(ErrorKind::kIo, fmt::format("cannot write to {}: {}", target.parent_path().string(), error.message()));
  }
  for (const ExportedFile& file : files) HONE_TRY(WriteOne(unfinished.path() / file.path, file));
  fs::rename(unfinished.path(), target, error);  // over an empty folder, too
  if (error == std::errc::directory_not_empty || error == std::errc::file_exists) return refuse();
  if (error) return Fail(ErrorKind::kIo, fmt::format("cannot make {}: {}", folder, error.message()));
  return {};
}

}  // namespace hone
