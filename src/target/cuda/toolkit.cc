#include "target/cuda/toolkit.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <span>
#include <sstream>
#include <string_view>

#include "base/mutex.h"
#include "base/process.h"
#include "target/cuda/shared_library.h"

namespace hone::cuda {
namespace {

namespace fs = std::filesystem;

// A toolkit's own layout, and those of its parts as Python packages (the oldest one a folder a package).
constexpr std::string_view kLibraryFolders[] = {"lib64", "lib", "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"};
constexpr std::string_view kIncludeFolders[] = {"include", "nvidia/cu13/include", "nvidia/cuda_runtime/include"};
constexpr std::string_view kProgramFolders[] = {"bin", "nvidia/cu13/bin"};
constexpr std::string_view kLibraryPackages[] = {"nvidia/cu13/lib", "nvidia/cudnn/lib", "nvidia/cublas/lib",
                                                 "extras/CUPTI/lib64"};
constexpr std::string_view kCublasNames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
constexpr std::string_view kCudnnNames[] = {"libcudnn.so.9"};
constexpr std::string_view kCuptiNames[] = {"libcupti.so.13"};
constexpr std::string_view kNvrtcNames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

void AddNamed(std::vector<fs::path>& roots, const char* variable) {
  if (const char* folder = std::getenv(variable); folder != nullptr && *folder != '\0') roots.emplace_back(folder);
}

// What comes before the PATH, and what after it.
std::vector<fs::path> FirstRoots() {
  std::vector<fs::path> roots;
  AddNamed(roots, "HONE_CUDA");
  if (const fs::path self = OwnPath(); self.is_absolute()) roots.push_back(self.parent_path() / "cuda");
  return roots;
}
std::vector<fs::path> LastRoots() {
  std::vector<fs::path> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) AddNamed(roots, variable);
  roots.emplace_back("/usr/local/cuda");
  return roots;
}

std::vector<fs::path> Roots() {
  std::vector<fs::path> roots = FirstRoots();
  for (const auto& folder : FoldersOf("PATH")) {
    std::error_code error;
    const fs::path nvcc = fs::canonical(fs::path(folder) / "nvcc", error);
    if (!error) roots.push_back(nvcc.parent_path().parent_path());
  }
  for (auto& root : LastRoots()) roots.push_back(std::move(root));
  return roots;
}

Result<std::string> Look(std::span<const std::string_view> names, std::string_view missing) {
  const auto in = [&](const fs::path& root, std::span<const std::string_view> folders) -> std::string {
    for (const auto folder : folders) {
      for (const auto name : names) {
        std::error_code error;
        const fs::path library = root / folder / name;
        if (fs::exists(library, error)) return library.string();
      }
    }
    return {};
  };
  for (const auto& root : Roots()) {
    for (const auto folders : {std::span<const std::string_view>(kLibraryFolders), {kLibraryPackages}}) {
      if (auto found = in(root, folders); !found.empty()) return found;
    }
  }
  for (const auto& folder : PackageFolders()) {
    if (auto found = in(folder, kLibraryPackages); !found.empty()) return found;
  }
  for (const auto name : names) {
    const std::string wanted(name);
    if (const auto library = SharedLibrary::Open({&wanted, 1})) return library->path();
  }
  return Fail(ErrorKind::kNotFound, std::string(missing));
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

std::vector<std::string> ToolkitPrograms(std::string_view name) {
  std::vector<std::string> programs;
  const auto add = [&](const std::vector<fs::path>& roots) {
    for (const auto& root : roots) {
      for (const auto folder : kProgramFolders) {
        const std::string program = (root / folder / name).string();
        if (access(program.c_str(), X_OK) == 0) programs.push_back(program);
      }
    }
  };
  add(FirstRoots());
  if (const auto found = FindProgram(name)) programs.push_back(*found);
  add(LastRoots());
  return programs;
}

std::vector<std::string> PackageFolders() {
  static Mutex mutex;
  static std::map<std::string, std::vector<std::string>> known HONE_GUARDED_BY(mutex);  // by the interpreter
  const char* named = std::getenv("HONE_PYTHON");
  const std::string python = named != nullptr && *named != '\0' ? named : "python3";
  const MutexLock lock(mutex);
  const auto [entry, fresh] = known.try_emplace(python);
  if (!fresh) return entry->second;
  const auto exit = Run({.argv = {python, "-I", "-c", "import sys; print(*sys.path, sep='\\n')"},
                         .environment = InheritedEnvironment(),
                         .wall = std::chrono::seconds(20)});  // a cold disk
  if (!exit || !exit->ok()) return {};
  std::istringstream lines(exit->output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) entry->second.push_back(line);
  }
  return entry->second;
}

Result<std::string> FindLibrary(Library library) {
  if (library == Library::kCublasLt) {
    static const auto found = Look(
        kCublasNames,
        "there is no cuBLASLt (libcublasLt.so.13 or .12), which steps of this plan call: install a CUDA toolkit or "
        "the Python package nvidia-cublas, and name the toolkit with HONE_CUDA or the Python with HONE_PYTHON");
    return found;
  }
  if (library == Library::kCupti) {
    static const auto found = Look(
        kCuptiNames,
        "there is no CUPTI (libcupti.so.13), which counts what kernels do: `./dev cuda` brings it, or set HONE_CUDA to "
        "the folder of a CUDA 13 toolkit");
    return found;
  }
  static const auto found =
      Look(kCudnnNames,
           "there is no cuDNN (libcudnn.so.9), which steps of this plan call: install it or the Python package "
           "nvidia-cudnn-cu13, which a PyTorch for CUDA brings, and name its Python with HONE_PYTHON");
  return found;
}

}  // namespace hone::cuda
