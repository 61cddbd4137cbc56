#include "problem/import/confine.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/bubblewrap.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

fs::path Absolute(const fs::path& path) {
  std::error_code ignored;
  return fs::absolute(path, ignored).lexically_normal();
}

bool Below(const fs::path& path, const fs::path& folder) {
  const auto rest = path.lexically_relative(folder);
  return !rest.empty() && rest != "." && *rest.begin() != "..";
}

// Where keys and passwords lie, below the user's home.
constexpr const char* kSecrets[] = {".ssh",
                                    ".gnupg",
                                    ".aws",
                                    ".azure",
                                    ".config",
                                    ".kube",
                                    ".docker",
                                    ".git-credentials",
                                    ".netrc",
                                    ".pgpass",
                                    ".pypirc",
                                    ".npmrc",
                                    ".password-store",
                                    ".local/share/keyrings",
                                    ".huggingface",
                                    ".cache/huggingface/token"};

void HideSecrets(BubblewrapOptions& options) {
  const char* home = std::getenv("HOME");
  std::error_code ignored;
  if (home == nullptr || *home != '/') return;
  for (const char* name : kSecrets) {
    const fs::path path = fs::path(home) / name;
    // What lies below our /tmp is hidden anyway.
    if (fs::exists(path, ignored) && !Below(path, "/tmp")) options.hidden.push_back(path.string());
  }
}

}  // namespace

bool CanConfine() { return BubblewrapBindsRoot(); }

void Confine(Command& command, const ConfineOptions& confine) {
  BubblewrapOptions options;
  options.whole_root = true;
  options.processes = true;
  if (confine.device) SeeDeviceNodes(options);
  HideSecrets(options);
  // The new /tmp hides what lies in ours: the parts that are needed are put back.
  const auto show = [&](const fs::path& path) {
    if (Below(path, "/tmp")) options.read_only.push_back({path.string(), ""});
  };
  std::error_code ignored;
  const fs::path current = fs::current_path(ignored);
  for (const std::string& file : confine.files) {
    const fs::path path = Absolute(file);
    show(path);
    show(path.parent_path());  // what it reads or imports
  }
  show(current);
  const std::string& python = command.argv.front();
  if (python.find('/') != std::string::npos) show(Absolute(python).parent_path().parent_path());
  if (!confine.writable.empty()) options.writable = {{Absolute(confine.writable).string(), ""}};
  options.directory = current.string();
  for (const std::string& line : command.environment) {
    if (!line.starts_with("TMPDIR=")) options.environment.push_back(line);
  }
  auto argv = BubblewrapArgv(options);
  argv.insert(argv.end(), command.argv.begin(), command.argv.end());
  command.argv = std::move(argv);
}

Exit ConfinedExit(Exit exit) {
  if (exit.signal == 0 && exit.code > 128) exit.signal = std::exchange(exit.code, 0) - 128;
  return exit;
}

}  // namespace hone
