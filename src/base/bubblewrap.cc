#include "base/bubblewrap.h"

#include <fmt/format.h>
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

std::vector<std::string> BubblewrapArgv(const BubblewrapOptions& options) {
  Argv argv{Program(),           "--unshare-all", "--unshare-user", "--cap-drop", "ALL",
            "--die-with-parent", "--new-session", "--clearenv",     "--hostname", "hone"};
  AppendFiles(argv, options.whole_root);
  if (options.devices) Append(argv, {"--dev", "/dev"});
  for (const auto& node : options.nodes) Append(argv, {"--dev-bind-try", node, node});
  if (options.processes && BubblewrapMountsProc()) Append(argv, {"--proc", "/proc"});
  const auto size = std::to_string(options.tmpfs_bytes);
  for (const auto& path : options.tmpfs) Append(argv, {"--size", size, "--tmpfs", path});
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
