#include "command/kept_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/files.h"
#include "base/json_text.h"
#include "base/record.h"
#include "base/sha256.h"
#include "command/suite_table.h"

namespace hone {

template <SameAs<SuiteProblem> Of>
void Fields(Of& problem, auto&& field) {
  field("key", problem.key);
  field("name", problem.name);
  field("group", problem.group);
}

template <SameAs<KeptSuite> Of>
void Fields(Of& suite, auto&& field) {
  field("suite", suite.suite);
  field("problems", suite.problems);
  field("ledger", suite.ledger);
  field("made", suite.made);
  field("stop", suite.stop);
}

namespace {

using Json = nlohmann::json;

constexpr std::string_view kEnding = ".suite.json";
constexpr std::int64_t kLockedRow = 1;

std::string FolderOfSuites(const std::string& store) { return store + "-suites"; }

Result<KeptSuite> ReadSuite(const std::string& file) {
  return FromRecord<KeptSuite>(Json::parse(HONE_TRY(ReadFile(file)), nullptr, false), file);
}

Result<void> LookAtSuite(SeenFile& seen) {
  const KeptSuite suite = HONE_TRY(ReadSuite(seen.file));
  seen.state = HONE_TRY(RunLock::Held(seen.file, kLockedRow)) ? "running" : suite.stop.empty() ? "killed" : "ended";
  const std::string told = StampOfFile(seen.file, seen.updated_ms);
  seen.stamp = fmt::format("{}-{}-{}", told, StampOfFile(suite.ledger, seen.updated_ms), seen.state);
  return {};
}

// What the time brought, in the order in which it was spent. The ledger has helpings of other suites, too.
Json HelpingsOf(const std::vector<SuiteProblem>& problems, const std::vector<Helping>& helpings) {
  std::map<std::string_view, std::string_view> names;
  for (const SuiteProblem& problem : problems) names[problem.key] = problem.name;
  const auto known = [](double us) { return us > 0 ? Json(us) : Json(); };
  Json lines = Json::array();
  for (const Helping& helping : helpings) {
    const auto name = names.find(helping.problem);
    if (name == names.end()) continue;
    lines.push_back({{"problem", name->second},
                     {"attempts", helping.attempts},
                     {"before_us", known(helping.before_us)},
                     {"best_us", known(helping.best_us)},
                     {"seconds", helping.seconds}});
  }
  return lines;
}

}  // namespace

Result<SuiteAtWork> KeepSuite(const std::string& store, const KeptSuite& suite) {
  std::string which = suite.ledger + "\n" + suite.suite;
  for (const SuiteProblem& problem : suite.problems) which += "\n" + problem.name;
  SuiteAtWork at_work;
  at_work.file = fmt::format("{}/{}{}", FolderOfSuites(store), Sha256(which).substr(0, 12), kEnding);
  HONE_TRY(WriteFileAtomically(at_work.file, JsonText(ToRecord(suite))));
  at_work.lock = HONE_TRY(RunLock::Try(at_work.file, kLockedRow));
  return at_work;
}

Result<void> KeepEnd(const SuiteAtWork& at_work, KeptSuite suite, const std::string& stop) {
  suite.stop = stop;
  return WriteFileAtomically(at_work.file, JsonText(ToRecord(suite)));
}

SeenFolder SuitesOf(const std::string& store) { return {FolderOfSuites(store), kEnding, LookAtSuite}; }

Json SuiteSoFar(const KeptSuite& suite, const std::vector<Standing>& standings, const std::vector<Helping>& helpings,
                const std::string& stop) {
  std::vector<SuiteRow> rows;
  double seconds = 0;
  for (const Standing& standing : standings) {
    rows.push_back(RowOf(standing, stop));
    seconds += rows.back().seconds;
  }
  Json document = SuiteDocument(rows);
  document["helpings"] = HelpingsOf(suite.problems, helpings);
  document["suite"] = suite.suite;
  document["made"] = suite.made;
  document["problems"] = rows.size();
  document["solved"] = std::ranges::count_if(rows, [](const SuiteRow& row) { return row.solved(); });
  document["faster"] = std::ranges::count_if(rows, [](const SuiteRow& row) { return row.faster; });
  document["seconds"] = seconds;
  document["stop"] = stop;
  document["complete"] = std::ranges::all_of(standings, [](const Standing& one) { return one.last.has_value(); });
  return document;
}

Result<Json> SuiteSoFar(const SeenFile& seen) {
  const KeptSuite suite = HONE_TRY(ReadSuite(seen.file));
  const std::vector<Helping> helpings = HONE_TRY(SuiteLedger::Read(suite.ledger));
  const std::vector<Standing> standings = StandingsOf(suite.problems, helpings);
  const auto begun = std::ranges::count_if(standings, [](const Standing& one) { return one.last.has_value(); });
  const std::string stop = seen.state == "running"
                               ? fmt::format("not yet: {} of {} problems had a helping", begun, standings.size())
                           : seen.state == "killed" ? "killed; the same command goes on"
                                                    : suite.stop;
  return SuiteSoFar(suite, standings, helpings, stop);
}

}  // namespace hone
