#include "target/cuda/toolkit.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "target/cuda/shared_library.h"

namespace hone::cuda {
namespace {

namespace fs = std::filesystem;

// A toolkit's own layout, and those of its parts as Python packages (the oldest one a folder a package).
constexpr std::string_view kLibraryFolders[] = {"lib64", "lib", "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"};
constexpr std::string_view kIncludeFolders[] = {"include", "nvidia/cu13/include", "nvidia/cuda_runtime/include"};
constexpr std::string_view kNvrtcNames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

std::vector<fs::path> Roots() {
  std::vector<fs::path> roots;
  if (const char* named = std::getenv("HONE_CUDA"); named != nullptr && *named != '\0') return {named};
  char self[PATH_MAX];
  if (const auto length = readlink("/proc/self/exe", self, sizeof self); length > 0)
    roots.push_back(fs::path(std::string_view(self, static_cast<std::size_t>(length))).parent_path() / "cuda");
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    std::error_code error;
    const fs::path nvcc = fs::canonical(fs::path(rest.substr(0, colon)) / "nvcc", error);
    if (!error) roots.push_back(nvcc.parent_path().parent_path());
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  roots.emplace_back("/usr/local/cuda");
  return roots;
}

std::vector<std::string> IncludesIn(const fs::path& root) {
  std::vector<std::string> includes;
  for (const auto folder : kIncludeFolders) {
    std::error_code error;
    const fs::path include = root / folder;
    if (!fs::exists(include / "cuda_fp16.h", error)) continue;
    includes.push_back(include.string());
    if (fs::exists(include / "cccl", error)) includes.push_back((include / "cccl").string());
  }
  return includes;
}

}  // namespace

Result<Toolkit> FindToolkit() {
  Toolkit headers;  // a toolkit may have headers and no NVRTC, and the loader NVRTC and no headers
  for (const auto& root : Roots()) {
    auto includes = IncludesIn(root);
    for (const auto folder : kLibraryFolders) {
      for (const auto name : kNvrtcNames) {
        std::error_code error;
        const fs::path nvrtc = root / folder / name;
        if (!fs::exists(nvrtc, error)) continue;
        if (includes.empty()) includes = headers.includes;
        return Toolkit{.root = root.string(), .nvrtc = nvrtc.string(), .includes = std::move(includes)};
      }
    }
    if (headers.includes.empty()) headers.includes = std::move(includes);
  }
  for (const auto name : kNvrtcNames) {
    const std::string wanted(name);
    if (SharedLibrary::Open({&wanted, 1})) return Toolkit{.nvrtc = wanted, .includes = std::move(headers.includes)};
  }
  return Fail(ErrorKind::kNotFound,
              "there is no NVRTC, which compiles CUDA kernels: `./dev cuda` brings it, or set HONE_CUDA to the folder "
              "of a CUDA 12.8 or newer toolkit");
}

}  // namespace hone::cuda
