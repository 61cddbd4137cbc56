// A program that torch.export.save wrote. Its parameters have values: --weights keeps them, otherwise a distribution is
// fitted to each.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "problem/import/through_python.h"

namespace hone::importer_torch_pt2 {
namespace {

bool Accepts(std::string_view path) { return path.ends_with(".pt2"); }

Result<Problem> Read(const std::string& path, const ImportOptions& options) {
  // Its values are read and looked at, however fast its code is.
  constexpr std::uintmax_t kBytesASecond = 50'000'000;
  std::error_code ignored;
  const std::uintmax_t bytes = std::filesystem::file_size(path, ignored);
  ImportOptions complete = options;
  if (!ignored) complete.wall += std::chrono::seconds(bytes / kBytesASecond);
  return ImportThroughPython(path, {{"kind", "torch_pt2"}}, complete);
}

}  // namespace

HONE_ROW(Importer){"torch_pt2", "FILE.pt2: a program of torch.export", &Accepts, &Read};

}  // namespace hone::importer_torch_pt2
