#include "problem/import/import.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "base/machine_memory.h"
#include "base/sha256.h"

namespace hone {
namespace {

// Where constants of a problem go when nobody says: the same file for the same problem file.
std::string DefaultWeightsPath(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path folder = fs::path(CacheDirectory()) / "imports";
  fs::create_directories(folder, ignored);  // if this fails, writing there says so
  return folder / (Sha256(fs::absolute(path, ignored).string()).substr(0, 24) + ".safetensors");
}

}  // namespace

bool NestsDeep(std::string_view json_text) {
  int depth = 0, most = 0;
  for (const char c : json_text) {
    if (c == '[' || c == '{') most = std::max(most, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return most > 60;
}

std::uint64_t MostImportBytes() {
  return std::max<std::uint64_t>(4'000'000'000, static_cast<std::uint64_t>(PhysicalMemoryBytes()) / 2);
}

Result<Problem> Import(const std::string& path, const ImportOptions& options) {
  if (access(path.c_str(), R_OK) != 0) {
    return Fail(errno == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo,
                fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  ImportOptions complete = options;
  if (complete.weights_path.empty()) complete.weights_path = DefaultWeightsPath(path);
  std::string known;
  for (const auto* importer : AllImporters()) {
    if (importer->accepts(path)) return importer->import(path, complete);
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", importer->name, importer->doc);
  }
  return Fail(ErrorKind::kUsage, fmt::format("{}: no importer takes such a file; there are {}", path, known));
}

}  // namespace hone
