#include "command/suite_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <variant>

#include "command/evaluation_text.h"
#include "dsl/program.h"
#include "verdict/baselines.h"

namespace hone {
namespace {

using Json = nlohmann::json;

double Number(const Json& of, const char* key) {
  return of.is_object() && of.contains(key) && of[key].is_number() ? of[key].get<double>() : 0;
}

// All baselines of the rows, in the order in which they first come.
std::vector<std::string> BaselinesOf(const std::vector<SuiteRow>& rows) {
  std::vector<std::string> names;
  for (const SuiteRow& row : rows) {
    for (const std::string& name : row.baselines) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

bool AsAccurate(const std::string& baseline) {
  const auto* row = std::ranges::find(kBaselines, baseline, &BaselineRow::name);
  return row == std::end(kBaselines) || row->as_accurate;
}

double SpeedUp(const SuiteRow& row, const std::string& baseline) {
  if (baseline == kFastestBaseline) return row.honest;
  if (baseline == kFastestAsAccurate) {
    double least = 0;
    for (const auto& [name, speedup] : row.speedups) {
      if (AsAccurate(name) && (least == 0 || speedup < least)) least = speedup;
    }
    return least;
  }
  const auto it = row.speedups.find(baseline);
  return it == row.speedups.end() ? 0 : it->second;
}

SuiteGroup GroupOf(const std::string& name, const std::vector<const SuiteRow*>& rows,
                   const std::vector<std::string>& baselines) {
  SuiteGroup group;
  group.name = name;
  group.problems = static_cast<int>(rows.size());
  for (const SuiteRow* row : rows) group.solved += row->solved();
  for (const std::string& baseline : baselines) {
    SuiteMean mean;
    double logs = 0;
    for (const SuiteRow* row : rows) {
      const double speedup = row->solved() ? SpeedUp(*row, baseline) : 0;
      if (speedup <= 0) continue;
      logs += std::log(speedup);
      ++mean.problems;
      mean.slower += speedup < 1;
    }
    if (mean.problems == 0) continue;
    mean.geomean = std::exp(logs / mean.problems);
    group.over[baseline] = mean;
  }
  return group;
}

// Columns of means: every baseline, and the fastest of each problem where there are several.
std::vector<std::string> ColumnsOf(const std::vector<SuiteRow>& rows) {
  std::vector<std::string> columns = BaselinesOf(rows);
  const bool several = columns.size() > 1;
  if (!std::ranges::all_of(columns, AsAccurate)) columns.emplace_back(kFastestAsAccurate);
  if (several) columns.emplace_back(kFastestBaseline);
  return columns;
}

std::string Cell(std::string text) {
  std::replace(text.begin(), text.end(), '|', '/');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string CsvCell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string KernelsText(const std::map<std::string, int>& kernels) {
  std::string text;
  for (const auto& [family, count] : kernels)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", family, count > 1 ? fmt::format(" x {}", count) : "");
  return text;
}

std::string AllcloseText(const std::optional<bool>& allclose, const char* unknown) {
  return !allclose ? unknown : *allclose ? "yes" : "no";
}

// Of the first baseline without a ratio: the cell is "-", and the reason stands at the row's end. One that did not even
// begin is in the notes alone.
std::string WhyNoRatio(const Json& best, const Json& timing, const SuiteRow& row) {
  for (const auto& one : timing.is_object() ? timing.value("against", Json::array()) : Json::array()) {
    const std::string name = one.is_object() ? one.value("baseline", "") : "";
    if (name.empty() || row.speedups.contains(name)) continue;
    for (const char* key : {"wrong", "disturbed"}) {
      if (one.contains(key) && one[key].is_string() && one[key] != "")
        return fmt::format("no ratio to {}: {}", name, one[key].get<std::string>());
    }
  }
  for (const auto& note : best.value("notes", Json::array())) {
    if (note.is_string() && note.get<std::string>().starts_with("baseline '")) return note;
  }
  return "";
}

std::string Ratio(double value) { return value > 0 ? fmt::format("{:.2f}", value) : "-"; }

}  // namespace

std::map<std::string, int> KernelsOf(const std::string& source) {
  std::map<std::string, int> kernels;
  const auto parsed = dsl::Parse(source);
  if (const auto* program = std::get_if<dsl::Program>(&parsed)) {
    for (const dsl::Statement& statement : program->statements) ++kernels[statement.family];
  }
  return kernels;
}

SuiteRow RowOf(const Standing& standing, std::string_view stop) {
  SuiteRow row;
  row.name = standing.problem.name;
  row.group = standing.problem.group;
  row.helpings = standing.helpings;
  row.seconds = standing.seconds + (standing.cut ? standing.cut->seconds : 0);
  if (!standing.last && !standing.cut) {
    row.failure = fmt::format("not looked at: {}", stop);
    return row;
  }
  // What an interrupt ended stands for the problem where it had got further than the helpings before.
  const bool further = standing.cut && (!standing.last || !standing.cut->document.empty());
  Helping last = further ? *standing.cut : *standing.last;
  if (further && standing.last) last.failure = standing.last->failure;
  row.run = last.run;
  row.attempts = last.attempts;
  row.failure = last.failure;
  row.faster = last.won;
  row.bound_us = last.bound_us;
  const Json document = Json::parse(last.document, nullptr, false);
  if (!document.is_object()) return row;
  for (const auto& flag : document.value("flags", Json::array())) {
    if (flag.is_object()) row.flags.push_back(flag.value("kind", "flagged"));
  }
  if (!document.contains("best") || !document["best"].is_object()) {
    if (row.failure.empty()) row.failure = "no attempt was accepted";
    return row;
  }
  const Json& best = document["best"];
  row.kind = best.value("kind", "");
  const Json accuracy = best.value("accuracy", Json::object());
  if (accuracy.is_object() && accuracy.contains("official_allclose") && accuracy["official_allclose"].is_boolean())
    row.allclose = accuracy["official_allclose"].get<bool>();
  const Json kernels = best.value("kernels", Json::object());
  for (const auto& [family, count] : kernels.items()) {
    if (count.is_number_integer()) row.kernels[family] = count.get<int>();
  }
  if (document.value("loop_nest", false)) row.kernels["loop nests"] = 1;
  const Json timing = best.value("timing", Json::object());
  row.best_us = timing.is_object() ? Number(timing.value("warm", Json::object()), "median_us") : 0;
  for (const auto& one : timing.is_object() ? timing.value("against", Json::array()) : Json::array()) {
    const std::string name = one.is_object() ? one.value("baseline", "") : "";
    if (name.empty()) continue;
    row.baselines.push_back(name);
    if (const double speedup = Number(one, "speedup"); speedup > 0) row.speedups[name] = speedup;
  }
  row.honest = Number(document.value("honest", Json::object()), "speedup");
  if (row.best_us <= 0 && row.failure.empty()) row.failure = "it was accepted and not timed";
  row.no_ratio = WhyNoRatio(best, timing, row);
  if (row.no_ratio.empty() && row.solved() && !document.value("confirmed", true))
    row.no_ratio = "not confirmed on fresh inputs";
  return row;
}

std::vector<SuiteGroup> GroupsOf(const std::vector<SuiteRow>& rows) {
  const std::vector<std::string> columns = ColumnsOf(rows);
  std::vector<std::string> names;
  std::map<std::string, std::vector<const SuiteRow*>> groups;
  std::vector<const SuiteRow*> all, flagged;
  for (const SuiteRow& row : rows) {
    if (!row.flags.empty()) {
      flagged.push_back(&row);
      continue;
    }
    if (groups[row.group].empty()) names.push_back(row.group);
    groups[row.group].push_back(&row);
    all.push_back(&row);
  }
  std::vector<SuiteGroup> means;
  for (const std::string& name : names) means.push_back(GroupOf(name, groups[name], columns));
  if (names.size() > 1) means.push_back(GroupOf("all", all, columns));
  if (!flagged.empty()) means.push_back(GroupOf("flagged", flagged, columns));
  return means;
}

Json SuiteDocument(const std::vector<SuiteRow>& rows) {
  Json groups = Json::array(), lines = Json::array();
  for (const SuiteGroup& group : GroupsOf(rows)) {
    Json over = Json::object();
    for (const auto& [name, mean] : group.over)
      over[name] = {{"geomean", mean.geomean}, {"problems", mean.problems}, {"slower", mean.slower}};
    groups.push_back(
        {{"group", group.name}, {"problems", group.problems}, {"solved", group.solved}, {"over", std::move(over)}});
  }
  for (const SuiteRow& row : rows) {
    Json line = {{"name", row.name},         {"group", row.group},       {"run", row.run},
                 {"attempts", row.attempts}, {"helpings", row.helpings}, {"seconds", row.seconds},
                 {"solved", row.solved()},   {"faster", row.faster},     {"best_us", row.best_us},
                 {"bound_us", row.bound_us}, {"speedups", row.speedups}, {"honest", row.honest},
                 {"flags", row.flags},       {"failure", row.failure},   {"kind", row.kind},
                 {"kernels", row.kernels},   {"no_ratio", row.no_ratio}};
    line["allclose"] = row.allclose ? Json(*row.allclose) : Json(nullptr);
    for (const char* key : {"best_us", "bound_us", "honest"}) {
      if (line[key] == 0) line[key] = nullptr;
    }
    lines.push_back(std::move(line));
  }
  return {{"groups", std::move(groups)}, {"rows", std::move(lines)}};
}

std::string SuiteMarkdown(const std::vector<SuiteRow>& rows) {
  const std::vector<std::string> columns = ColumnsOf(rows);
  std::string text = "| geomean (problems) |";
  for (const std::string& name : columns) text += fmt::format(" over {} |", name);
  text += " solved |\n|---|";
  for (std::size_t i = 0; i <= columns.size(); ++i) text += "---|";
  text += "\n";
  const auto groups = GroupsOf(rows);
  for (const SuiteGroup& group : groups) {
    text += fmt::format("| {} |", Cell(group.name));
    for (const std::string& name : columns) {
      const auto it = group.over.find(name);
      text += it == group.over.end() ? " - |" : fmt::format(" {:.2f} ({}) |", it->second.geomean, it->second.problems);
    }
    text += fmt::format(" {} of {} |\n", group.solved, group.problems);
  }
  for (const SuiteGroup& group : groups) {
    text += fmt::format("| {}: slower on |", Cell(group.name));
    for (const std::string& name : columns) {
      const auto it = group.over.find(name);
      text += it == group.over.end() ? " - |" : fmt::format(" {} of {} |", it->second.slower, it->second.problems);
    }
    text += " |\n";
  }
  text += "\n| problem | best | of the bound |";
  for (const std::string& name : columns) text += fmt::format(" over {} |", name);
  text += " allclose | kernels | attempts | flags, failure |\n|---|---|---|";
  for (std::size_t i = 0; i < columns.size() + 4; ++i) text += "---|";
  text += "\n";
  for (const SuiteRow& row : rows) {
    const bool of_bound = row.best_us > 0 && row.bound_us > 0;
    text += fmt::format("| {} | {} | {} |", Cell(row.name), TimeText(row.best_us),
                        of_bound ? fmt::format("{:.0f} %", 100 * row.bound_us / row.best_us) : "-");
    for (const std::string& name : columns) text += fmt::format(" {} |", Ratio(SpeedUp(row, name)));
    std::string remark = fmt::format("{}", fmt::join(row.flags, ", "));
    if (!row.no_ratio.empty()) remark += (remark.empty() ? "" : "; ") + row.no_ratio;
    if (!row.failure.empty()) remark += (remark.empty() ? "" : "; ") + ("not solved: " + row.failure);
    text += fmt::format(" {} | {} | {} | {} |\n", AllcloseText(row.allclose, "-"), KernelsText(row.kernels),
                        row.attempts, Cell(remark));
  }
  return text;
}

std::string SuiteCsv(const std::vector<SuiteRow>& rows) {
  const std::vector<std::string> baselines = BaselinesOf(rows);
  std::string text = "name,group,solved,faster,best_us,bound_us,attempts,helpings,seconds";
  for (const std::string& name : baselines) text += "," + CsvCell("over " + name);
  text += ",over the fastest,allclose,kernels,flags,failure,run\n";
  const auto number = [](double value) { return value > 0 ? fmt::format("{:.6g}", value) : std::string(); };
  for (const SuiteRow& row : rows) {
    text += fmt::format("{},{},{},{},{},{},{},{},{:.3f}", CsvCell(row.name), CsvCell(row.group), row.solved() ? 1 : 0,
                        row.faster ? 1 : 0, number(row.best_us), number(row.bound_us), row.attempts, row.helpings,
                        row.seconds);
    for (const std::string& name : baselines) text += "," + number(SpeedUp(row, name));
    text += fmt::format(",{},{},{},{},{},{}\n", number(row.honest), AllcloseText(row.allclose, ""),
                        CsvCell(KernelsText(row.kernels)), CsvCell(fmt::format("{}", fmt::join(row.flags, " "))),
                        CsvCell(row.failure.empty() ? row.no_ratio : row.failure), row.run);
  }
  return text;
}

}  // namespace hone
