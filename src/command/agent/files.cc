#include "command/agent/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"

namespace hone {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// The first byte of a character at or before `at`.
std::size_t CharacterAt(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return std::min(at, text.size());
}

std::string_view KindOf(const fs::directory_entry& entry) {
  std::error_code ignored;
  if (entry.is_symlink(ignored)) return "other";
  if (entry.is_regular_file(ignored)) return "file";
  return entry.is_directory(ignored) ? "folder" : "other";
}

}  // namespace

Result<WorkFolder> WorkFolder::Open(const std::string& folder) {
  std::error_code failure;
  const fs::path root = fs::canonical(folder, failure);
  if (failure || !fs::is_directory(root, failure))
    return Fail(ErrorKind::kUsage, fmt::format("--folder {}: it is no folder", folder));
  return WorkFolder(root.string());
}

Result<std::string> WorkFolder::Inside(const std::string& path) const {
  const auto outside = [&] {
    return Fail(ErrorKind::kUsage, fmt::format("{}: it lies outside of the folder {}", path, root_));
  };
  if (path.find('\0') != path.npos) return Fail(ErrorKind::kUsage, "a path holds no zero byte");
  std::error_code failure;
  // What is there is followed through its links, the rest is taken by its words.
  const fs::path real = fs::weakly_canonical(fs::path(root_) / path, failure);
  if (failure) return Fail(ErrorKind::kIo, fmt::format("{}: {}", path, failure.message()));
  const fs::path relative = real.lexically_relative(root_);
  if (relative.empty() || *relative.begin() == "..") return outside();
  // A link to what is not there yet is no way out either.
  for (fs::path at = fs::path(root_) / fs::path(path).lexically_normal(); at != root_ && at.has_relative_path();
       at = at.parent_path()) {
    if (fs::is_symlink(at, failure) && !fs::exists(at, failure)) return outside();
  }
  return real.string();
}

Result<Json> WorkFolder::Put(const std::string& path, const std::string& text) const {
  if (text.size() > kLargestText)
    return Fail(ErrorKind::kUsage,
                fmt::format("{}: a text has at most {} bytes, this has {}", path, kLargestText, text.size()));
  const std::string file = HONE_TRY(Inside(path));
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) return Fail(ErrorKind::kUsage, fmt::format("{}: it is a folder", path));
  HONE_TRY(WriteFileAtomically(file, text));
  return Json{{"path", path}, {"bytes", text.size()}};
}

Result<Json> WorkFolder::Get(const std::string& path, std::int64_t offset, std::int64_t bytes) const {
  const std::string file = HONE_TRY(Inside(path));
  std::error_code ignored;
  if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored))
    return Fail(ErrorKind::kUsage, fmt::format("{}: it is no file", path));
  const std::string text = HONE_TRY(ReadFile(file));
  const std::size_t begin = CharacterAt(text, static_cast<std::size_t>(std::max<std::int64_t>(offset, 0)));
  const auto most = static_cast<std::size_t>(std::clamp<std::int64_t>(bytes, 4, kMostRead));
  const std::size_t end = CharacterAt(text, std::min(text.size(), begin + most));
  return Json{{"path", path},
              {"text", text.substr(begin, end - begin)},
              {"bytes", text.size()},
              {"next", end < text.size() ? Json(end) : Json()}};
}

Result<Json> WorkFolder::List(const std::string& folder) const {
  const std::string real = HONE_TRY(Inside(folder));
  std::error_code failure;
  fs::directory_iterator all(real, failure);
  if (failure) return Fail(ErrorKind::kNotFound, fmt::format("{}: {}", folder, failure.message()));
  std::vector<fs::directory_entry> found(fs::begin(all), fs::end(all));
  std::sort(found.begin(), found.end());
  Json entries = Json::array();
  for (const auto& entry : found) {
    if (entries.size() == kMostListed) break;
    const std::string_view kind = KindOf(entry);
    entries.push_back({{"path", entry.path().lexically_relative(root_).string()},
                       {"kind", kind},
                       {"bytes", kind == "file" ? entry.file_size(failure) : 0}});
  }
  return Json{{"folder", folder}, {"entries", std::move(entries)}, {"more", found.size() > kMostListed}};
}

}  // namespace hone
