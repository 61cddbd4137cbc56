// A KernelBench-style Python file: class Model, get_inputs(), get_init_inputs(). The file is code of a stranger, so it
// runs in a child process under a time and a memory limit, where bridge/hone_import.py has PyTorch trace it.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/process.h"
#include "problem/import/bridge.h"
#include "problem/import/import.h"
#include "problem/import/python.h"

namespace hone {
namespace {

using nlohmann::json;

bool Accepts(std::string_view path) { return path.ends_with(".py"); }

std::string LastLine(const std::string& text) {
  const auto end = text.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return "it said nothing";
  const auto begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? 0 : begin + 1) + 1)
      .substr(0, 300);
}

Result<Problem> Read(const std::string& path, const ImportOptions& options) {
  auto python = options.python;
  if (python.empty()) {
    auto found = FindPython();
    if (!found) return Rethrow(found.error(), fmt::format("cannot import {}: ", path));
    python = found->path;
  }
  if (options.weights && options.weights_path.empty()) {
    return Fail(ErrorKind::kUsage, fmt::format("{}: exact weights need a file to be written to", path));
  }
  const json request = {{"path", path},
                        {"weights", options.weights},
                        {"weights_path", options.weights_path},
                        {"memory_bytes", options.memory_bytes},
                        {"contract", std::string(Name(options.contract))}};
  Command command;
  command.argv = {python, "-I", "-c", std::string(ImportBridge()),
                  request.dump(-1, ' ', false, json::error_handler_t::replace)};
  command.environment = InheritedEnvironment();
  command.wall = options.wall;
  command.max_output_bytes = std::size_t{64} << 20;
  const auto exit = HONE_TRY(Run(command));
  if (exit.timed_out) {
    return Fail(ErrorKind::kTimeout, fmt::format("{}: importing it ran past {} s; make it faster or raise the limit",
                                                 path, std::chrono::duration<double>(options.wall).count()));
  }
  const auto answer = json::parse(exit.output, nullptr, false);
  if (answer.is_object() && answer.contains("error") && answer["error"].is_string()) {
    return Fail(ErrorKind::kUsage, answer["error"].get<std::string>());
  }
  if (!exit.ok() || !answer.is_object() || !answer.contains("problem")) {
    return Fail(ErrorKind::kTool,
                fmt::format("{}: {} {} while importing it: {}", path, python, exit.Describe(), LastLine(exit.error)));
  }
  auto problem = ParseProblem(answer["problem"].dump(-1, ' ', false, json::error_handler_t::replace), path);
  if (!problem) return Rethrow(problem.error(), "what the import of the file gave is no problem: ");
  problem->folder = std::filesystem::path(options.weights_path).parent_path().string();
  return problem;
}

}  // namespace

extern const Importer importer_kernelbench_py;
constinit const Importer importer_kernelbench_py{"kernelbench_py", "FILE.py: Model, get_inputs, get_init_inputs",
                                                 &Accepts, &Read};

}  // namespace hone
