#include "problem/import/import.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hone {

Result<Problem> Import(const std::string& path, const ImportOptions& options) {
  if (access(path.c_str(), R_OK) != 0) {
    return Fail(errno == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo,
                fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  std::string known;
  for (const auto* importer : AllImporters()) {
    if (importer->accepts(path)) return importer->import(path, options);
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", importer->name, importer->doc);
  }
  return Fail(ErrorKind::kUsage, fmt::format("{}: no importer takes such a file; there are {}", path, known));
}

}  // namespace hone
