// hone runs: what is in the run store, newest first; notes on runs, and an end to those that nobody needs any more.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/date.h"
#include "command/command.h"
#include "command/evaluation_text.h"
#include "command/flags.h"
#include "command/wrong_input.h"
#include "search/record.h"
#include "store/store.h"

namespace hone::verb_runs {
namespace {

using Json = nlohmann::json;

constexpr Positional kPositionals[] = {{.name = "run",
                                        .help = "with --note: the run, or the first digits of its id",
                                        .presence = Presence::kOptional,
                                        .run = true}};
constexpr Option kOptions[] = {
    {.name = "problem", .value = "TEXT", .help = "only runs of problems whose name holds this"},
    {.name = "target", .value = "NAME", .help = "only runs on this target: cpu or cuda"},
    {.name = "since", .value = "WHEN", .help = "only runs that changed since a date, 2026-11-21, or days ago, 7d"},
    {.name = "note", .value = "TEXT", .help = "keep this line with RUN; empty takes its note away"},
    {.name = "delete", .value = "RUN", .help = "delete this run; may be repeated", .repeats = true},
    {.name = "prune",
     .type = ValueType::kInteger,
     .value = "DAYS",
     .help = "delete runs that did not change for so long",
     .at_least = 0},
    {.name = "keep", .type = ValueType::kInteger, .value = "N", .help = "delete all but the newest N", .at_least = 0},
    {.name = "yes", .type = ValueType::kFlag, .help = "do delete: without it is said what would be"},
    kStoreOption};

constexpr std::int64_t kDayMs = std::int64_t{24} * 3600 * 1000;

// "2026-11-21" in UTC, or "7d": a moment in milliseconds since 1970.
Result<std::int64_t> Moment(const std::string& when) {
  int days = 0, end = 0;
  const auto is_whole = [&] { return end > 0 && static_cast<std::size_t>(end) == when.size(); };
  if (std::sscanf(when.c_str(), "%5dd%n", &days, &end) == 1 && is_whole() && days >= 0)
    return UnixMilliseconds() - days * kDayMs;
  std::tm date{};
  if (const char* rest = strptime(when.c_str(), "%Y-%m-%d", &date); rest != nullptr && *rest == '\0')
    return static_cast<std::int64_t>(timegm(&date)) * 1000;
  return Fail(ErrorKind::kUsage, fmt::format("--since {}: it is a date as 2026-11-21, or days ago as 7d", when));
}

// Those that the options leave, newest first.
Result<std::vector<RunRecord>> Wanted(VerbCall& call, Store& store) {
  std::vector<RunRecord> runs = HONE_TRY(store.Runs());
  const std::string problem = call.Text("problem"), target = call.Text("target");
  const std::int64_t since = call.Has("since") ? HONE_TRY(Moment(call.Text("since"))) : 0;
  std::erase_if(runs, [&](const RunRecord& run) {
    return run.problem_name.find(problem) == std::string::npos || (!target.empty() && run.target != target) ||
           run.updated_ms < since;
  });
  return runs;
}

Result<Answer> List(VerbCall& call, Store& store) {
  const std::vector<RunRecord> runs = HONE_TRY(Wanted(call, store));
  Json rows = Json::array();
  constexpr std::size_t kNamed = 25;  // what the other columns leave of kTextColumns
  std::string apart;                  // runs of problems that are flagged
  std::string text = fmt::format("{:<7} {:<{}} {:<6} {:<11} {:>8} {:>9} {:>8}  {}\n", "run", "problem", kNamed,
                                 "target", "state", "attempts", "best", "speed-up", "updated (UTC)");
  for (const RunRecord& run : runs) {
    const RunSummary summary = HONE_TRY(store.Summarize(run));
    const RunSettings settings = HONE_TRY(ParseRunSettings(run.settings));
    const bool active = run.state == RunState::kRunning && HONE_TRY(store.Active(run.id));
    const std::string_view state = run.state == RunState::kRunning && !active ? "killed" : Name(run.state);
    rows.push_back({{"id", run.id},
                    {"problem", run.problem_name},
                    {"problem_identity", run.problem_identity},
                    {"target", run.target},
                    {"machine", run.machine},
                    {"state", state},
                    {"stop_reason", run.stop_reason},
                    {"attempts", summary.attempts},
                    {"accepted", summary.accepted},
                    {"best_attempt", run.best_attempt},
                    {"best_us", summary.best_us},
                    {"speedup", summary.best_speedup},
                    {"confirmed", summary.confirmed},
                    {"bound_us", run.bound_us},
                    {"flags", FlagsOfRun(run.flags)},
                    {"note", run.note},
                    {"search", settings.search},
                    {"proposer", settings.proposer},
                    {"seed", settings.seed},
                    {"created_ms", run.created_ms},
                    {"updated_ms", run.updated_ms}});
    const std::string flags = FlagNames(FlagsOfRun(run.flags));
    const std::string name =
        run.problem_name.size() <= kNamed ? run.problem_name : run.problem_name.substr(0, kNamed - 1) + "~";
    std::string& list = flags.empty() ? text : apart;
    list += fmt::format("{:<7} {:<{}} {:<6} {:<11} {:>8} {:>9} {:>8}  {}\n", run.id, name, kNamed, run.target, state,
                        summary.attempts, TimeText(summary.best_us), SpeedupText(summary.best_speedup),
                        UtcTime(run.updated_ms).substr(0, 16));
    if (!flags.empty()) list += fmt::format("        flagged: {}\n", flags);
    if (!run.note.empty()) list += fmt::format("        note: {}\n", run.note);
  }
  if (!apart.empty()) text += "\nof flagged problems, whose times and speed-ups say little:\n" + apart;
  if (runs.empty()) {
    const bool any = !HONE_TRY(store.Runs()).empty();
    text = fmt::format("no {} in {}; `hone optimize` makes one", any ? "such run" : "runs yet", store.path());
  }
  const bool narrowed = call.Has("problem") || call.Has("target") || call.Has("since");
  return Answer({{"store", store.path()}, {"runs", std::move(rows)}}, std::move(text),
                runs.empty() && narrowed ? ExitCode::kNo : ExitCode::kDone);
}

Result<Answer> Annotate(VerbCall& call, Store& store) {
  if (!call.Has("run")) return Fail(ErrorKind::kUsage, "--note needs the run that it is of: hone runs RUN --note TEXT");
  const RunRecord run = HONE_TRY(Named(store.FindRun(call.Text("run"))));
  const std::string note = call.Text("note");
  if (note.find('\n') != std::string::npos) return Fail(ErrorKind::kUsage, "--note: it is one line");
  HONE_TRY(store.SetNote(run.id, note));
  return Answer({{"store", store.path()}, {"id", run.id}, {"note", note}},
                note.empty() ? fmt::format("{} has no note any more", run.id) : fmt::format("{}: {}", run.id, note));
}

// The runs that --delete, --prune and --keep mean.
Result<std::vector<RunRecord>> Superfluous(VerbCall& call, Store& store) {
  std::vector<RunRecord> runs;
  for (const std::string& id : call.Texts("delete")) runs.push_back(HONE_TRY(Named(store.FindRun(id))));
  if (!call.Has("prune") && !call.Has("keep")) return runs;
  const std::vector<RunRecord> wanted = HONE_TRY(Wanted(call, store));
  const std::int64_t before = UnixMilliseconds() - call.Int("prune") * kDayMs;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool old = !call.Has("prune") || wanted[i].updated_ms <= before;
    const bool beyond = !call.Has("keep") || i >= static_cast<std::size_t>(call.Int("keep"));
    if (old && beyond) runs.push_back(wanted[i]);
  }
  return runs;
}

// Whoever works on a run holds its lock, and so do we while it goes.
Result<Answer> Delete(VerbCall& call, Store& store) {
  const bool yes = call.Flag("yes");
  Json deleted = Json::array(), at_work = Json::array();
  std::string text;
  for (const RunRecord& run : HONE_TRY(Superfluous(call, store))) {
    const std::string row = fmt::format("{} {} of {}", run.id, run.problem_name, UtcTime(run.updated_ms));
    const auto lock = HONE_TRY(store.Lock(run.id));
    (lock ? deleted : at_work).push_back(run.id);
    text +=
        fmt::format("{} {}\n", lock ? (yes ? "deleted" : "would delete") : "kept, since a hone is at work on it:", row);
    if (lock && yes) HONE_TRY(store.DeleteRun(run.id));
  }
  if (text.empty()) text = "no run is such\n";
  if (!yes && !deleted.empty()) text += "Nothing was deleted: --yes does it.\n";
  return Answer({{"store", store.path()}, {yes ? "deleted" : "would_delete", deleted}, {"at_work", at_work}}, text);
}

Result<Answer> RunIt(VerbCall& call) {
  const std::string path = StorePath(call);
  const bool deletes = call.Has("delete") || call.Has("prune") || call.Has("keep");
  if (call.Has("run") && !call.Has("note")) {
    return Fail(ErrorKind::kUsage,
                fmt::format("a run is shown by hone show {}; --note keeps a line with it", call.Text("run")));
  }
  if (deletes && call.Has("note")) return Fail(ErrorKind::kUsage, "--note and deleting do not go together");
  if (call.Flag("yes") && !deletes)
    return Fail(ErrorKind::kUsage, "--yes is of --delete, --prune and --keep, which say what to delete");
  std::error_code ignored;
  // Nothing was optimized yet: that is an answer and not a failure, unless a store was named.
  if (!call.Has("store") && !std::filesystem::exists(path, ignored)) {
    return Answer({{"store", path}, {"runs", Json::array()}},
                  fmt::format("no runs yet in {}; `hone optimize` makes one", path));
  }
  Store store = HONE_TRY(Store::OpenExisting(path));
  if (call.Has("note")) return Annotate(call, store);
  return deletes ? Delete(call, store) : List(call, store);
}

}  // namespace

HONE_ROW(Verb){
    .name = "runs",
    .doc = "List the runs in the run store, note something on them, delete old ones",
    .group = VerbGroup::kRuns,
    .place = 2,
    .help =
        "A run is found again by its problem, target, machine and settings: the same `hone optimize` goes\n"
        "on with one that was interrupted or killed. `hone show RUN` shows what was tried; the first\n"
        "digits of its id will do. What would be deleted is said first; with a run go the sources and\n"
        "logs that no other run refers to. A run that a hone is at work on stays.\n"
        "\n"
        "  hone runs --problem softmax --since 7d\n"
        "  hone runs 628ebe --note \"before the new compiler\"\n"
        "  hone runs --prune 30 --keep 10\n"
        "  hone runs --delete 628ebe --yes\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "store; runs[], newest first: id, problem, problem_identity, target, machine, state (running, done,\n"
        "interrupted, killed), stop_reason, attempts, accepted, best_attempt (0 = none), best_us (us), speedup\n"
        "(over the first baseline), confirmed, bound_us (us, 0 = not known), flags[] (as of `hone graph`), note,\n"
        "search, proposer, seed, created_ms and updated_ms (since 1970). With --note: id, note. When deleting:\n"
        "would_delete[] or, with --yes, deleted[], and at_work[] (ids).",
    .run = RunIt,
};

}  // namespace hone::verb_runs
