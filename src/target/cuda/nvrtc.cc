#include "target/cuda/nvrtc.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/files.h"
#include "base/sha256.h"
#include "target/build_cache.h"
#include "target/cuda/shared_library.h"
#include "target/cuda/toolkit.h"

namespace hone::cuda {
namespace {

using Clock = std::chrono::steady_clock;

// The part of NVRTC's C interface that we use, as its documentation declares it: all results are an int, 0 is success.
using Program = struct NvrtcProgram*;
struct Nvrtc {
  int (*version)(int* major, int* minor);
  const char* (*error_string)(int result);
  int (*create)(Program* program, const char* source, const char* name, int headers, const char* const* texts,
                const char* const* names);
  int (*destroy)(Program* program);
  int (*add_name)(Program program, const char* expression);
  int (*lowered_name)(Program program, const char* expression, const char** symbol);
  int (*compile)(Program program, int options, const char* const* values);
  int (*log_size)(Program program, std::size_t* bytes);
  int (*log)(Program program, char* text);
  int (*cubin_size)(Program program, std::size_t* bytes);
  int (*cubin)(Program program, char* image);

  Toolkit toolkit;
  int major = 0, minor = 0;
};

// NVRTC opens its built-in declarations by their bare name, which the loader knows once it is open from beside NVRTC.
void OpenBuiltins(const std::string& nvrtc) {
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(nvrtc).parent_path(), error)) {
    const std::string name = file.path().filename().string();
    if (!name.starts_with("libnvrtc-builtins.so.")) continue;
    const std::string path = file.path().string();
    [[maybe_unused]] const auto opened = SharedLibrary::Open({&path, 1});  // NVRTC says what it misses
  }
}

Result<Nvrtc> OpenNvrtc() {
  Nvrtc n{};
  n.toolkit = HONE_TRY(FindToolkit());
  OpenBuiltins(n.toolkit.nvrtc);
  const auto library = HONE_TRY(SharedLibrary::Open({&n.toolkit.nvrtc, 1}));
  const bool all = library.Load("nvrtcVersion", n.version) && library.Load("nvrtcGetErrorString", n.error_string) &&
                   library.Load("nvrtcCreateProgram", n.create) && library.Load("nvrtcDestroyProgram", n.destroy) &&
                   library.Load("nvrtcAddNameExpression", n.add_name) &&
                   library.Load("nvrtcGetLoweredName", n.lowered_name) &&
                   library.Load("nvrtcCompileProgram", n.compile) &&
                   library.Load("nvrtcGetProgramLogSize", n.log_size) && library.Load("nvrtcGetProgramLog", n.log) &&
                   library.Load("nvrtcGetCUBINSize", n.cubin_size) && library.Load("nvrtcGetCUBIN", n.cubin);
  if (!all || n.version(&n.major, &n.minor) != 0)
    return Fail(ErrorKind::kTool, fmt::format("{} is not an NVRTC that we know: 12.8 or newer is", library.path()));
  return n;
}

Result<const Nvrtc*> TheNvrtc() {
  static const Result<Nvrtc> nvrtc = OpenNvrtc();
  if (!nvrtc) return tl::unexpected<Error>(nvrtc.error());
  return &*nvrtc;
}

std::vector<std::string> Flags(const Nvrtc& nvrtc, const CubinRequest& request) {
  std::vector<std::string> flags = {"--gpu-architecture=" + request.arch, "--std=c++17", "-default-device", "-DNDEBUG",
                                    "--ptxas-options=-v"};
  for (const auto& include : nvrtc.toolkit.includes) flags.push_back("-I" + include);
  flags.insert(flags.end(), request.flags.begin(), request.flags.end());
  return flags;
}

// "kernel.cu(7): error: identifier "x" is undefined", and ptxas's "ptxas error   : ..." without a line of ours.
std::vector<CubinError> ErrorsIn(std::string_view log, std::string_view name) {
  std::vector<CubinError> errors;
  while (!log.empty()) {
    const auto end = log.find('\n');
    const std::string_view line = log.substr(0, end);
    log = end == std::string_view::npos ? std::string_view() : log.substr(end + 1);
    if (line.starts_with(name) && line.substr(name.size()).starts_with("(")) {
      CubinError error;
      const auto digits = line.substr(name.size() + 1);
      std::from_chars(digits.data(), digits.data() + digits.size(), error.line);
      const auto at = line.find("error: ");
      const bool catastrophic = line.find("catastrophic error") != std::string_view::npos;
      if (at == std::string_view::npos && !catastrophic) continue;
      error.message = line.substr(at == std::string_view::npos ? line.find(')') + 1 : at + 7);
      errors.push_back(std::move(error));
    } else if (line.starts_with("ptxas") && line.find("error") < 12) {
      errors.push_back({0, std::string(line)});
    } else if (line.starts_with("nvrtc: error: ")) {
      errors.push_back({0, std::string(line.substr(14))});
    }
  }
  return errors;
}

// NVRTC's program, destroyed with us.
struct OwnedProgram {
  explicit OwnedProgram(const Nvrtc& api) : nvrtc(api) {}
  ~OwnedProgram() {
    if (program != nullptr) nvrtc.destroy(&program);
  }
  OwnedProgram(const OwnedProgram&) = delete;
  OwnedProgram& operator=(const OwnedProgram&) = delete;
  const Nvrtc& nvrtc;
  Program program = nullptr;
};

// The symbols, one a line, before the log: they are known to the compiler alone.
std::string WithSymbols(const std::vector<std::string>& symbols, const std::string& log) {
  std::string text;
  for (const auto& symbol : symbols) text += symbol + '\n';
  return text + log;
}

Result<CompiledCubin> Compile(const Nvrtc& nvrtc, const CubinRequest& request, const std::vector<std::string>& flags) {
  OwnedProgram owned(nvrtc);
  const auto failed = [&](std::string_view what, int code) {
    return Fail(ErrorKind::kTool, fmt::format("NVRTC cannot {}: {}", what, nvrtc.error_string(code)));
  };
  if (const int code = nvrtc.create(&owned.program, request.source.c_str(), request.name.c_str(), 0, nullptr, nullptr))
    return failed("take the source", code);
  for (const auto& instance : request.instances) {
    if (const int code = nvrtc.add_name(owned.program, instance.c_str())) return failed("take " + instance, code);
  }
  std::vector<const char*> options;
  for (const auto& flag : flags) options.push_back(flag.c_str());
  const int code = nvrtc.compile(owned.program, static_cast<int>(options.size()), options.data());
  CompiledCubin compiled;
  std::size_t bytes = 0;
  if (nvrtc.log_size(owned.program, &bytes) == 0 && bytes > 1) {
    compiled.log.resize(bytes);
    nvrtc.log(owned.program, compiled.log.data());
    std::erase(compiled.log, '\0');  // it ends in one, and what ptxas says begins and ends in others
  }
  constexpr int kCompilation = 6;  // NVRTC_ERROR_COMPILATION: the source's fault
  if (code != 0 && code != kCompilation)
    return Fail(ErrorKind::kTool, fmt::format("NVRTC cannot compile: {}; {}", nvrtc.error_string(code), compiled.log));
  if (code != 0) return compiled;
  for (const auto& instance : request.instances) {
    const char* symbol = nullptr;
    if (const int lost = nvrtc.lowered_name(owned.program, instance.c_str(), &symbol))
      return failed("name " + instance, lost);
    compiled.symbols.emplace_back(symbol);
  }
  if (nvrtc.cubin_size(owned.program, &bytes) != 0 || bytes == 0)
    return Fail(ErrorKind::kTool,
                fmt::format("NVRTC made no cubin for {}: it wants a real architecture", request.arch));
  compiled.cubin.resize(bytes);
  if (const int lost = nvrtc.cubin(owned.program, compiled.cubin.data())) return failed("hand over the cubin", lost);
  return compiled;
}

}  // namespace

Result<CompiledCubin> CompileCubin(const CubinRequest& request) {
  const auto start = Clock::now();
  const Nvrtc& nvrtc = *HONE_TRY(TheNvrtc());
  const auto flags = Flags(nvrtc, request);
  std::string material = fmt::format("nvrtc {}.{}\n{}\n", nvrtc.major, nvrtc.minor, request.name);
  for (const auto& flag : flags) material += flag + '\n';
  for (const auto& instance : request.instances) material += instance + '\n';
  const auto key = Sha256(material + '\n' + request.source);

  const auto cache = HONE_TRY(BuildCache::Open());
  const auto found = [&](const CacheEntry& entry) -> std::optional<CompiledCubin> {
    CompiledCubin compiled{.log = entry.log, .cached = true};
    if (!entry.file.empty()) {
      auto image = ReadFile(entry.file);
      if (!image) return std::nullopt;  // evicted this moment
      compiled.cubin = std::move(*image);
      for (std::size_t i = 0; i < request.instances.size(); ++i) {
        const auto end = compiled.log.find('\n');
        compiled.symbols.push_back(compiled.log.substr(0, end));
        compiled.log.erase(0, end + 1);
      }
    }
    return compiled;
  };
  std::optional<CompiledCubin> compiled;
  if (const auto entry = cache.Find(key)) compiled = found(*entry);
  if (!compiled) {
    compiled = HONE_TRY(Compile(nvrtc, request, flags));
    HONE_TRY(cache.KeepBytes(key, compiled->cubin, WithSymbols(compiled->symbols, compiled->log)));
  }
  if (!compiled->ok()) {
    compiled->errors = ErrorsIn(compiled->log, request.name);
    if (compiled->errors.empty()) compiled->errors.push_back({0, "NVRTC refused the source without saying why"});
  }
  compiled->milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return std::move(*compiled);
}

Result<std::string> NvrtcVersion() {
  const Nvrtc& nvrtc = *HONE_TRY(TheNvrtc());
  return fmt::format("NVRTC {}.{}", nvrtc.major, nvrtc.minor);
}

}  // namespace hone::cuda
