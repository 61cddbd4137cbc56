// A problem that is in our own form already, or nearly: a plain graph, which says nothing of data.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/dtype.h"
#include "base/files.h"
#include "base/json_text.h"
#include "problem/import/import.h"

namespace hone::importer_graph_json {
namespace {

using nlohmann::json;

bool Accepts(std::string_view path) { return path.ends_with(".json"); }

// Gives a plain graph what a problem has beside it. What is there is left alone, also where it is wrong: the schema
// says so, with the place.
void Complete(const std::string& path, json& document) {
  document["hone_problem"] = 1;
  if (!document.contains("name")) {
    const auto slash = path.find_last_of('/');
    const auto file = path.substr(slash == std::string::npos ? 0 : slash + 1);
    document["name"] = file.substr(0, file.find_last_of('.'));
  }
  if (!document.contains("tensors") || !document["tensors"].is_array()) return;
  for (auto& row : document["tensors"]) {
    if (!row.is_object()) continue;
    if (!row.contains("dtype")) row["dtype"] = "f32";
    if (!row.contains("role")) row["role"] = "input";
    if (row.contains("generator") || row["role"] == "output" || !row["dtype"].is_string()) continue;
    const auto dtype = ParseDType(row["dtype"].get<std::string>());
    if (dtype && !IsFloat(*dtype)) {
      row["generator"] = {
          {"kind", "integer"}, {"low", 0}, {"high", 2}};  // 0 and 1 are valid in any type, as an index too
    } else {
      row["generator"] = {{"kind", "normal"}, {"mean", 0}, {"deviation", 1}};
    }
  }
}

Result<Problem> Read(const std::string& path, const ImportOptions&) {
  auto text = ReadFile(path);
  if (text) {
    const bool plain = text->find("\"hone_problem\"") == std::string::npos &&
                       text->find("\"graph\"") != std::string::npos && !NestsDeep(*text);
    auto document = plain ? json::parse(*text, nullptr, false) : json();
    if (document.is_object() && document.contains("graph")) {
      Complete(path, document);
      auto problem = ParseProblem(JsonText(document), path);
      if (problem) problem->folder = std::filesystem::path(path).parent_path().string();
      return problem;
    }
  }
  return LoadProblem(path);
}

}  // namespace

HONE_ROW(Importer){"graph_json", "FILE.json: a problem.json, or a plain graph", &Accepts, &Read};

}  // namespace hone::importer_graph_json
