#include "report/attempt_row.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json_text.h"

namespace hone {
namespace {

using Json = nlohmann::json;

// In the order of a spreadsheet's.
constexpr std::string_view kColumns[] = {"number",
                                         "parent",
                                         "mate",
                                         "round",
                                         "outcome",
                                         "reason",
                                         "median_us",
                                         "low_us",
                                         "high_us",
                                         "cold_us",
                                         "speedup",
                                         "joules",
                                         "origin",
                                         "key",
                                         "kind",
                                         "class",
                                         "rule",
                                         "promised",
                                         "brought",
                                         "started_ms",
                                         "ended_ms",
                                         "compile_ms",
                                         "check_ms",
                                         "timing_ms",
                                         "total_ms",
                                         "compile_cached",
                                         "compile_begun_ms",
                                         "check_begun_ms",
                                         "timing_begun_ms",
                                         "disturbed",
                                         "predicted_us",
                                         "identity"};

// The decided class of AttemptRecord::limits; empty where nobody looked.
std::string ClassOf(const std::string& limits) {
  const Json parsed = Json::parse(limits, nullptr, false);
  if (!parsed.is_object()) return {};
  for (const char* by : {"by_counters", "by_analysis"}) {
    const auto found = parsed.find(by);
    if (found != parsed.end() && found->is_object() && (*found)["class"].is_string()) return (*found)["class"];
  }
  return {};
}

std::string Cell(const Json& value) {
  if (!value.is_string()) return value.dump();
  std::string text = value.get<std::string>();
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos) text.insert(0, "'");
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace

Json AttemptRow(const AttemptRecord& attempt, const Evaluation& evaluation) {
  Json row = {{"number", attempt.number}, {"parent", attempt.parent}, {"started_ms", attempt.started_ms}};
  const auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) row[name] = value;
  };
  const auto positive = [&](const char* name, double value) {
    if (value > 0) row[name] = value;
  };
  text("kind", attempt.kind);
  text("origin", attempt.origin);
  text("key", attempt.key);
  text("identity", attempt.identity);
  positive("predicted_us", attempt.predicted_us);
  if (attempt.mate > 0) row["mate"] = attempt.mate;
  if (attempt.round > 0) row["round"] = attempt.round;
  if (!attempt.rule.empty()) row["promised"] = attempt.promised;
  text("rule", attempt.rule);
  if (!attempt.ended()) return row;
  row["ended_ms"] = attempt.ended_ms;
  text("outcome", attempt.outcome);
  text("reason", evaluation.verdict.reason);
  text("class", ClassOf(attempt.limits));
  positive("median_us", attempt.median_us);
  positive("cold_us", attempt.cold_us);
  positive("speedup", attempt.speedup);
  if (attempt.joules) row["joules"] = *attempt.joules;
  if (attempt.brought) row["brought"] = *attempt.brought;
  if (const auto& timing = evaluation.timing) {
    if (timing->warm.interval)
      row.update({{"low_us", timing->warm.interval->low}, {"high_us", timing->warm.interval->high}});
    text("disturbed", timing->disturbed);
  }
  const StageTimes& stages = evaluation.how->stages;
  positive("compile_ms", stages.compile_ms);
  positive("check_ms", stages.check_ms);
  positive("timing_ms", stages.timing_ms);
  positive("total_ms", stages.total_ms);
  if (stages.compile_cached) row["compile_cached"] = true;
  const auto begun = [&](const char* name, std::int64_t ms) {
    if (ms > 0) row[name] = ms;
  };
  begun("compile_begun_ms", stages.compile_begun_ms);
  begun("check_begun_ms", stages.check_begun_ms);
  begun("timing_begun_ms", stages.timing_begun_ms);
  return row;
}

std::string AttemptsCsv(std::span<const AttemptRecord> attempts, std::span<const Evaluation> evaluations) {
  std::string csv;
  for (const std::string_view column : kColumns) csv += fmt::format("{}{}", csv.empty() ? "" : ",", column);
  csv += "\r\n";
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    const Json row = AttemptRow(attempts[i], evaluations[i]);
    std::string line;
    for (const std::string_view column : kColumns) {
      if (column != kColumns[0]) line += ',';
      if (const auto cell = row.find(column); cell != row.end()) line += Cell(*cell);
    }
    csv += line + "\r\n";
  }
  return csv;
}

std::string AttemptsJsonl(std::span<const AttemptRecord> attempts, std::span<const Evaluation> evaluations) {
  std::string lines;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    Json row = AttemptRow(attempts[i], evaluations[i]);
    if (Json findings = Json::parse(attempts[i].findings, nullptr, false); findings.is_array() && !findings.empty())
      row["findings"] = std::move(findings);
    lines += JsonText(row) + '\n';
  }
  return lines;
}

}  // namespace hone
