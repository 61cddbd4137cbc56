// A definition of SOL-ExecBench or FlashInfer-Bench: axes, inputs and outputs by axis names, a reference in PyTorch,
// and beside it workloads, each of which gives the variable axes their values and says where inputs come from.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <vector>

#include "base/files.h"
#include "problem/import/through_python.h"

namespace hone::importer_definition {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kInFolder[] = "definition.json";

bool Accepts(std::string_view path) {
  std::error_code ignored;
  if (fs::is_directory(fs::path(path), ignored)) return fs::exists(fs::path(path) / kInFolder, ignored);
  if (!path.ends_with(".json")) return false;
  const auto text = ReadFile(std::string(path));
  if (!text || text->find("\"reference\"") == std::string::npos || NestsDeep(*text)) return false;
  const auto document = json::parse(*text, nullptr, false);
  return document.is_object() && document.contains("reference") && document.contains("axes") &&
         !document.contains("hone_problem");
}

// Where workloads of a definition lie: beside it, or, in FlashInfer's data, in a tree beside that of definitions.
std::vector<fs::path> WorkloadPlaces(const fs::path& definition) {
  const fs::path folder = definition.parent_path();
  const std::string stem = definition.stem().string();
  std::vector<fs::path> places = {folder / "workload.jsonl", folder / "workloads.jsonl", folder / (stem + ".jsonl")};
  const fs::path tree = folder.parent_path().parent_path() / "workloads" / folder.filename();
  places.push_back(tree / (stem + ".jsonl"));
  return places;
}

struct Workload {
  json row;
  std::string where;  // file and line
};

Result<std::optional<Workload>> PickWorkload(const fs::path& definition, const std::string& wanted) {
  for (const auto& place : WorkloadPlaces(definition)) {
    std::error_code ignored;
    if (!fs::is_regular_file(place, ignored)) continue;
    const std::string text = HONE_TRY(ReadFile(place.string()));
    std::istringstream lines(text);
    std::string line, known;
    int number = 0, index = 0;
    while (std::getline(lines, line)) {
      ++number;
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      const std::string where = fmt::format("{}:{}", place.string(), number);
      json row = NestsDeep(line) ? json() : json::parse(line, nullptr, false);
      if (row.is_object() && row.contains("workload")) row = json(row["workload"]);  // FlashInfer keeps traces
      if (!row.is_object())
        return Fail(ErrorKind::kUsage, fmt::format("{}: is no JSON object: one workload a line", where));
      const std::string name = row.contains("uuid") && row["uuid"].is_string() ? row["uuid"].get<std::string>() : "";
      if (wanted.empty() || wanted == name || wanted == std::to_string(index)) return Workload{std::move(row), where};
      if (index++ < 6) known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", index - 1, name);
    }
    if (wanted.empty()) return Fail(ErrorKind::kUsage, fmt::format("{}: holds no workload", place.string()));
    return Fail(ErrorKind::kUsage, fmt::format("{}: has no workload {}; there are {}{}", place.string(), wanted, known,
                                               index > 6 ? fmt::format(" ... {}", index - 1) : ""));
  }
  if (!wanted.empty()) {
    return Fail(ErrorKind::kUsage, fmt::format("{}: there is no file of workloads beside it, such as workload.jsonl",
                                               definition.string()));
  }
  return std::optional<Workload>();
}

Result<Problem> Read(const std::string& path, const ImportOptions& options) {
  std::error_code ignored;
  const fs::path file = fs::is_directory(path, ignored) ? fs::path(path) / kInFolder : fs::path(path);
  const std::string text = HONE_TRY(ReadFile(file.string()));
  const json definition = NestsDeep(text) ? json() : json::parse(text, nullptr, false);
  if (!definition.is_object()) return Fail(ErrorKind::kUsage, fmt::format("{}: is no JSON object", file.string()));
  const auto wrong = [&](std::string_view field, std::string_view what) {
    return Fail(ErrorKind::kUsage, fmt::format("{}: /{}: {}", file.string(), field, what));
  };
  for (const char* field : {"axes", "inputs", "outputs"}) {
    if (!definition.contains(field) || !definition[field].is_object()) return wrong(field, "is not an object");
  }
  if (!definition.contains("reference") || !definition["reference"].is_string()) {
    return wrong("reference", "is not a text, the Python source of run()");
  }
  auto workload = HONE_TRY(PickWorkload(file, options.workload));
  json request = {{"kind", "definition"}, {"definition_text", text}, {"workload", nullptr}};
  if (workload) {
    request["workload"] = workload->row;
    request["workload_where"] = workload->where;
  }
  return ImportThroughPython(file.string(), request, options);
}

}  // namespace

HONE_ROW(Importer){"definition", "FOLDER or FILE.json: a definition of SOL-ExecBench or FlashInfer-Bench", &Accepts,
                   &Read};

}  // namespace hone::importer_definition
