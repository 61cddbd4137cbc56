#include "problem/import/through_python.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/json_text.h"
#include "base/process.h"
#include "base/text.h"
#include "problem/import/bridge.h"
#include "problem/import/confine.h"
#include "problem/import/python.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string LastWords(const std::string& text) {
  const std::string line = LastLine(text).substr(0, 300);
  return line.empty() ? "it said nothing" : line;
}

// The one place that the file's code may write to: a folder beside the file of values, of which only that file is taken
// over. Gone with all else when this ends.
class ValuesFolder {
 public:
  static Result<ValuesFolder> BesideOf(const std::string& values_path) {
    std::string path = (fs::path(values_path).parent_path() / ".hone-import-XXXXXX").string();
    if (!mkdtemp(path.data())) {
      return Fail(ErrorKind::kIo, fmt::format("cannot make a folder beside {}: {}", values_path, std::strerror(errno)));
    }
    return ValuesFolder(std::move(path), values_path);
  }
  ValuesFolder(ValuesFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), values_path_(other.values_path_) {}
  ValuesFolder& operator=(ValuesFolder&&) = delete;
  ~ValuesFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string file() const { return (fs::path(path_) / fs::path(values_path_).filename()).string(); }

  // Nothing to do where no values were written.
  Result<void> Take() const {
    std::error_code error;
    if (!fs::is_regular_file(fs::symlink_status(file(), error))) return {};
    fs::rename(file(), values_path_, error);
    if (error) return Fail(ErrorKind::kIo, fmt::format("cannot write {}: {}", values_path_, error.message()));
    return {};
  }

 private:
  ValuesFolder(std::string path, std::string values_path)
      : path_(std::move(path)), values_path_(std::move(values_path)) {}
  std::string path_, values_path_;
};

// {"name": [4, 8]}; what is none of that is left out.
std::map<std::string, Shape> ShapesIn(const json& rows) {
  std::map<std::string, Shape> shapes;
  if (!rows.is_object()) return shapes;
  for (const auto& [name, row] : rows.items()) {
    Shape shape;
    for (const auto& extent : row) {
      if (extent.is_number_integer()) shape.push_back(extent.get<std::int64_t>());
    }
    if (row.is_array() && shape.size() == row.size()) shapes[name] = shape;
  }
  return shapes;
}

}  // namespace

Result<Problem> ImportThroughPython(const std::string& path, const json& what, const ImportOptions& options) {
  auto python = options.python;
  if (python.empty()) {
    auto found = FindPython();
    if (!found) return Rethrow(found.error(), fmt::format("cannot import {}: ", path));
    python = found->path;
  }
  if (options.weights && options.weights_path.empty()) {
    return Fail(ErrorKind::kUsage, fmt::format("{}: exact weights need a file to be written to", path));
  }
  const ValuesFolder values = HONE_TRY(ValuesFolder::BesideOf(options.weights_path));
  const std::string shrunk_path = fs::path(options.weights_path).replace_extension(".py").string();
  std::error_code ignored;
  if (options.shrink_mflop > 0 && fs::equivalent(path, shrunk_path, ignored)) {
    return Fail(ErrorKind::kUsage, fmt::format("{}: the cut file would replace it; write to another name", path));
  }
  json request = {{"path", path},
                  {"weights", options.weights},
                  {"weights_path", values.file()},
                  {"memory_bytes", options.memory_bytes},
                  {"contract", std::string(Name(options.contract))},
                  {"types", json::parse(DTypesJson())}};
  request.update(what);
  if (options.shrink_mflop > 0) {
    request["shrink_mflop"] = options.shrink_mflop;
    request["shrunk_path"] = shrunk_path;
    request["shrink_program"] = ShrinkBridge();
  }
  Command command;
  command.argv = {python};
  std::ranges::move(ProgramArguments(ImportBridge()), std::back_inserter(command.argv));
  command.argv.push_back(JsonText(request));
  command.environment = InheritedEnvironment();
  command.wall = options.wall;
  command.max_output_bytes = std::size_t{64} << 20;
  command.most_processes = kMostProcessesOfAFile;
  const bool confined = CanConfine();
  if (confined) Confine(command, {.files = {path}, .writable = values.path()});
  const Exit ended = HONE_TRY(Run(command));
  const Exit exit = confined ? ConfinedExit(ended) : ended;
  if (exit.timed_out) {
    return Fail(
        ErrorKind::kTimeout,
        fmt::format("{}: importing it ran past {} s; make its __init__ and forward faster, or its sizes smaller", path,
                    std::chrono::duration<double>(options.wall).count()));
  }
  if (exit.too_many > 0)
    return Fail(ErrorKind::kUsage, fmt::format("{}: while it was imported it {}", path, exit.Describe()));
  const auto answer = json::parse(exit.output, nullptr, false);
  if (answer.is_object() && answer.contains("error") && answer["error"].is_string()) {
    return Fail(ErrorKind::kUsage, answer["error"].get<std::string>());
  }
  if (!exit.ok() || !answer.is_object() || !answer.contains("problem")) {
    return Fail(ErrorKind::kTool,
                fmt::format("{}: {} {} while importing it: {}", path, python, exit.Describe(), LastWords(exit.error)));
  }
  auto problem = ParseProblem(JsonText(answer["problem"]), path);
  if (!problem) return Rethrow(problem.error(), "what the import of the file gave is no problem: ");
  HONE_TRY(values.Take());
  if (answer.contains("shrunk_source") && answer["shrunk_source"].is_string()) {
    HONE_TRY(WriteFileAtomically(shrunk_path, answer["shrunk_source"].get<std::string>()));
  }
  if (options.recorded_shapes && answer.contains("shapes")) {
    *options.recorded_shapes = ShapesIn(answer["shapes"]);
  }
  problem->folder = fs::path(options.weights_path).parent_path().string();
  return problem;
}

}  // namespace hone
