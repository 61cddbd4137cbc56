#include "target/cpu/compiler.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>

#include "base/mutex.h"
#include "base/process.h"
#include "target/cpu/diagnostics.h"

namespace hone {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kCompilerMemory = std::uint64_t{4} << 30;

struct Compiler {
  std::string path;
  std::string name;      // "g++ 12.2.0"
  std::string identity;  // all that changes when the compiler does
  bool clang = false;
};

// What -march=native depends on besides the compiler: the first processor's lines of /proc/cpuinfo that do not change
// with time.
std::string ProcessorIdentity() {
  std::ifstream file("/proc/cpuinfo");
  std::string identity, line;
  while (std::getline(file, line) && !line.empty()) {
    for (const std::string_view name : {"vendor_id", "cpu family", "model", "stepping", "flags", "Features",
                                        "CPU implementer", "CPU architecture", "CPU variant", "CPU part"}) {
      if (line.starts_with(name)) identity += line + '\n';
    }
  }
  return identity;
}

Result<Compiler> Identify(const std::string& path) {
  const auto exit = HONE_TRY(
      Run({.argv = {path, "--version"}, .environment = InheritedEnvironment(), .wall = std::chrono::seconds(20)}));
  if (!exit.ok()) return Fail(ErrorKind::kTool, fmt::format("{} --version {}", path, exit.Describe()));
  const auto first = exit.output.substr(0, exit.output.find('\n'));
  Compiler compiler{.path = path};
  compiler.clang = first.find("clang") != std::string::npos;
  // "g++ (Debian 12.2.0-14) 12.2.0", "Ubuntu clang version 18.1.3 (1ubuntu1)"
  auto version = first;
  if (const auto at = first.find("version "); at != std::string::npos) {
    version = first.substr(at + 8);
    version = version.substr(0, version.find(' '));
  } else if (const auto space = first.rfind(' '); space != std::string::npos) {
    version = first.substr(space + 1);
  }
  compiler.name = fmt::format("{} {}", compiler.clang ? "clang++" : "g++", version);
  struct stat info{};
  std::error_code error;
  const auto real = fs::canonical(path, error).string();
  if (stat(path.c_str(), &info) != 0)
    return Fail(ErrorKind::kNotFound, fmt::format("{}: {}", path, std::strerror(errno)));
  compiler.identity =
      fmt::format("{}\n{}\n{}.{}\n{}\n", real, first, info.st_mtim.tv_sec, info.st_mtim.tv_nsec, ProcessorIdentity());
  return compiler;
}

// Found once per process for each value of HONE_CXX.
Result<Compiler> HostCompiler() {
  static Mutex mutex;
  static std::map<std::string, Compiler> known HONE_GUARDED_BY(mutex);
  const char* wish = std::getenv("HONE_CXX");
  const std::string name = wish != nullptr ? wish : "";
  const MutexLock lock(mutex);
  if (const auto found = known.find(name); found != known.end()) return found->second;
  std::optional<std::string> path;
  if (!name.empty()) {
    path = FindProgram(name);
    if (!path || access(path->c_str(), X_OK) != 0) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("HONE_CXX is {}, which is no program here: set it to a C++ compiler or unset it", name));
    }
  } else {
    for (const char* usual : {"g++", "clang++"}) {
      if (!path) path = FindProgram(usual);
    }
    if (!path) return Fail(ErrorKind::kNotFound, "no C++ compiler: install g++, or set HONE_CXX to one");
  }
  auto compiler = HONE_TRY(Identify(*path));
  known.emplace(name, compiler);
  return compiler;
}

}  // namespace

// What every kernel and every baseline is compiled with, the same on every system whatever its compiler's defaults are.
std::vector<std::string> StandardFlags(CompilerKind kind) {
  std::vector<std::string> flags = {
      "-std=c++20", "-O3", "-march=native", "-fopenmp", "-fPIC", "-shared", "-pipe",
      // Speed that costs no meaning: errno and trap flags are nobody's business in a kernel, and a*b+c may be one
      // rounding. NaN, infinities, signed zeros and the order of additions stay as written (no -ffast-math: it would
      // also link a start-up file that flushes denormals in the whole process).
      "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast",
      // Hardening that some distributions switch on by default would be timed as if it were the kernel.
      "-fno-stack-protector", "-fno-stack-clash-protection", "-U_FORTIFY_SOURCE", "-fomit-frame-pointer",
#if defined(__x86_64__)
      "-fcf-protection=none",
#endif
      // Only what hone/module.h exports is seen, and what is missing is found now and not when the module is loaded.
      "-fvisibility=hidden", "-Wl,-z,defs", "-fdiagnostics-color=never"};
  if (kind == CompilerKind::kClang) {
    flags.insert(flags.end(), {"-ferror-limit=20"});
  } else {
    // Unique symbols would keep a module loaded after dlclose.
    flags.insert(flags.end(), {"-fno-gnu-unique", "-fmax-errors=20"});
  }
  return flags;
}

Result<Compiled> CompileModule(const CompileRequest& request) {
  const auto host = HONE_TRY(HostCompiler());
  ModuleCompiler compiler{.path = host.path,
                          .identity = host.identity,
                          .source_name = "kernel.cc",
                          .flags = StandardFlags(host.clang ? CompilerKind::kClang : CompilerKind::kGcc),
                          .memory_bytes = kCompilerMemory,
                          .wall = request.wall,
                          .trusted = request.trusted,
                          .parse = ParseDiagnostics};
  compiler.flags.insert(compiler.flags.end(), request.flags.begin(), request.flags.end());
  return BuildModule(compiler, request.source);
}

Result<std::string> HostCompilerVersion() { return HONE_TRY(HostCompiler()).name; }

}  // namespace hone
