#include "command/seen_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <utility>

namespace hone {
namespace {

namespace fs = std::filesystem;

Result<SeenFile> Seen(const SeenFolder& folder, std::string id) {
  SeenFile seen{.id = std::move(id)};
  seen.file = fmt::format("{}/{}{}", folder.path, seen.id, folder.ending);
  HONE_TRY(folder.look(seen));
  return seen;
}

}  // namespace

std::vector<SeenFile> LookAtAll(const SeenFolder& folder) {
  std::vector<SeenFile> all;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder.path, none)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(folder.ending)) continue;
    name.resize(name.size() - folder.ending.size());
    if (auto seen = Seen(folder, std::move(name))) all.push_back(std::move(*seen));
  }
  std::ranges::sort(all, std::greater<>(), [](const SeenFile& one) { return std::pair(one.updated_ms, one.id); });
  return all;
}

Result<SeenFile> LookAtOne(const SeenFolder& folder, const std::string& id) {
  const bool ours = !id.empty() && id.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!ours) return Fail(ErrorKind::kNotFound, "there is no such page");
  return Seen(folder, id);
}

std::string StampOfFile(const std::string& file, std::int64_t& updated_ms) {
  std::error_code failed;
  const auto when = fs::last_write_time(file, failed);
  const auto size = failed ? 0 : fs::file_size(file, failed);
  if (failed) return "none";
  const auto since = std::chrono::file_clock::to_sys(when).time_since_epoch();
  const std::int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  updated_ms = std::max(updated_ms, ms);
  return fmt::format("{}-{}", ms, size);
}

}  // namespace hone
