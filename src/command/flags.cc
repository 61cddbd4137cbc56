#include "command/flags.h"

#include <nlohmann/json.hpp>

namespace hone {

nlohmann::json ToDocument(const std::vector<Flag>& flags) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Flag& flag : flags) {
    nlohmann::json row = {{"kind", Name(flag.kind)}, {"sentence", Sentence(flag)}, {"reason", flag.reason}};
    if (!flag.output.empty()) row["output"] = flag.output;
    if (!flag.inputs.empty()) row["inputs"] = flag.inputs;
    if (flag.kind == FlagKind::kZero || flag.kind == FlagKind::kConstant) row["value"] = flag.value;
    if (flag.kind == FlagKind::kNearlyZero || flag.kind == FlagKind::kNearlyConstant) row["within"] = flag.within;
    if (flag.kind == FlagKind::kCollapsible) {
      row["flops_written"] = flag.flops_written;
      row["flops_needed"] = flag.flops_needed;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

nlohmann::json FlagsOfRun(const std::string& text) {
  nlohmann::json flags = nlohmann::json::parse(text, nullptr, false);
  return flags.is_array() ? flags : nlohmann::json::array();
}

std::string FlagNames(const nlohmann::json& flags) {
  std::string names;
  for (const auto& flag : flags) {
    if (!flag.is_object() || !flag.contains("kind") || !flag["kind"].is_string()) continue;
    const auto name = flag["kind"].get<std::string>();
    if (names.find(name) == std::string::npos) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

}  // namespace hone
