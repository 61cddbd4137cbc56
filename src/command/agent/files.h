// Files of one folder, for a client that has no other way to them: problems and kernels in, exports out. A path leads
// nowhere else, by no .. and by no link. Thread-safe; what others change meanwhile is theirs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"

namespace hone {

inline constexpr std::size_t kLargestText = 4u << 20;  // bytes that are written at once
inline constexpr std::int64_t kMostRead = 200'000;     // bytes that are read at once
inline constexpr std::size_t kMostListed = 1000;       // entries

class WorkFolder {
 public:
  static Result<WorkFolder> Open(const std::string& folder);  // kUsage unless it is one

  const std::string& path() const { return root_; }

  // All fail with kUsage where the path leads outside, kNotFound where nothing is, kIo.
  Result<nlohmann::json> Put(const std::string& path, const std::string& text) const;  // path, bytes
  // path, text, bytes (of the whole file), next (where to go on, null at its end).
  Result<nlohmann::json> Get(const std::string& path, std::int64_t offset, std::int64_t bytes) const;
  // folder, entries[]: path, kind (file, folder, other), bytes; more (there are more than kMostListed).
  Result<nlohmann::json> List(const std::string& folder) const;

 private:
  explicit WorkFolder(std::string root) : root_(std::move(root)) {}
  Result<std::string> Inside(const std::string& path) const;
  std::string root_;  // without links
};

}  // namespace hone
