#include "problem/import/python.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

#include "base/process.h"

namespace hone {
namespace {

// Reads torch/version.py without importing torch, which would take a second or two.
constexpr char kProbe[] = R"(
import importlib.util, os, platform
spec = importlib.util.find_spec("torch")
if spec and spec.origin:
    names = {}
    exec(open(os.path.join(os.path.dirname(spec.origin), "version.py")).read(), names)
    print(platform.python_version(), names["__version__"])
)";

}  // namespace

std::optional<PythonTorch> ProbePython(const std::string& python) {
  const auto path = FindProgram(python);
  if (!path) return std::nullopt;
  Command command;
  command.argv = {*path, "-I", "-c", kProbe};
  command.environment = InheritedEnvironment();
  command.wall = std::chrono::seconds(20);  // a cold disk
  const auto exit = Run(command);
  if (!exit || !exit->ok()) return std::nullopt;
  PythonTorch found;
  found.path = *path;
  std::istringstream words(exit->output);
  if (!(words >> found.python_version >> found.torch_version)) return std::nullopt;
  return found;
}

Result<PythonTorch> FindPython() {
  constexpr std::string_view kMend =
      "install torch there, or Debian's python3-torch, or set HONE_PYTHON to an interpreter that has it";
  if (const char* wanted = std::getenv("HONE_PYTHON"); wanted && *wanted) {
    if (auto found = ProbePython(wanted)) return *found;
    return Fail(ErrorKind::kNotFound, fmt::format("HONE_PYTHON={} cannot import torch: {}", wanted, kMend));
  }
  for (const char* name : {"python3", "/usr/bin/python3"}) {
    if (auto found = ProbePython(name)) return *found;
  }
  return Fail(ErrorKind::kNotFound,
              fmt::format("no Python with torch: neither python3 in PATH nor /usr/bin/python3; {}", kMend));
}

}  // namespace hone
