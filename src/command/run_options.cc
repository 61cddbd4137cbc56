#include "command/run_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "command/code_index_option.h"
#include "command/target.h"
#include "command/torch_baselines.h"
#include "model/models_file.h"
#include "profile/facts.h"
#include "propose/lookup.h"
#include "target/device_model.h"
#include "verdict/baselines.h"

namespace hone {
namespace {

constexpr double kSlower = 0.02;  // more than two timings of one kernel differ, less than anybody waits for

Result<bool> WantsMemory(VerbCall& call) {
  const std::string word = call.Text("memory");
  if (word != "on" && word != "off") return Fail(ErrorKind::kUsage, fmt::format("--memory {}: it is on or off", word));
  return word == "on";
}

Result<bool> MoreFollows(VerbCall& call) {
  const std::string word = call.Text("confirm");
  if (word == "all") return false;
  if (word != "fastest") return Fail(ErrorKind::kUsage, fmt::format("--confirm {}: it is all or fastest", word));
  if (call.Has("start")) return Fail(ErrorKind::kUsage, "--confirm fastest: a --start is confirmed beside the winner");
  return true;
}

Result<Objective> ObjectiveOf(VerbCall& call) {
  const std::string measure = call.Text("objective");
  if (!call.Has("slower")) return Objective::Choose(measure, kSlower);
  if (measure == Name(Measure::kTime))
    return Fail(ErrorKind::kUsage, "--slower is of --objective energy and edp: of time the fastest wins");
  const double percent = call.Real("slower");
  if (percent > 100) return Fail(ErrorKind::kUsage, fmt::format("--slower {}: it is a percentage up to 100", percent));
  return Objective::Choose(measure, percent / 100);
}

// The name of a CounterSet; empty: nothing is counted.
Result<std::string> ProfileOf(VerbCall& call, const Advisers& advisers, bool cuda) {
  if (!call.Has("profile")) return cuda && advisers.expert_acts() ? std::string(Name(CounterSet::kStandard)) : "";
  const std::string set = call.Text("profile");
  if (set == "none") return std::string();
  if (set != "triage" && set != "standard")
    return Fail(ErrorKind::kUsage, fmt::format("--profile {}: it is none, triage or standard", set));
  if (!cuda) return Fail(ErrorKind::kUsage, "--profile is of --target cuda: nothing is counted on the processor");
  return set;
}

// Whether it can be had for a problem depends on that; a name that no problem here can have is a mistake.
Result<void> CheckBaseline(const std::string& name, bool cuda) {
  if (const auto own = ParseOwnModule(name)) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(own->file, ignored)) return {};
    return Fail(ErrorKind::kUsage, fmt::format("--baseline {}: there is no file {}", name, own->file));
  }
  std::vector<std::string_view> names;
  for (const BaselineRow& row : kBaselines) {
    if (cuda ? row.device : row.host) names.push_back(row.name);
  }
  if (std::ranges::find(names, name) != names.end()) return {};
  return Fail(ErrorKind::kUsage, fmt::format("--baseline {}: what can be timed on {} is {}, or FILE.py[:CLASS]", name,
                                             cuda ? "cuda" : "cpu", fmt::join(names, ", ")));
}

}  // namespace

int ThreadsOfRun(const VerbCall& call) {
  const auto threads = static_cast<int>(call.Int("threads"));
  return threads == DescribeMachine().threads ? 0 : threads;
}

Result<RunOptions> ReadRunOptions(VerbCall& call) {
  const bool cuda = HONE_TRY(WantsCuda(call));
  for (const char* name : {"devices", "jobs"}) {
    const bool given = name == std::string_view("jobs") ? call.Int(name) > 0 : !call.Text(name).empty();
    if (given && !cuda) return Fail(ErrorKind::kUsage, fmt::format("--{} is of --target cuda", name));
  }
  // What was measured of the other one, recorded tables, is the expert's alone: it tries several beginnings first, each
  // of which is a question to others.
  const bool expert = call.Text("proposer") == "expert";
  auto strategy = HONE_TRY(ChooseStrategy(call.Has("search") || expert ? call.Text("search") : "greedy"));
  auto proposers = HONE_TRY(ChosenProposers::Parse(call.Text("proposer")));
  auto objective = HONE_TRY(ObjectiveOf(call));
  auto advisers = HONE_TRY(call.Has("tools") ? Advisers::Parse(call.Text("tools")) : Advisers{});
  auto profile = HONE_TRY(ProfileOf(call, advisers, cuda));
  auto index = HONE_TRY(IndexFor(call, proposers));
  const bool memory = HONE_TRY(WantsMemory(call)), more_follows = HONE_TRY(MoreFollows(call));
  return RunOptions{cuda,
                    std::move(strategy),
                    std::move(proposers),
                    std::move(objective),
                    std::move(advisers),
                    std::move(profile),
                    std::move(index),
                    memory,
                    more_follows};
}

Result<void> CheckBeforeRuns(VerbCall& call, const RunOptions& options) {
  for (const std::string& name : call.Texts("baseline")) HONE_TRY(CheckBaseline(name, options.cuda));
  if (!options.proposers.Take(kLookupTokens.name)) return {};  // none asks a language model
  const std::string models = call.Text("models");
  HONE_TRY(ModelsFile::Read(models.empty() ? ModelsFile::UsualPath() : models));
  if (!options.index.empty()) HONE_TRY(CodeIndex::Open(options.index));
  return {};
}

}  // namespace hone
