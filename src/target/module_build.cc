#include "target/module_build.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "base/bubblewrap.h"
#include "base/files.h"
#include "base/process.h"
#include "base/sha256.h"
#include "target/build_cache.h"

namespace hone {

extern const std::string_view kModuleHeader;
extern const std::string_view kDlpackHeader;

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kLibraryName = "kernel.so";
constexpr std::uint64_t kLargestFile = 256u << 20;  // `asm(".space ...")` fills a disk in no time
constexpr std::size_t kLongestLog = 1u << 20;

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
  BuildFolder(std::string path, std::string source) : path_(std::move(path)), source_(std::move(source)) {}
  BuildFolder(const BuildFolder&) = delete;
  BuildFolder& operator=(const BuildFolder&) = delete;
  ~BuildFolder() {
    for (const std::string_view name : {std::string_view(source_), kLibraryName}) unlink(File(name).c_str());
    if (rmdir(path_.c_str()) == 0) return;
    std::error_code error;
    fs::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const { return fmt::format("{}/{}", path_, name); }

 private:
  std::string path_, source_;
};

// The command that turns the source in `build` into kernel.so there. Foreign source is kept in a sandbox where there is
// one: #include and .incbin read any file that the compiler can read, and errors quote it.
Command CompileCommand(const ModuleCompiler& compiler, const std::string& include, const std::string& build) {
  Command command;
  command.wall = compiler.wall;
  command.max_output_bytes = kLongestLog;
  const bool sandboxed = !compiler.trusted && BubblewrapWorks();
  if (!compiler.trusted) {
    command.address_space_bytes = compiler.memory_bytes;
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
    std::error_code error;
    for (const auto& path : {fs::path(compiler.path), fs::canonical(compiler.path, error)}) {
      if (const auto folder = InstallationOf(path); !folder.empty()) options.read_only.push_back({folder, ""});
    }
    for (const auto& folder : compiler.needs) options.read_only.push_back({folder, ""});
    const auto sandbox = BubblewrapArgv(options);
    command.argv.insert(command.argv.end(), sandbox.begin(), sandbox.end());
  } else {
    command.environment = {"LC_ALL=C"};  // the first of a name counts
    const auto inherited = InheritedEnvironment();
    command.environment.insert(command.environment.end(), inherited.begin(), inherited.end());
    command.directory = build;
  }
  command.argv.push_back(compiler.path);
  command.argv.insert(command.argv.end(), compiler.flags.begin(), compiler.flags.end());
  command.argv.insert(command.argv.end(),
                      {"-I", sandboxed ? "/include" : include, compiler.source_name, "-o", std::string(kLibraryName)});
  return command;
}

// Whether the same source would fail again: yes if it is at fault, no if the machine may have been.
bool IsSourceAtFault(const Exit& exit, const std::string& log) {
  if (exit.signal != 0 || exit.timed_out) return false;
  if (exit.code != 1 && exit.code != 2 && exit.code != 255) return false;  // nvcc hands on those of cicc and ptxas
  for (const char* machine :
       {"internal compiler error", "Killed", "out of memory", "virtual memory exhausted", "No space left", "bwrap: "}) {
    if (log.find(machine) != std::string::npos) return false;
  }
  return true;
}

}  // namespace

Result<Compiled> BuildModule(const ModuleCompiler& compiler, const std::string& source) {
  const auto start = Clock::now();
  std::string material = compiler.identity;
  for (const auto& flag : compiler.flags) material += flag + '\n';
  // Trusted source sees more files, so its objects are never handed to foreign source.
  material += compiler.trusted ? "trusted\n" : BubblewrapWorks() ? "sandboxed\n" : "not sandboxed\n";
  material += fmt::format("{} {}\n", kModuleHeader.size(), kDlpackHeader.size());
  material.append(kModuleHeader).append(kDlpackHeader).append(source);
  const auto key = Sha256(material);

  const auto cache = HONE_TRY(BuildCache::Open());
  const auto finish = [&](const CacheEntry& entry, bool cached) {
    Compiled compiled{.library = entry.file, .log = entry.log, .cached = cached};
    if (!compiled.ok()) compiled.errors = compiler.parse(compiled.log, compiler.source_name);
    if (!compiled.ok() && compiled.errors.empty())
      compiled.errors.push_back({.message = "the compiler failed without saying why"});
    compiled.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    return compiled;
  };
  if (const auto entry = cache.Find(key)) return finish(*entry, true);
  const auto lock = HONE_TRY(cache.Lock(key));
  if (const auto entry = cache.Find(key)) return finish(*entry, true);  // someone else was at it

  const auto include = HONE_TRY(IncludeFolder(cache.folder()));
  const BuildFolder build(HONE_TRY(cache.MakeBuildFolder()), compiler.source_name);
  {
    std::ofstream file(build.File(compiler.source_name), std::ios::binary);
    file << source;
    if (!file.flush()) return Fail(ErrorKind::kIo, fmt::format("cannot write {}", build.File(compiler.source_name)));
  }
  const auto exit = HONE_TRY(Run(CompileCommand(compiler, include, build.path())));
  auto log = exit.error.empty() ? exit.output : exit.error;
  if (exit.ok()) return finish(HONE_TRY(cache.Keep(key, build.File(kLibraryName), std::move(log))), false);
  if (IsSourceAtFault(exit, log)) return finish(HONE_TRY(cache.Keep(key, "", std::move(log))), false);
  if (log.starts_with("bwrap: "))
    return Fail(ErrorKind::kTool, fmt::format("the sandbox failed: {}", log.substr(0, log.find('\n'))));
  auto compiled = finish({.log = std::move(log)}, false);
  compiled.timed_out = exit.timed_out;
  if (exit.timed_out || exit.signal != 0) {
    compiled.errors.insert(
        compiled.errors.begin(),
        {.message = exit.timed_out ? fmt::format("compiling took longer than {:.3g} s",
                                                 std::chrono::duration<double>(compiler.wall).count())
                                   : fmt::format("the compiler {}", exit.Describe())});
  }
  return compiled;
}

}  // namespace hone
