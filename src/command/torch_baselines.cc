#include "command/torch_baselines.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/process.h"
#include "base/sha256.h"
#include "problem/import/bridge.h"
#include "problem/import/python.h"
#include "verdict/baselines.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostFlushed = std::int64_t{256} << 20;
constexpr std::string_view kNoPython = "no Python with torch; `hone doctor` says how to get it";

std::optional<PythonTorch> PythonOf(const TorchBaselinesOptions& options) {
  if (!options.python.empty()) return ProbePython(options.python);
  if (auto found = FindPython()) return std::move(*found);
  return std::nullopt;
}

// What all have in common. `file`: the problem's, or empty.
OutsideBaseline Started(const PythonTorch& python, const std::string& file, const DeviceModel& machine, bool cuda) {
  const std::int64_t flush_bytes =
      cuda ? 2 * machine.l2_bytes + 1
           : std::min(2 * std::max(machine.l2_bytes * machine.threads, machine.l3_bytes), kMostFlushed);
  OutsideBaseline baseline;
  baseline.argv = {python.path,
                   "-I",
                   "-c",
                   std::string(BaselineBridge()),
                   file.empty() ? file : fs::absolute(file).string(),
                   "eager",
                   std::to_string(cuda ? DescribeMachine().threads : machine.threads),
                   std::to_string(flush_bytes),
                   cuda ? "cuda" : "cpu"};
  baseline.environment = InheritedEnvironment();
  if (!file.empty()) baseline.files = {file};
  baseline.device = cuda;
  return baseline;
}

// PyTorch on the problem's own file, in the ways that it has.
void AddModes(const Problem& problem, const OutsideBaseline& started, const PythonTorch& python,
              const std::string& text, const DeviceModel& machine, TorchBaselines& baselines) {
  for (const BaselineRow& row : kBaselines) {
    if (!row.torch || !(started.device ? row.device : row.host)) continue;
    if (row.name.starts_with("compile") && python.torch_version.starts_with("1.")) continue;
    OutsideBaseline& baseline = baselines.outside.emplace_back(started);
    baseline.name = baseline.mode = row.name;
    if (row.usual) baselines.usual.emplace_back(row.name);
  }
  if (!started.device) return;
  // A processor's times depend on what else it does at that minute; a device's do not, so they are kept. machine.id is
  // of the device's UUID and its driver.
  const std::string file = Sha256(text);
  const std::string key =
      Sha256(fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n", Identity(problem), file, machine.id, machine.multiprocessors,
                         python.torch_version, python.python_version, Sha256(BaselineBridge())));
  baselines.kept = fmt::format("{}/baselines/{}.json", DataDirectory(), key.substr(0, 32));
  baselines.about = fmt::format(
      R"({{"problem": "{}", "file_sha256": "{}", "device": "{}", "machine": "{}", "torch": "{}", "python": "{}"}})",
      Identity(problem), file, machine.processor, machine.id, python.torch_version, python.python_version);
}

// By the file's name where that tells it from all others, else as it was asked for.
std::string NameOf(const std::string& asked, const OwnModule& module, const TorchBaselinesOptions& options) {
  const std::string name = fs::path(module.file).filename().string();
  const auto same = std::count_if(options.asked.begin(), options.asked.end(), [&](const std::string& one) {
    const auto other = ParseOwnModule(one);
    return other && fs::path(other->file).filename() == name;
  });
  return same == 1 ? name : asked;
}

}  // namespace

std::optional<OwnModule> ParseOwnModule(std::string_view asked) {
  constexpr std::string_view kEnding = ".py";
  if (asked.ends_with(kEnding)) return OwnModule{std::string(asked), ""};
  const auto colon = asked.rfind(':');
  if (colon == std::string_view::npos || !asked.substr(0, colon).ends_with(kEnding)) return std::nullopt;
  return OwnModule{std::string(asked.substr(0, colon)), std::string(asked.substr(colon + 1))};
}

Result<TorchBaselines> FindTorchBaselines(const Problem& problem, const DeviceModel& machine,
                                          const TorchBaselinesOptions& options) {
  TorchBaselines baselines;
  const auto source = problem.provenance.find("source");
  const bool from_python =
      source != problem.provenance.end() && (source->second.ends_with(".py") || source->second.ends_with(".pt2"));
  const bool brought = std::any_of(options.asked.begin(), options.asked.end(),
                                   [](const std::string& one) { return ParseOwnModule(one).has_value(); });
  if (!brought && !(from_python && options.of_problem)) {
    baselines.asked = options.asked;
    return baselines;
  }
  const auto text = from_python ? ReadFile(source->second) : Result<std::string>(std::string());
  const auto python = PythonOf(options);
  if (from_python && options.of_problem) {
    if (!text) {
      baselines.why_not =
          fmt::format("{}; `hone import` it again where it is now, or --no-torch", text.error().message);
    } else if (!python) {
      baselines.why_not = kNoPython;
    } else {
      AddModes(problem, Started(*python, source->second, machine, options.cuda), *python, *text, machine, baselines);
    }
  }
  for (const std::string& asked : options.asked) {
    const auto module = ParseOwnModule(asked);
    if (!module) {
      baselines.asked.push_back(asked);
      continue;
    }
    std::error_code ignored;
    if (!fs::is_regular_file(module->file, ignored))
      return Fail(ErrorKind::kUsage, fmt::format("--baseline {}: there is no file {}", asked, module->file));
    if (!python) return Fail(ErrorKind::kUsage, fmt::format("--baseline {}: {}", asked, kNoPython));
    OutsideBaseline baseline = Started(*python, from_python && text ? source->second : "", machine, options.cuda);
    baseline.name = NameOf(asked, *module, options);
    baseline.mode = "own";
    baseline.own = true;
    baseline.argv.push_back(fs::absolute(module->file).string());
    baseline.argv.push_back(module->module_class);
    baseline.files.push_back(module->file);
    baselines.asked.push_back(baseline.name);
    baselines.outside.push_back(std::move(baseline));
  }
  return baselines;
}

}  // namespace hone
