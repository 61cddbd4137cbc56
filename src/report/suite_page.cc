#include "report/suite_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/record.h"
#include "report/page.h"

namespace hone {

// What the page draws of the document of command/suite_table.cc and optimize_suite.cc; what else there is in it stays
// out. Times in microseconds, null: there is none.
struct SuiteMeanRow {
  double geomean = 0;
  int problems = 0, slower = 0;
};
struct SuiteGroupRow {
  std::string group;
  int problems = 0, solved = 0;
  std::map<std::string, SuiteMeanRow> over;
};
struct SuiteProblemRow {
  std::string name, group, run, kind, failure;
  int attempts = 0, helpings = 0;
  double seconds = 0;
  bool solved = false, faster = false;
  std::optional<double> best_us, bound_us, honest;
  std::map<std::string, double> speedups;
  std::vector<std::string> flags;
};
struct SuiteHelpingRow {
  std::string problem;
  int attempts = 0;
  std::optional<double> before_us, best_us;
  double seconds = 0;
};
struct SuiteAsWritten {
  std::string suite, stop;
  bool complete = false;
  double seconds = 0;
  std::vector<SuiteGroupRow> groups;
  std::vector<SuiteProblemRow> rows;
  std::vector<SuiteHelpingRow> helpings;    // in the order of their ends
  std::map<std::string, std::string> made;  // how; empty in documents from before that was kept
};

template <SameAs<SuiteMeanRow> Of>
void Fields(Of& mean, auto&& field) {
  field("geomean", mean.geomean);
  field("problems", mean.problems);
  field("slower", mean.slower);
}

template <SameAs<SuiteGroupRow> Of>
void Fields(Of& group, auto&& field) {
  field("group", group.group, kAlways);
  field("problems", group.problems);
  field("solved", group.solved);
  field("over", group.over);
}

template <SameAs<SuiteProblemRow> Of>
void Fields(Of& row, auto&& field) {
  field("name", row.name, kAlways);
  field("group", row.group, kAlways);
  field("run", row.run, kAlways);
  field("kind", row.kind, kAlways);
  field("failure", row.failure, kAlways);
  field("attempts", row.attempts);
  field("helpings", row.helpings);
  field("seconds", row.seconds);
  field("solved", row.solved);
  field("faster", row.faster);
  field("best_us", row.best_us);
  field("bound_us", row.bound_us);
  field("honest", row.honest);
  field("speedups", row.speedups);
  field("flags", row.flags);
}

template <SameAs<SuiteHelpingRow> Of>
void Fields(Of& helping, auto&& field) {
  field("problem", helping.problem, kAlways);
  field("attempts", helping.attempts);
  field("before_us", helping.before_us);
  field("best_us", helping.best_us);
  field("seconds", helping.seconds);
}

template <SameAs<SuiteAsWritten> Of>
void Fields(Of& document, auto&& field) {
  field("suite", document.suite, kAlways);
  field("stop", document.stop, kAlways);
  field("complete", document.complete);
  field("seconds", document.seconds);
  field("groups", document.groups);
  field("rows", document.rows);
  field("helpings", document.helpings);
  field("made", document.made);
}

Result<nlohmann::json> SuitePage(std::string_view json, std::string_view where, std::string_view made_by) {
  const auto refuse = [&](const std::string& why) {
    return Fail(ErrorKind::kUsage,
                fmt::format("{}: {}; `hone optimize --suite ... --json` writes what is wanted", where, why));
  };
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object()) return refuse("it is no JSON document");
  const auto read = FromRecord<SuiteAsWritten>(parsed, "what came of a suite");
  if (!read) return refuse(read.error().message);
  if (read->rows.empty()) return refuse("it has no problems");

  nlohmann::json sections = nlohmann::json::array();
  const auto section = [&](const char* id, const char* title) {
    sections.push_back({{"id", id}, {"title", title}, {"data", nlohmann::json::object()}});
  };
  section("standing", "How it stands");
  if (std::ranges::any_of(read->rows, [](const SuiteProblemRow& row) { return !row.speedups.empty(); }))
    section("speedups", "Speed-ups");
  if (!read->helpings.empty()) section("helpings", "What the time brought");
  section("suite", "All problems");
  if (!read->made.empty()) section("how", "How it was made");
  nlohmann::json document = ToRecord(*read);
  const std::string name = read->suite.empty() ? "a suite" : read->suite;
  document.update({{"title", fmt::format("{}: suite", name)},
                   {"kind", "hone: suite of problems"},
                   {"heading", name},
                   {"made_by", made_by},
                   {"sections", std::move(sections)}});
  return document;
}

Result<std::string> WriteSuitePage(std::string_view json, std::string_view where, std::string_view made_by) {
  return WritePage(HONE_TRY(SuitePage(json, where, made_by)));
}

}  // namespace hone
