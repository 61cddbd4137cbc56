// Files in which suites and comparisons are kept beside a run store, for whoever looks on while they grow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone {

struct SeenFile {
  std::string id;  // hex digits: its name without the ending
  std::string file;
  std::string state;  // "running", "killed" ...
  std::string stamp;  // another one whenever there is more to see
  std::int64_t updated_ms = 0;
};

// "STORE-suites/*.suite.json".
struct SeenFolder {
  std::string path;
  std::string_view ending;
  // Fills in state, stamp and updated_ms.
  Result<void> (*look)(SeenFile& seen);
};

// Newest first; what cannot be read is none. None where there is no such folder.
std::vector<SeenFile> LookAtAll(const SeenFolder& folder);
Result<SeenFile> LookAtOne(const SeenFolder& folder, const std::string& id);  // kNotFound
// By its time and size; raises `updated_ms` to its time.
std::string StampOfFile(const std::string& file, std::int64_t& updated_ms);

}  // namespace hone
