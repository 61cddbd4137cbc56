#include "target/cuda/nvcc.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/bubblewrap.h"
#include "base/check.h"
#include "base/files.h"
#include "base/mutex.h"
#include "base/process.h"
#include "target/cpu/diagnostics.h"
#include "target/cuda/toolkit.h"

namespace hone::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kCompilerMemory = std::uint64_t{24} << 30;  // cicc reserves more than it uses

struct Nvcc {
  std::string path;
  std::string name;      // "nvcc 13.0"
  std::string identity;  // all that changes when it does
};

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Found once per process for each path.
Result<Nvcc> TheNvcc() {
  static Mutex mutex;
  static std::map<std::string, Nvcc> known HONE_GUARDED_BY(mutex);
  const auto programs = ToolkitPrograms("nvcc");
  if (programs.empty()) {
    return Fail(ErrorKind::kNotFound,
                "there is no nvcc, which compiles modules for CUDA (.cu): install a CUDA 12.8 or newer toolkit, or "
                "name its folder with CUDA_HOME; plans (.json) and programs (.hk) do without it");
  }
  const std::string& path = programs.front();
  const MutexLock lock(mutex);
  if (const auto found = known.find(path); found != known.end()) return found->second;
  const auto exit = HONE_TRY(
      Run({.argv = {path, "--version"}, .environment = InheritedEnvironment(), .wall = std::chrono::seconds(20)}));
  if (!exit.ok()) return Fail(ErrorKind::kTool, fmt::format("{} --version {}", path, exit.Describe()));
  // "Cuda compilation tools, release 13.0, V13.0.88"
  const auto at = exit.output.find("release ");
  const auto version = at == std::string::npos ? "?" : exit.output.substr(at + 8, exit.output.find(',', at) - at - 8);
  Nvcc nvcc{path, "nvcc " + version, fmt::format("{}\n{}\n", path, exit.output)};
  // What it hands the host's part to.
  const auto host = Run({.argv = {"g++", "--version"}, .environment = InheritedEnvironment()});
  if (host && host->ok()) nvcc.identity += host->output.substr(0, host->output.find('\n')) + '\n';
  known.emplace(path, nvcc);
  return nvcc;
}

// "#define CUTLASS_MAJOR 4" and so on; empty where CUTLASS is not.
std::string CutlassVersionAt(const fs::path& include) {
  const auto text = ReadFile((include / "cutlass" / "version.h").string());
  if (!text) return {};
  std::string version;
  for (const std::string_view part : {"CUTLASS_MAJOR ", "CUTLASS_MINOR ", "CUTLASS_PATCH "}) {
    const auto at = text->find(part);
    if (at == std::string::npos) return {};
    const auto digits = text->substr(at + part.size(), 4);
    version += (version.empty() ? "" : ".") + digits.substr(0, digits.find_first_not_of("0123456789"));
  }
  return version;
}

// CUTLASS as it lies in `root`: a checkout, its include folder, or the package's source folder.
std::optional<Cutlass> CutlassIn(const fs::path& root) {
  for (const auto& include : {root / "include", root}) {
    auto version = CutlassVersionAt(include);
    if (version.empty()) continue;
    Cutlass cutlass{std::move(version), {include.string()}};
    const auto util = include.parent_path() / "tools" / "util" / "include";
    std::error_code ignored;
    if (fs::exists(util, ignored)) cutlass.includes.push_back(util.string());
    return cutlass;
  }
  return std::nullopt;
}

Result<Cutlass> LookForCutlass() {
  if (const auto named = Variable("HONE_CUTLASS"); !named.empty()) {
    if (auto found = CutlassIn(named)) return std::move(*found);
    return Fail(ErrorKind::kNotFound, fmt::format("HONE_CUTLASS is {}, where there is no include/cutlass", named));
  }
  for (const auto& folder : PackageFolders()) {
    if (auto found = CutlassIn(fs::path(folder) / "cutlass_library" / "source")) return std::move(*found);
  }
  return Fail(ErrorKind::kNotFound,
              "there is no CUTLASS: `pip install nvidia-cutlass` into the Python that HONE_PYTHON names, or name the "
              "folder of a checkout with HONE_CUTLASS");
}

bool WantsCutlass(std::string_view source) {
  return source.find("<cute/") != std::string_view::npos || source.find("<cutlass/") != std::string_view::npos ||
         source.find("\"cute/") != std::string_view::npos || source.find("\"cutlass/") != std::string_view::npos;
}

}  // namespace

// Two forms beside those of the host compiler: `kernel.cu(7): error: identifier "x" is undefined`, which may carry a
// number as `error #20:`, and `ptxas error   : ...` or `ptxas fatal   : ...` without a line of ours.
std::vector<Diagnostic> ParseNvccDiagnostics(std::string_view log, std::string_view file) {
  std::vector<Diagnostic> errors;
  for (std::string_view rest = log; !rest.empty();) {
    const auto newline = rest.find('\n');
    const auto line = rest.substr(0, newline);
    rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
    if (line.starts_with("ptxas ") || line.starts_with("nvlink ") || line.starts_with("nvcc ")) {
      const auto colon = line.find(": ");
      const auto word = line.substr(line.find(' ') + 1);
      if (colon != std::string_view::npos && (word.starts_with("error") || word.starts_with("fatal")))
        errors.push_back({.message = fmt::format("{}: {}", line.substr(0, line.find(' ')), line.substr(colon + 2))});
      continue;
    }
    const auto open = line.find('('), close = line.find("): ");
    const auto word = line.find("error", close == std::string_view::npos ? 0 : close);
    if (open == std::string_view::npos || close == std::string_view::npos || open > close ||
        word == std::string_view::npos)
      continue;
    const auto kind = line.substr(close + 3, word - close - 3);
    if (!kind.empty() && kind != "catastrophic ") continue;
    Diagnostic error;
    if (line.substr(0, open) == file || line.substr(0, open).ends_with(fmt::format("/{}", file)))
      std::from_chars(line.data() + open + 1, line.data() + close, error.line);
    const auto colon = line.find(": ", word);
    error.message = colon == std::string_view::npos ? line.substr(close + 3) : line.substr(colon + 2);
    if (error.line == 0) error.message = fmt::format("{} (at {})", error.message, line.substr(0, close + 1));
    errors.push_back(std::move(error));
  }
  if (!errors.empty()) return errors;
  return ParseDiagnostics(log, file);
}

Result<Cutlass> FindCutlass() {
  static Mutex mutex;
  static std::map<std::string, Cutlass> known HONE_GUARDED_BY(mutex);
  const MutexLock lock(mutex);
  const auto key = Variable("HONE_CUTLASS") + '\n' + Variable("HONE_PYTHON");
  if (const auto found = known.find(key); found != known.end()) return found->second;
  return known[key] = HONE_TRY(LookForCutlass());
}

Result<Compiled> CompileCudaModule(const CudaModuleRequest& request) {
  HONE_CHECK(!request.arch.empty(), "code is compiled for an architecture");
  const auto nvcc = HONE_TRY(TheNvcc());
  // As the host compiler's for modules: only what hone/module.h exports is seen, what is missing is found now.
  std::vector<std::string> flags = {"-std=c++17",
                                    "-O3",
                                    "-arch=" + request.arch,
                                    "-DNDEBUG",
                                    "--expt-relaxed-constexpr",
                                    "--no-compress",
                                    "-shared",
                                    "-Xcompiler",
                                    "-fPIC,-fvisibility=hidden,-fno-gnu-unique,-fdiagnostics-color=never",
                                    "-Xlinker",
                                    "-z",
                                    "-Xlinker",
                                    "defs"};
  if (request.lines) flags.emplace_back("-lineinfo");
  ModuleCompiler compiler{.path = nvcc.path,
                          .identity = nvcc.identity,
                          .source_name = std::string(kModuleSource),
                          .flags = std::move(flags),
                          .memory_bytes = kCompilerMemory,
                          .wall = request.wall,
                          .parse = ParseNvccDiagnostics};
  // A wrapper on the PATH may start a toolkit that lies elsewhere.
  for (const auto& place : ToolkitPrograms("nvcc")) {
    std::error_code ignored;
    if (auto folder = InstallationOf(fs::canonical(place, ignored)); !folder.empty())
      compiler.needs.push_back(std::move(folder));
  }
  std::string lost;
  if (WantsCutlass(request.source)) {
    if (const auto cutlass = FindCutlass()) {
      compiler.identity += "CUTLASS " + cutlass->version + '\n';
      for (const auto& include : cutlass->includes) {
        compiler.flags.push_back("-I" + include);
        compiler.needs.push_back(include);
      }
    } else {
      lost = cutlass.error().message;
    }
  }
  auto compiled = HONE_TRY(BuildModule(compiler, request.source));
  if (!compiled.ok() && !lost.empty()) compiled.errors.insert(compiled.errors.begin(), {.message = lost});
  return compiled;
}

Result<std::string> NvccVersion() { return HONE_TRY(TheNvcc()).name; }

}  // namespace hone::cuda
