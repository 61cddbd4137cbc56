#include "target/cpu/compiler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string_view>

#include "base/bubblewrap.h"
#include "base/files.h"
#include "base/process.h"
#include "base/sha256.h"
#include "target/build_cache.h"
#include "target/cpu/diagnostics.h"

namespace hone {

extern const std::string_view kModuleHeader;
extern const std::string_view kDlpackHeader;

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kSourceName = "kernel.cc";
constexpr std::string_view kLibraryName = "kernel.so";
constexpr std::uint64_t kCompilerMemory = std::uint64_t{4} << 30;
constexpr std::uint64_t kLargestFile = 256u << 20;  // `asm(".space ...")` fills a disk in no time
constexpr std::size_t kLongestLog = 1u << 20;

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
  static std::mutex mutex;
  static std::map<std::string, Compiler> known;
  const char* wish = std::getenv("HONE_CXX");
  const std::string name = wish != nullptr ? wish : "";
  const std::lock_guard lock(mutex);
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

// Puts the headers that modules include into the cache, once for each version of them; returns the folder for -I.
Result<std::string> IncludeFolder(const std::string& cache) {
  static const std::string id = Sha256(fmt::format("{}\n{}", kModuleHeader, kDlpackHeader)).substr(0, 16);
  auto folder = fmt::format("{}/include/{}", cache, id);
  const std::pair<const char*, std::string_view> files[] = {{"/dlpack/dlpack.h", kDlpackHeader},
                                                            {"/hone/module.h", kModuleHeader}};
  for (const auto& [name, text] : files) {
    const auto path = folder + name;
    struct stat info{};
    if (stat(path.c_str(), &info) == 0 && static_cast<std::size_t>(info.st_size) == text.size()) continue;
    HONE_TRY(WriteFileAtomically(path, text));
  }
  return folder;
}

// A folder that goes away with all that is in it.
class BuildFolder {
 public:
  explicit BuildFolder(std::string path) : path_(std::move(path)) {}
  BuildFolder(const BuildFolder&) = delete;
  BuildFolder& operator=(const BuildFolder&) = delete;
  ~BuildFolder() {
    for (const auto name : {kSourceName, kLibraryName}) unlink(File(name).c_str());
    if (rmdir(path_.c_str()) == 0) return;
    std::error_code error;
    fs::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const { return fmt::format("{}/{}", path_, name); }

 private:
  std::string path_;
};

// The command that turns kernel.cc in `build` into kernel.so there. Foreign source is kept in a sandbox where there is
// one: #include and .incbin read any file that the compiler can read, and errors quote it.
Command CompileCommand(const CompileRequest& request, const Compiler& compiler, const std::vector<std::string>& flags,
                       const std::string& include, const std::string& build) {
  Command command;
  command.wall = request.wall;
  command.max_output_bytes = kLongestLog;
  const bool sandboxed = !request.trusted && BubblewrapWorks();
  if (!request.trusted) {
    command.address_space_bytes = kCompilerMemory;
    if (FindProgram("prlimit")) {
      command.argv = {"prlimit", fmt::format("--fsize={}", kLargestFile), "--core=0"};
    }
  }
  command.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TMPDIR=/tmp"};
  if (sandboxed) {
    BubblewrapOptions options;
    options.read_only = {{include, "/include"}};
    options.writable = {{build, "/build"}};
    options.directory = "/build";
    options.environment = command.environment;
    options.tmpfs_bytes = kLargestFile;
    // A compiler outside of /usr brings its installation along: /opt/gcc-14/bin/g++ needs /opt/gcc-14.
    std::error_code error;
    for (const auto& path : {fs::path(compiler.path), fs::canonical(compiler.path, error)}) {
      const auto root = path.parent_path().parent_path();
      if (path.is_absolute() && root.has_relative_path() && *std::next(root.begin()) != "usr")
        options.read_only.push_back({root, ""});
    }
    const auto sandbox = BubblewrapArgv(options);
    command.argv.insert(command.argv.end(), sandbox.begin(), sandbox.end());
  } else {
    command.environment = InheritedEnvironment();
    command.environment.emplace_back("LC_ALL=C");
    command.directory = build;
  }
  command.argv.push_back(compiler.path);
  command.argv.insert(command.argv.end(), flags.begin(), flags.end());
  command.argv.insert(command.argv.end(), {"-I", sandboxed ? "/include" : include, std::string(kSourceName), "-o",
                                           std::string(kLibraryName)});
  return command;
}

// Whether the same source would fail again: yes if it is at fault, no if the machine may have been.
bool IsSourceAtFault(const Exit& exit, const std::string& log) {
  if (exit.signal != 0 || exit.timed_out || exit.code != 1) return false;
  for (const char* machine :
       {"internal compiler error", "Killed", "out of memory", "virtual memory exhausted", "No space left", "bwrap: "}) {
    if (log.find(machine) != std::string::npos) return false;
  }
  return true;
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
  const auto start = Clock::now();
  const auto compiler = HONE_TRY(HostCompiler());
  auto flags = StandardFlags(compiler.clang ? CompilerKind::kClang : CompilerKind::kGcc);
  flags.insert(flags.end(), request.flags.begin(), request.flags.end());

  std::string material = compiler.identity;
  for (const auto& flag : flags) material += flag + '\n';
  // Trusted source sees more files, so its objects are never handed to foreign source.
  material += request.trusted ? "trusted\n" : BubblewrapWorks() ? "sandboxed\n" : "not sandboxed\n";
  material += fmt::format("{} {}\n", kModuleHeader.size(), kDlpackHeader.size());
  material.append(kModuleHeader).append(kDlpackHeader).append(request.source);
  const auto key = Sha256(material);

  const auto cache = HONE_TRY(BuildCache::Open());
  const auto finish = [&](const CacheEntry& entry, bool cached) {
    Compiled compiled{.library = entry.file, .log = entry.log, .cached = cached};
    if (!compiled.ok()) compiled.errors = ParseDiagnostics(compiled.log, kSourceName);
    if (!compiled.ok() && compiled.errors.empty())
      compiled.errors.push_back({.message = "the compiler failed without saying why"});
    compiled.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    return compiled;
  };
  if (const auto entry = cache.Find(key)) return finish(*entry, true);
  const auto lock = HONE_TRY(cache.Lock(key));
  if (const auto entry = cache.Find(key)) return finish(*entry, true);  // someone else was at it

  const auto include = HONE_TRY(IncludeFolder(cache.folder()));
  const BuildFolder build(HONE_TRY(cache.MakeBuildFolder()));
  {
    std::ofstream file(build.File(kSourceName), std::ios::binary);
    file << request.source;
    if (!file.flush()) return Fail(ErrorKind::kIo, fmt::format("cannot write {}", build.File(kSourceName)));
  }
  const auto exit = HONE_TRY(Run(CompileCommand(request, compiler, flags, include, build.path())));
  auto log = exit.error.empty() ? exit.output : exit.error;
  if (exit.ok()) return finish(HONE_TRY(cache.Keep(key, build.File(kLibraryName), std::move(log))), false);
  if (IsSourceAtFault(exit, log)) return finish(HONE_TRY(cache.Keep(key, "", std::move(log))), false);
  if (log.starts_with("bwrap: "))
    return Fail(ErrorKind::kTool, fmt::format("the sandbox failed: {}", log.substr(0, log.find('\n'))));
  auto compiled = finish({.log = std::move(log)}, false);
  compiled.timed_out = exit.timed_out;
  if (exit.timed_out || exit.signal != 0) {
    compiled.errors.insert(compiled.errors.begin(),
                           {.message = exit.timed_out ? fmt::format("compiling took longer than {:.3g} s",
                                                                    std::chrono::duration<double>(request.wall).count())
                                                      : fmt::format("the compiler {}", exit.Describe())});
  }
  return compiled;
}

Result<std::string> HostCompilerVersion() { return HONE_TRY(HostCompiler()).name; }

}  // namespace hone
