// hone runs: what is in the run store, newest first.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/date.h"
#include "command/command.h"
#include "command/evaluation_text.h"
#include "command/flags.h"
#include "search/record.h"
#include "store/store.h"

namespace hone {
namespace {

constexpr Option kOptions[] = {kStoreOption};

Result<Answer> RunIt(VerbCall& call) {
  const std::string path = StorePath(call);
  nlohmann::json rows = nlohmann::json::array();
  std::error_code ignored;
  // Nothing was optimized yet: that is an answer and not a failure, unless a store was named.
  if (!call.Has("store") && !std::filesystem::exists(path, ignored)) {
    return Answer({{"store", path}, {"runs", rows}}, fmt::format("no runs yet in {}; `hone optimize` makes one", path));
  }
  Store store = HONE_TRY(Store::OpenExisting(path));
  const std::vector<RunRecord> runs = HONE_TRY(store.Runs());
  std::size_t width = 7;
  for (const RunRecord& run : runs) width = std::max(width, run.problem_name.size());
  std::string apart;  // runs of problems that are flagged
  std::string text =
      fmt::format("{:<7} {:<{}}  {:<8}  {:<11}  {:>8}  {:>9}  {:>8}  {:<8}  {:<10}  updated (UTC)\n", "run", "problem",
                  width, "target", "state", "attempts", "best", "speed-up", "search", "seed");
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
                    {"search", settings.search},
                    {"proposer", settings.proposer},
                    {"seed", settings.seed},
                    {"created_ms", run.created_ms},
                    {"updated_ms", run.updated_ms}});
    const std::string flags = FlagNames(FlagsOfRun(run.flags));
    (flags.empty() ? text : apart) += fmt::format(
        "{:<7} {:<{}}  {:<8}  {:<11}  {:>8}  {:>9}  {:>8}  {:<8}  {:<10}  {}{}{}\n", run.id, run.problem_name, width,
        run.target, state, summary.attempts, TimeText(summary.best_us), SpeedupText(summary.best_speedup),
        settings.search, settings.seed, UtcTime(run.updated_ms), flags.empty() ? "" : "  ", flags);
  }
  if (!apart.empty()) text += "\nof flagged problems, whose times and speed-ups say little:\n" + apart;
  if (runs.empty()) text = fmt::format("no runs yet in {}; `hone optimize` makes one", path);
  return Answer({{"store", path}, {"runs", std::move(rows)}}, std::move(text));
}

}  // namespace

HONE_VERB(runs){
    .name = "runs",
    .doc = "List the runs in the run store",
    .help =
        "A run is found again by its problem, target, machine and settings: the same `hone optimize` goes on with one\n"
        "that was interrupted or killed. `hone show RUN` shows what was tried; the first digits of its id will do.",
    .options = kOptions,
    .json =
        "store; runs[], newest first: id, problem, problem_identity, target, machine, state (running, done, "
        "interrupted, "
        "killed), stop_reason, attempts, accepted, best_attempt (0 = none), best_us (us), speedup (over the first "
        "baseline), confirmed, bound_us (us, 0 = not known), flags[] (as of `hone graph`), search, proposer, seed, "
        "created_ms and updated_ms (since "
        "1970)",
    .run = RunIt,
};

}  // namespace hone
