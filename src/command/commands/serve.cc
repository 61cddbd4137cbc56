// hone serve: the pages of all runs of a store in a browser of this machine, also while runs grow.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/json_text.h"
#include "base/sha256.h"
#include "command/command.h"
#include "command/run_material.h"
#include "report/page.h"
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
constexpr std::string_view kRun = "run/", kData = "data";

Result<Json> ListOfRuns(Store& store) {
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
  const std::string stamp = Sha256(JsonText(rows)).substr(0, 16);
  Json section = {{"id", "runs"}, {"title", "Runs"}, {"data", {{"runs", std::move(rows)}}}};
  return Json{{"title", "hone: runs"},
              {"kind", "hone: the run store"},
              {"heading", "Runs"},
              {"live", kData},
              {"stamp", stamp},
              {"made_by", MadeBy()},
              {"sections", Json::array({std::move(section)})}};
}

// What changes whenever there is more to show.
Result<std::string> StampOf(Store& store, const RunRecord& run) {
  const RunSummary summary = HONE_TRY(store.Summarize(run));
  return fmt::format("{}-{}-{}-{}", run.updated_ms, summary.attempts, summary.rounds, HONE_TRY(StateOf(store, run)));
}

// `path`: "" and "data" are the list; "run/ID" and "run/ID/data" a run. The data alone is for a page that is there.
Result<Served> Serve(Store& store, const std::string& path, const std::string& since) {
  const bool data = path == kData || path.ends_with("/data");
  Json document;
  if (path.empty() || path == kData) {
    document = HONE_TRY(ListOfRuns(store));
  } else if (path.starts_with(kRun)) {
    const std::string id = path.substr(kRun.size(), path.size() - kRun.size() - (data ? kData.size() + 1 : 0));
    const RunRecord run = HONE_TRY(store.FindRun(id));
    const std::string stamp = HONE_TRY(StampOf(store, run));
    if (data && since == stamp) return Served{.status = 204, .type = {}, .body = {}};
    document = DocumentOf(HONE_TRY(ReadRunMaterial(store, run)));
    document.update({{"live", run.id + "/data"}, {"stamp", stamp}, {"up", "../"}});
  } else {
    return Fail(ErrorKind::kNotFound, "there is no such page");
  }
  if (data && document["stamp"] == since) return Served{.status = 204, .type = {}, .body = {}};
  if (data) return Served{.type = kJson, .body = JsonText(document)};
  return Served{.type = kHtml, .body = WritePage(document)};
}

Result<Answer> RunIt(VerbCall& call) {
  constexpr std::int64_t kLastPort = 65535;
  if (call.Int("port") > kLastPort)
    return Fail(ErrorKind::kUsage, fmt::format("--port {}: ports are 0 to {}", call.Int("port"), kLastPort));
  const std::atomic<bool>& stop = call.CatchInterrupts();
  Store store = HONE_TRY(Store::OpenExisting(StorePath(call)));
  const PageServer server =
      HONE_TRY(PageServer::Start(static_cast<int>(call.Int("port")),
                                 [&](const auto& path, const auto& since) { return Serve(store, path, since); }));
  call.Note(fmt::format("{} shows the runs of {} until Ctrl-C; whoever knows this address can read them", server.url(),
                        store.path()));
  while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return Answer::FromJsonText("", "");
}

}  // namespace

HONE_ROW(Verb){
    .name = "serve",
    .doc = "Show the runs of a store in a browser of this machine, also while they grow",
    .group = VerbGroup::kRuns,
    .place = 7,
    .help =
        "Prints an address of this machine alone, with a token in it that nobody can guess, and serves the pages of\n"
        "`hone report` there until Ctrl-C: all runs, and each as it grows. Nothing can be changed through it\n"
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
