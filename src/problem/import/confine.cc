#include "problem/import/confine.h"

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

}  // namespace

bool CanConfine() { return BubblewrapBindsRoot(); }

void Confine(Command& command, const std::string& file, const std::string& python, const std::string& writable) {
  BubblewrapOptions options;
  options.whole_root = true;
  options.processes = true;
  // The new /tmp hides what lies in ours: the parts that are needed are put back.
  const auto show = [&](const fs::path& path) {
    if (Below(path, "/tmp")) options.read_only.push_back({path.string(), ""});
  };
  std::error_code ignored;
  const fs::path path = Absolute(file), current = fs::current_path(ignored);
  show(path);
  show(path.parent_path());  // what it reads or imports
  show(current);
  if (python.find('/') != std::string::npos) show(Absolute(python).parent_path().parent_path());
  options.writable = {{Absolute(writable).string(), ""}};
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
