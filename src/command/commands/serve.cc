// hone serve: the pages of all runs, suites and comparisons of a store in a browser of this machine, also while they
// grow.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/json_text.h"
#include "base/sha256.h"
#include "command/command.h"
#include "command/kept_comparison.h"
#include "command/kept_suite.h"
#include "command/run_material.h"
#include "report/comparison_page.h"
#include "report/page.h"
#include "report/suite_page.h"
#include "serve/page_server.h"

namespace hone::verb_serve {
namespace {

using Json = nlohmann::json;

constexpr Option kOptions[] = {{.name = "port",
                                .type = ValueType::kInteger,
                                .value = "N",
                                .help = "of this machine; 0 = any that is free",
                                .otherwise = "0",
                                .at_least = 0},
                               kStoreOption};

constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kJson = "application/json";
constexpr std::string_view kData = "data";

Result<Json> RowsOfRuns(Store& store) {
  Json rows = Json::array();
  for (const RunRecord& run : HONE_TRY(store.Runs())) {
    const RunSummary summary = HONE_TRY(store.Summarize(run));
    rows.push_back({{"id", run.id},
                    {"problem", run.problem_name},
                    {"target", run.target},
                    {"state", HONE_TRY(StateOf(store, run))},
                    {"attempts", summary.attempts},
                    {"best_us", summary.best_us},
                    {"speedup", summary.best_speedup},
                    {"note", run.note},
                    {"updated_ms", run.updated_ms}});
  }
  return rows;
}

Json RowOfSuite(const Json& document) {
  Json row = {{"suite", document["suite"]},   {"stop", document["stop"]},        {"problems", document["problems"]},
              {"solved", document["solved"]}, {"confirmed", document["faster"]}, {"seconds", document["seconds"]}};
  int attempts = 0, begun = 0;
  for (const Json& one : document["rows"]) {
    attempts += one["attempts"].get<int>();
    begun += one["helpings"].get<int>() > 0 ? 1 : 0;
  }
  row["attempts"] = attempts;
  row["begun"] = begun;
  return row;
}

Json RowOfComparison(const Json& page) {
  Json arms = Json::array();
  for (const Json& arm : page["arms"]) arms.push_back(arm["arm"]);
  const Json made = page.value("made", Json::object()), far = page.value("progress", Json::object());
  return {{"arms", std::move(arms)},
          {"command", made.value("command", "")},
          {"problems", page["problems"].size()},
          {"searches", far.value("searches", 0)},
          {"of", far.value("of", 0)}};
}

// What there is to see of a store. Rows of suites and comparisons are kept while nothing is new: a page asks for them
// every two seconds, and they follow from all of a ledger.
class Shown {
 public:
  explicit Shown(Store store)
      : store_(std::move(store)), suites_(SuitesOf(store_.path())), comparisons_(ComparisonsOf(store_.path())) {}

  const std::string& path() const { return store_.path(); }

  // `path`: "" and "data" are the list; "run/ID" and "run/ID/data" a run, and so "suite/" and "comparison/". The data
  // alone is for a page that is there.
  Result<Served> Serve(const std::string& path, const std::string& since) {
    const bool data = path == kData || path.ends_with("/data");
    const std::string page = data ? path.substr(0, path.size() - std::min(path.size(), kData.size() + 1)) : path;
    const std::string kind = page.substr(0, page.find('/')), id = page.substr(std::min(page.size(), kind.size() + 1));
    Json document;
    if (page.empty()) {
      document = HONE_TRY(List());
    } else if (kind == "run" && !id.empty()) {
      const RunRecord run = HONE_TRY(store_.FindRun(id));
      const std::string stamp = HONE_TRY(StampOf(run));
      if (data && since == stamp) return Served{.status = 204, .type = {}, .body = {}};
      document = DocumentOf(HONE_TRY(ReadRunMaterial(store_, run)));
      document.update({{"live", run.id + "/data"}, {"stamp", stamp}, {"up", "../"}});
    } else if (kind == "suite" || kind == "comparison") {
      const SeenFile seen = HONE_TRY(LookAtOne(kind == "suite" ? suites_ : comparisons_, id));
      if (data && since == seen.stamp) return Served{.status = 204, .type = {}, .body = {}};
      document = HONE_TRY(kind == "suite" ? PageOfSuite(seen) : PageOfComparison(seen));
      document.update({{"live", seen.id + "/data"}, {"stamp", seen.stamp}, {"up", "../"}, {"state", seen.state}});
    } else {
      return Fail(ErrorKind::kNotFound, "there is no such page");
    }
    if (data && document["stamp"] == since) return Served{.status = 204, .type = {}, .body = {}};
    if (data) return Served{.type = kJson, .body = JsonText(document)};
    return Served{.type = kHtml, .body = WritePage(document)};
  }

 private:
  static Result<Json> PageOfSuite(const SeenFile& seen) {
    return SuitePage(JsonText(HONE_TRY(SuiteSoFar(seen))), seen.file, MadeBy());
  }
  static Result<Json> PageOfComparison(const SeenFile& seen) {
    return ComparisonPage(HONE_TRY(ReadFile(seen.file)), seen.file, MadeBy());
  }
  static Result<Json> SuiteRowOf(const SeenFile& seen) { return RowOfSuite(HONE_TRY(SuiteSoFar(seen))); }
  static Result<Json> ComparisonRowOf(const SeenFile& seen) {
    return RowOfComparison(HONE_TRY(PageOfComparison(seen)));
  }

  // What changes whenever there is more to show.
  Result<std::string> StampOf(const RunRecord& run) {
    const RunSummary summary = HONE_TRY(store_.Summarize(run));
    return fmt::format("{}-{}-{}-{}", run.updated_ms, summary.attempts, summary.rounds, HONE_TRY(StateOf(store_, run)));
  }

  // One that cannot be read is left out: the others are there all the same.
  Json Rows(const SeenFolder& folder, Result<Json> (*row_of)(const SeenFile&)) {
    Json rows = Json::array();
    for (const SeenFile& seen : LookAtAll(folder)) {
      auto& [stamp, row] = rows_[seen.file];
      if (stamp != seen.stamp) {
        auto made = row_of(seen);
        if (!made) continue;
        stamp = seen.stamp;
        row = std::move(*made);
        row.update({{"id", seen.id}, {"state", seen.state}, {"updated_ms", seen.updated_ms}});
      }
      rows.push_back(row);
    }
    return rows;
  }

  Result<Json> List() {
    Json sections = Json::array();
    const auto section = [&](const char* id, const char* title, Json rows) {
      if (rows.empty() && id != std::string_view("runs")) return;
      sections.push_back({{"id", id}, {"title", title}, {"data", {{id, std::move(rows)}}}});
    };
    section("runs", "Runs", HONE_TRY(RowsOfRuns(store_)));
    section("suites", "Suites", Rows(suites_, SuiteRowOf));
    section("comparisons", "Comparisons", Rows(comparisons_, ComparisonRowOf));
    const std::string stamp = Sha256(JsonText(sections)).substr(0, 16);
    return Json{{"title", "hone: runs"},
                {"kind", "hone: the run store"},
                {"heading", "Runs"},
                {"live", kData},
                {"stamp", stamp},
                {"made_by", MadeBy()},
                {"sections", std::move(sections)}};
  }

  Store store_;
  const SeenFolder suites_, comparisons_;
  std::map<std::string, std::pair<std::string, Json>> rows_;  // by file: stamp and row
};

Result<Answer> RunIt(VerbCall& call) {
  constexpr std::int64_t kLastPort = 65535;
  if (call.Int("port") > kLastPort)
    return Fail(ErrorKind::kUsage, fmt::format("--port {}: ports are 0 to {}", call.Int("port"), kLastPort));
  const std::atomic<bool>& stop = call.CatchInterrupts();
  Shown shown(HONE_TRY(Store::OpenExisting(StorePath(call))));
  const PageServer server =
      HONE_TRY(PageServer::Start(static_cast<int>(call.Int("port")),
                                 [&](const auto& path, const auto& since) { return shown.Serve(path, since); }));
  call.Note(fmt::format("{} shows the runs of {} until Ctrl-C; whoever knows this address can read them", server.url(),
                        shown.path()));
  while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return Answer::FromJsonText("", "");
}

}  // namespace

HONE_ROW(Verb){
    .name = "serve",
    .doc = "Show runs, suites and comparisons in a browser of this machine, also while they grow",
    .group = VerbGroup::kRuns,
    .place = 7,
    .help =
        "Prints an address of this machine alone, with a token in it that nobody can guess, and serves the pages of\n"
        "`hone report` there until Ctrl-C: all runs, suites and comparisons, and each as it grows. Nothing can be "
        "changed through it\n"
        "(docs/report.md).\n"
        "\n"
        "  hone serve\n"
        "  hone serve --port 8765 --store runs.sqlite\n",
    .options = kOptions,
    .json = "nothing: it serves pages until it is interrupted",
    .run = RunIt,
    .owns_output = true,
};

}  // namespace hone::verb_serve
