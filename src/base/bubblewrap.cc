#include "base/bubblewrap.h"

#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <filesystem>
#include <iterator>

#include "base/process.h"

namespace hone {
namespace {

using Argv = std::vector<std::string>;

void Append(Argv& argv, std::initializer_list<std::string_view> words) {
  argv.insert(argv.end(), words.begin(), words.end());
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// On a merged-/usr system /bin and /lib are links into /usr and must be links inside as well; elsewhere they are
// folders.
void AppendSystem(Argv& argv) {
  Append(argv, {"--ro-bind", "/usr", "/usr"});
  for (const char* path : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    struct stat info{};
    if (lstat(path, &info) != 0) continue;
    char target[PATH_MAX];
    const auto length = S_ISLNK(info.st_mode) ? readlink(path, target, sizeof target) : -1;
    if (length > 0) {
      Append(argv, {"--symlink", std::string_view(target, static_cast<std::size_t>(length)), path});
    } else {
      Append(argv, {"--ro-bind", path, path});
    }
  }
  for (const char* path : {"/etc/alternatives", "/etc/ld.so.cache"}) Append(argv, {"--ro-bind-try", path, path});
}

void AppendFiles(Argv& argv, bool whole_root) {
  if (whole_root) {
    Append(argv, {"--ro-bind", "/", "/"});
  } else {
    AppendSystem(argv);
  }
}

// By its path: who starts a sandbox may do so with another PATH than ours. Empty: it is not here.
const std::string& Program() {
  static const std::string path = FindProgram("bwrap").value_or("");
  return path;
}

bool Probe(bool processes, bool whole_root = false) {
  if (Program().empty()) return false;
  Argv argv{Program(), "--unshare-all", "--unshare-user", "--cap-drop", "ALL"};
  AppendFiles(argv, whole_root);
  if (processes) Append(argv, {"--proc", "/proc"});
  Append(argv, {"--", "/bin/true"});
  const auto exit = Run({.argv = std::move(argv), .wall = std::chrono::seconds(10)});
  return exit && exit->ok();
}

}  // namespace

bool BubblewrapWorks() {
  static const bool works = Probe(false);
  return works;
}

bool BubblewrapMountsProc() {
  static const bool mounts = BubblewrapWorks() && Probe(true);
  return mounts;
}

bool BubblewrapBindsRoot() {
  static const bool binds = BubblewrapWorks() && Probe(false, true);
  return binds;
}

std::string InstallationOf(const std::string& program) {
  const std::filesystem::path path = program, root = path.parent_path().parent_path();
  const bool apart = path.is_absolute() && root.has_relative_path() && *std::next(root.begin()) != "usr";
  return apart ? root.string() : std::string();
}

void SeeOurProgram(BubblewrapOptions& options, const std::string& program) {
  namespace fs = std::filesystem;
  options.read_only.push_back({program, ""});
  // The loader's own way, $ORIGIN/../lib, is lost inside: without a /proc nobody knows where a program lies.
  std::vector<std::string> named{(fs::path(program).parent_path().parent_path() / "lib").string()};
  for (const auto& folder : FoldersOf("LD_LIBRARY_PATH")) {
    if (folder.starts_with('/')) named.push_back(fs::path(folder).lexically_normal().string());
  }
  std::vector<fs::path> libraries;
  const auto add = [](dl_phdr_info* library, std::size_t, void* to) {
    static_cast<std::vector<fs::path>*>(to)->push_back(fs::path(library->dlpi_name).lexically_normal());
    return 0;
  };
  dl_iterate_phdr(add, &libraries);
  std::string folders;
  for (const auto& folder : named) {
    bool ours = false;
    for (const auto& library : libraries) {
      if (library.parent_path() != folder || folder.starts_with("/usr/") || folder.starts_with("/lib")) continue;
      options.read_only.push_back({library.string(), ""});
      ours = true;
    }
    if (ours) folders += (folders.empty() ? "" : ":") + folder;
  }
  if (folders.empty()) return;
  constexpr std::string_view kName = "LD_LIBRARY_PATH=";
  for (auto& line : options.environment) {
    if (!line.starts_with(kName)) continue;
    line.insert(kName.size(), folders + ":");
    return;
  }
  options.environment.push_back(std::string(kName) + folders);
}

void SeeDeviceNodes(BubblewrapOptions& options) {
  std::error_code failed;
  for (const auto& node : std::filesystem::directory_iterator("/dev", failed)) {
    if (node.path().filename().string().starts_with("nvidia")) options.nodes.push_back(node.path().string());
  }
}

std::vector<std::string> BubblewrapArgv(const BubblewrapOptions& options) {
  Argv argv{Program(),           "--unshare-all", "--unshare-user", "--cap-drop", "ALL",
            "--die-with-parent", "--new-session", "--clearenv",     "--hostname", "hone"};
  AppendFiles(argv, options.whole_root);
  if (options.devices) Append(argv, {"--dev", "/dev"});
  for (const auto& node : options.nodes) Append(argv, {"--dev-bind-try", node, node});
  if (options.processes && BubblewrapMountsProc()) Append(argv, {"--proc", "/proc"});
  const auto size = std::to_string(options.tmpfs_bytes);
  for (const auto& path : options.tmpfs) Append(argv, {"--size", size, "--tmpfs", path});
  for (const auto& path : options.hidden) {
    if (std::filesystem::is_directory(path)) {
      Append(argv, {"--tmpfs", path});
    } else {
      Append(argv, {"--ro-bind", "/dev/null", path});
    }
  }
  // After the tmpfs folders, so that something under /tmp can be bound into them.
  for (const auto& bind : options.read_only) {
    if (Exists(bind.path)) Append(argv, {"--ro-bind", bind.path, bind.inside.empty() ? bind.path : bind.inside});
  }
  for (const auto& bind : options.writable) {
    Append(argv, {"--bind", bind.path, bind.inside.empty() ? bind.path : bind.inside});
  }
  for (const auto& line : options.environment) {
    const auto equals = line.find('=');
    if (equals == std::string::npos) continue;
    Append(argv, {"--setenv", std::string_view(line).substr(0, equals), std::string_view(line).substr(equals + 1)});
  }
  Append(argv, {"--chdir", options.directory, "--"});
  return argv;
}

}  // namespace hone
