// hone replay: what other rules to stop by would have cost and kept, of a run that was made.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command/command.h"
#include "command/evaluation_text.h"
#include "command/wrong_input.h"
#include "search/record.h"
#include "search/stop_replay.h"
#include "store/store.h"

namespace hone::verb_replay {
namespace {

using Json = nlohmann::json;

constexpr Positional kPositionals[] = {
    {.name = "run", .help = "its id or the first digits of it, as `hone runs` lists", .run = true}};
constexpr Option kOptions[] = {
    {.name = "stop",
     .value = "RULE",
     .help = "budget N, time S, joules J, headroom F, idle N, as of `hone optimize`, or several in one argument; may "
             "be repeated "
             "(default: a few)",
     .repeats = true},
    kStoreOption,
};

// What is looked at when nothing is asked for.
const std::vector<std::string> kUsual = {"budget 10", "budget 20", "idle 5", "idle 8", "idle 12", "headroom 0.3"};

Result<Answer> RunIt(VerbCall& call) {
  Store store = HONE_TRY(Store::OpenExisting(StorePath(call)));
  const RunRecord run = HONE_TRY(Named(store.FindRun(call.Text("run"))));
  const RunSettings settings = HONE_TRY(ParseRunSettings(run.settings));
  if (settings.objective.first() != Measure::kTime)
    return Fail(ErrorKind::kUsage,
                fmt::format("run {} makes {} small; replays are of time", run.id, Name(settings.objective.first())));
  std::vector<StopPoint> attempts;
  for (const AttemptRecord& record : HONE_TRY(store.Attempts(run.id))) {
    if (!record.ended()) continue;
    const Attempt attempt = HONE_TRY(ReadAttempt(store, record));
    attempts.push_back({.seconds = static_cast<double>(record.ended_ms - record.started_ms) / 1000,
                        .value = attempt.time_us(),
                        .joules = attempt.evaluation.how->joules.value_or(0)});
  }
  const Budget all{.attempts = static_cast<int>(attempts.size()) + 1, .seconds = 0, .headroom = -1};
  const StoppedAt whole = StopBy(all, attempts, run.bound_us);
  if (whole.best <= 0)
    return Fail(ErrorKind::kNotFound,
                fmt::format("run {} has no attempt that was accepted: there is nothing to keep", run.id));
  Json rules = Json::array();
  std::string text = fmt::format(
      "run {}: {} attempts, {:.1f} s{}, best {}\n\n{:<24} attempts    saved   seconds    saved  "
      "best       kept\n",
      run.id, whole.attempts, whole.seconds, whole.joules > 0 ? ", " + JoulesText(whole.joules) : "",
      TimeText(whole.best), "rule");
  for (const std::string& words : call.Has("stop") ? call.Texts("stop") : kUsual) {
    if (words.find_first_not_of(' ') == std::string::npos)
      return Fail(ErrorKind::kUsage, "--stop '': it is a rule: 'idle 8', 'headroom 0.1', 'budget 20', 'time 60'");
    const Budget budget = HONE_TRY(ParseBudget(fmt::format("--stop '{}'", words), words, all));
    if (budget.joules > 0 && whole.joules <= 0)
      return Fail(ErrorKind::kUsage, fmt::format("--stop '{}': nobody counted the energy of run {}", words, run.id));
    const StoppedAt at = StopBy(budget, attempts, run.bound_us);
    const double kept = at.best > 0 ? whole.best / at.best : 0;
    const double saved = 1 - static_cast<double>(at.attempts) / whole.attempts;
    const double seconds_saved = whole.seconds > 0 ? 1 - at.seconds / whole.seconds : 0;
    rules.push_back({{"rule", words},
                     {"attempts", at.attempts},
                     {"seconds", at.seconds},
                     {"joules", at.joules},
                     {"best_us", at.best},
                     {"kept", kept},
                     {"reason", at.reason}});
    text += fmt::format("{:<24} {:>8} {:>6.0f} % {:>9.1f} {:>6.0f} %  {:<9} {:>5.1f} %\n", words, at.attempts,
                        100 * saved, at.seconds, 100 * seconds_saved, TimeText(at.best), 100 * kept);
  }
  return Answer({{"run", run.id},
                 {"attempts", whole.attempts},
                 {"seconds", whole.seconds},
                 {"joules", whole.joules},
                 {"best_us", whole.best},
                 {"rules", std::move(rules)}},
                std::move(text));
}

}  // namespace

HONE_ROW(Verb){
    .name = "replay",
    .doc = "Say what other rules to stop by would have cost and kept in a run",
    .group = VerbGroup::kRuns,
    .place = 5,
    .help =
        "The run's attempts are gone through again, up to where a rule says stop: no decision of a search depends on "
        "its budget. Seconds are those of attempts; what is kept is the best time of the whole run over the best by "
        "then, both as the search measured them. Over tables, `hone compare` asks the same of many searches.\n"
        "\n"
        "  hone replay 3fa2\n"
        "  hone replay 3fa2 --stop 'idle 8' --stop 'idle 8 headroom 0.1'\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "run, attempts, seconds, joules (0: nobody counted), best_us; rules[]: rule, attempts, seconds, joules, "
        "best_us (us, 0 = nothing was accepted by\n"
        "then), kept (a fraction of the speed), reason (empty: the rule did not stop it)",
    .run = RunIt,
    .only_reads = true};

}  // namespace hone::verb_replay
