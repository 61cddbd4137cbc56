#include "target/cuda/nvrtc.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/bubblewrap.h"
#include "base/check.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/machine_memory.h"
#include "base/process.h"
#include "base/sha256.h"
#include "base/text.h"
#include "target/build_cache.h"
#include "target/cuda/shared_library.h"
#include "target/cuda/toolkit.h"

namespace hone::cuda {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

// Addresses that compiling foreign source may take. CUTLASS takes 3.5 GB of memory; on machines of much memory NVRTC
// reserves more addresses than it uses.
std::uint64_t ForeignAddresses() {
  return std::max(std::uint64_t{12} << 30, static_cast<std::uint64_t>(PhysicalMemoryBytes()) / 2);
}

constexpr std::size_t kLargestAnswer = 512u << 20;

// What NVRTC's results mean for us.
constexpr int kOutOfMemory = 1, kCompilation = 6, kBuiltins = 7;

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

  std::vector<std::string> includes;  // of the toolkit
  std::string path;                   // NVRTC's own
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

Result<Nvrtc> OpenNvrtc(const Toolkit& toolkit) {
  Nvrtc n{.includes = toolkit.includes};
  OpenBuiltins(toolkit.nvrtc);
  const auto library = HONE_TRY(SharedLibrary::Open({&toolkit.nvrtc, 1}));
  n.path = library.path();
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
  static const Result<Nvrtc> nvrtc = [] {
    const auto toolkit = FindToolkit();
    return toolkit ? OpenNvrtc(*toolkit) : tl::unexpected<Error>(toolkit.error());
  }();
  if (!nvrtc) return tl::unexpected<Error>(nvrtc.error());
  return &*nvrtc;
}

std::vector<std::string> Flags(const Nvrtc& nvrtc, const CubinRequest& request) {
  std::vector<std::string> flags = {"--gpu-architecture=" + request.arch, "--std=c++17", "-default-device", "-DNDEBUG",
                                    "--ptxas-options=-v"};
  for (const auto& include : nvrtc.includes) flags.push_back("-I" + include);
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
    } else if (line.starts_with("ptxas") && (line.find("error") < 12 || line.find("fatal") < 12)) {
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

// What NVRTC said and made of a source.
struct Made {
  std::string ended;  // foreign source: why there is nothing, where that is its doing
  int code = 0;       // NVRTC's result, 0 = success
  std::string what;   // that it was about: "compile", "take the source"
  std::string log;
  std::vector<std::string> symbols;
  std::string cubin;
};

Made Make(const Nvrtc& nvrtc, const CubinRequest& request, const std::vector<std::string>& flags) {
  OwnedProgram owned(nvrtc);
  Made made;
  const auto failed = [&](int code, std::string_view what) {
    made.code = code;
    made.what = what;
    return code != 0;
  };
  if (failed(nvrtc.create(&owned.program, request.source.c_str(), request.name.c_str(), 0, nullptr, nullptr),
             "take the source"))
    return made;
  for (const auto& instance : request.instances) {
    if (failed(nvrtc.add_name(owned.program, instance.c_str()), "take " + instance)) return made;
  }
  std::vector<const char*> options;
  for (const auto& flag : flags) options.push_back(flag.c_str());
  const bool refused =
      failed(nvrtc.compile(owned.program, static_cast<int>(options.size()), options.data()), "compile");
  std::size_t bytes = 0;
  if (nvrtc.log_size(owned.program, &bytes) == 0 && bytes > 1) {
    made.log.resize(bytes);
    nvrtc.log(owned.program, made.log.data());
    std::erase(made.log, '\0');  // it ends in one, and what ptxas says begins and ends in others
  }
  if (refused) return made;
  for (const auto& instance : request.instances) {
    const char* symbol = nullptr;
    if (failed(nvrtc.lowered_name(owned.program, instance.c_str(), &symbol), "name " + instance)) return made;
    made.symbols.emplace_back(symbol);
  }
  if (failed(nvrtc.cubin_size(owned.program, &bytes), "say how large the cubin is")) return made;
  made.cubin.resize(bytes);
  failed(nvrtc.cubin(owned.program, made.cubin.data()), "hand over the cubin");
  return made;
}

// A line of JSON, then bytes: from one process to another. What is no UTF-8 is no longer itself in the line.
std::string Framed(const json& head, std::string_view bytes) { return JsonText(head) + '\n' + std::string(bytes); }

Command Confined(const Nvrtc& nvrtc, const CubinRequest& request) {
  Command command{.environment = {"LC_ALL=C", "TMPDIR=/tmp"}, .wall = request.wall, .max_output_bytes = kLargestAnswer};
#ifdef HONE_SANITIZED
  command.environment.push_back(
      "ASAN_OPTIONS=detect_leaks=0");  // NVRTC's own; and its shadow is terabytes of addresses
#else
  command.address_space_bytes = ForeignAddresses();
#endif
  if (BubblewrapWorks()) {
    BubblewrapOptions bubble{.environment = command.environment};
#ifdef HONE_SANITIZED
    bubble.processes = true;  // where a sanitizer's runtime reads its options
#endif
    SeeOurProgram(bubble, request.program);
    for (const auto& folder : nvrtc.includes) bubble.read_only.push_back({folder, ""});
    if (nvrtc.path.starts_with('/'))
      bubble.read_only.push_back({std::filesystem::path(nvrtc.path).parent_path().string(), ""});
    command.argv = BubblewrapArgv(bubble);
  } else {
    const auto inherited = InheritedEnvironment();
    command.environment.insert(command.environment.end(), inherited.begin(), inherited.end());
  }
  command.argv.insert(command.argv.end(), {request.program, "nvrtc"});
  return command;
}

// The same by a process of its own.
Result<Made> MakeApart(const Nvrtc& nvrtc, const CubinRequest& request, const std::vector<std::string>& flags) {
  Command command = Confined(nvrtc, request);
  command.input =
      Framed({{"nvrtc", nvrtc.path}, {"name", request.name}, {"instances", request.instances}, {"flags", flags}},
             request.source);
  const auto exit = HONE_TRY(Run(command));
  if (exit.timed_out) {
    const double seconds = std::chrono::duration<double>(request.wall).count();
    return Made{.ended = fmt::format("compiling took longer than {:.3g} s", seconds)};
  }
  const int signal = exit.signal != 0 ? exit.signal : exit.code > 128 ? exit.code - 128 : 0;  // bubblewrap tells it so
  if (signal != 0) {
    const std::string words = Printable(LastLine(exit.error)).substr(0, 200);
    return Made{.ended = fmt::format("the compiler {}{}", Exit{.signal = signal}.Describe(),
                                     words.empty() ? "" : ": " + words)};
  }
  Made made;
  try {
    const auto end = exit.output.find('\n');
    const json head = json::parse(exit.output.substr(0, end));
    head.at("code").get_to(made.code);
    head.at("what").get_to(made.what);
    head.at("log").get_to(made.log);
    head.at("symbols").get_to(made.symbols);
    made.cubin = exit.output.substr(end + 1);
  } catch (const json::exception&) {
    return Fail(ErrorKind::kTool, fmt::format("{} nvrtc {} without an answer: {}", request.program, exit.Describe(),
                                              exit.error.substr(0, exit.error.find('\n'))));
  }
  if (made.code == kOutOfMemory) {
    made.ended = fmt::format("compiling took more than {} GiB", ForeignAddresses() >> 30);
  } else if (made.code != 0 && made.code != kCompilation && made.code != kBuiltins) {
    made.ended = fmt::format("NVRTC cannot {}: {}", made.what, nvrtc.error_string(made.code));
  }
  return made;
}

// A toolkit that was moved or removed while we run would make errors of sources that have none.
Result<void> CheckHeaders(const Nvrtc& nvrtc) {
  for (const auto& folder : nvrtc.includes) {
    std::error_code error;
    if (!std::filesystem::exists(folder, error))
      return Fail(ErrorKind::kTool, fmt::format("the CUDA toolkit's headers are no longer in {}: put them back, or "
                                                "start hone anew to have them looked for",
                                                folder));
  }
  return {};
}

// What came of it: a cubin, the source's error, or NVRTC's failure.
Result<CompiledCubin> Compile(const Nvrtc& nvrtc, const CubinRequest& request, const std::vector<std::string>& flags) {
  Made made = request.program.empty() ? Make(nvrtc, request, flags) : HONE_TRY(MakeApart(nvrtc, request, flags));
  CompiledCubin compiled{.log = std::move(made.log)};
  if (!made.ended.empty()) {
    compiled.errors.push_back({0, std::move(made.ended)});
    return compiled;
  }
  if (made.code == kCompilation) {
    HONE_TRY(CheckHeaders(nvrtc));
    return compiled;
  }
  if (made.code != 0) {
    return Fail(ErrorKind::kTool,
                fmt::format("NVRTC cannot {}: {}; {}", made.what, nvrtc.error_string(made.code), compiled.log));
  }
  if (made.cubin.empty() || made.symbols.size() != request.instances.size())
    return Fail(ErrorKind::kTool,
                fmt::format("NVRTC made no cubin for {}: it wants a real architecture", request.arch));
  compiled.symbols = std::move(made.symbols);
  compiled.cubin = std::move(made.cubin);
  return compiled;
}

}  // namespace

Result<CompiledCubin> CompileCubin(const CubinRequest& request) {
  HONE_CHECK(!request.arch.empty(), "code is compiled for an architecture");
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
    // What took too long or too much may do otherwise another time.
    if (compiled->errors.empty() && (compiled->ok() || compiled->log.find("out of memory") == std::string::npos))
      HONE_TRY(cache.KeepBytes(key, compiled->cubin, WithSymbols(compiled->symbols, compiled->log)));
  }
  if (!compiled->ok() && compiled->errors.empty()) {
    compiled->errors = ErrorsIn(compiled->log, request.name);
    if (compiled->errors.empty()) compiled->errors.push_back({0, "NVRTC refused the source without saying why"});
  }
  compiled->milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return std::move(*compiled);
}

int NvrtcMain() {
  // Whatever a compiler prints is not our answer.
  const int answer = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  std::string line;
  std::getline(std::cin, line);
  const json head = json::parse(line, nullptr, false);
  if (!head.is_object()) return 1;
  CubinRequest request{.name = head.value("name", ""),
                       .instances = head.value("instances", std::vector<std::string>())};
  request.source.assign(std::istreambuf_iterator<char>(std::cin), {});
  const auto nvrtc = OpenNvrtc({.nvrtc = head.value("nvrtc", "")});
  if (!nvrtc) {
    std::fprintf(stderr, "%s\n", nvrtc.error().message.c_str());
    return 1;
  }
  const Made made = Make(*nvrtc, request, head.value("flags", std::vector<std::string>()));
  const std::string text =
      Framed({{"code", made.code}, {"what", made.what}, {"log", made.log}, {"symbols", made.symbols}}, made.cubin);
  for (std::size_t at = 0; at < text.size();) {
    const auto wrote = write(answer, text.data() + at, text.size() - at);
    if (wrote <= 0) return 1;
    at += static_cast<std::size_t>(wrote);
  }
  return 0;
}

Result<std::string> NvrtcVersion() {
  const Nvrtc& nvrtc = *HONE_TRY(TheNvrtc());
  return fmt::format("NVRTC {}.{}", nvrtc.major, nvrtc.minor);
}

}  // namespace hone::cuda
