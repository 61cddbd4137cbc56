#include "command/run_material.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/date.h"
#include "base/json_text.h"
#include "command/command.h"
#include "command/flags.h"
#include "command/store_words.h"
#include "command/target.h"
#include "diagnose/roofline.h"
#include "graph/graph.h"
#include "search/finals.h"
#include "search/record.h"
#include "search/start.h"
#include "target/bound.h"
#include "verdict/baselines.h"

namespace hone {
namespace {

// The evaluation that speaks for the best attempt: its latest confirmation's where that held and was not disturbed, or
// there is none such; else its own.
Result<void> Prove(Store& store, RunMaterial& material) {
  const int best = material.run.best_attempt;
  if (best == 0) return {};
  if (static_cast<std::size_t>(best) > material.evaluations.size())
    return Fail(ErrorKind::kCorrupt, fmt::format("run {} has no attempt {}, its best", material.run.id, best));
  material.proof = material.evaluations[static_cast<std::size_t>(best) - 1];
  for (const ConfirmationRecord& confirmation : material.confirmations) {
    Evaluation evaluation = HONE_TRY(ReadConfirmation(store, confirmation));
    material.confirming_ms.push_back(evaluation.how->stages.total_ms);
    const bool disturbed = evaluation.timing && !evaluation.timing->disturbed.empty();
    material.ranked_us.push_back(disturbed ? evaluation.timing->LikelyUs() : 0);
    if (confirmation.attempt != best || confirmation.outcome != Name(Outcome::kAccepted)) continue;
    if (material.confirmed && IsUndisturbed(material.proof) && !IsUndisturbed(evaluation)) continue;
    material.proof = std::move(evaluation);
    material.confirmed = true;
  }
  return {};
}

Result<std::string> RooflineText(const RunMaterial& material, const DeviceModel& device) {
  const Graph graph = HONE_TRY(Graph::Create(material.problem));
  const Bound bound = SpeedOfLight(graph, device);
  if (bound.flops <= 0 || bound.bytes <= 0)
    return Fail(ErrorKind::kNotFound, "the problem's floating-point operations or its bytes are not known");
  Profile profile(Scope::kPlan, material.problem.name);
  profile.Set("problem_flops", bound.flops, FactSource::kAnalytic);
  profile.Set("problem_bytes", bound.bytes, FactSource::kAnalytic);
  const Roofline roofline = RooflineOf({&profile, 1}, device);
  if (roofline.ceilings.empty() || roofline.bandwidth <= 0)
    return Fail(ErrorKind::kNotFound, "this machine's ceilings were never measured: `hone calibrate` does that");
  return JsonText(ToJson(roofline));
}

// As options take it: whole numbers with all of their digits.
std::string NumberText(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:g}", value);
}

// The file that makes this very problem, or nothing: a cut one and one with a workload's sizes are made by `hone
// import`, and of a problem.json that was written by hand the store has the text and not the path.
std::optional<std::string> FileOf(const Problem& problem) {
  const auto source = problem.provenance.find("source");
  if (source == problem.provenance.end() || problem.provenance.contains("workload")) return std::nullopt;
  return source->second;
}

// What was timed beside the winner, where that is not what is timed unless other baselines are asked for.
std::vector<std::string> BaselinesOf(const RunMaterial& material) {
  if (!material.confirmed || !material.proof.timing) return {};
  const bool cuda = material.run.target == "cuda";
  std::vector<std::string> timed, usual;
  for (const Comparison& one : material.proof.timing->against) timed.push_back(one.baseline);
  for (const BaselineRow& row : kBaselines) {
    if (row.usual && row.torch && FileOf(material.problem) && (cuda ? row.device : row.host))
      usual.emplace_back(row.name);
  }
  if (!cuda) usual.emplace_back("naive");
  return timed == usual ? std::vector<std::string>() : timed;
}

// What the run is known to have been told, so that the line goes on with it from any folder. Those who are named are
// found where they were: a file of a baseline or of a start has its name alone.
std::string CommandOf(const RunMaterial& material, const RunSettings& settings, const Result<DeviceModel>& device,
                      const std::string& store) {
  std::string command = fmt::format("hone optimize {}", ShellWord(FileOf(material.problem).value_or("problem.json")));
  const auto option = [&](std::string_view name, const std::string& value) {
    command += fmt::format(" --{} {}", name, ShellWord(value));
  };
  option("target", material.run.target);
  option("seed", std::to_string(settings.seed));
  option("search", settings.search);
  option("proposer", settings.proposer);
  if (!settings.start.empty() && !material.attempts.empty())
    option("start", StartName(material.attempts.front().origin));
  if (settings.memory) option("memory", "on");
  const bool cuda = material.run.target == "cuda";
  if (settings.lanes > 1) option("devices", "all");
  const auto& timing = material.proof.timing;
  if (settings.threads > 0) {
    option("threads", std::to_string(settings.threads));
  } else if (!cuda && timing && (!device || timing->threads != device->threads)) {
    option("threads", std::to_string(timing->threads));
  }
  const std::vector<std::string> baselines = BaselinesOf(material);
  if (!cuda && baselines == std::vector<std::string>{"naive"}) {
    command += " --no-torch";
  } else {
    for (const std::string& name : baselines) option("baseline", name);
  }
  if (!material.proof.how->certificate.empty()) command += " --certify";
  if (settings.tools.kind != Advisers::Kind::kUnnamed) option("tools", settings.tools.Text());
  if (!settings.profile.empty() || (settings.tools.expert_acts() && material.run.target == "cuda"))
    option("profile", settings.profile.empty() ? "none" : settings.profile);
  if (settings.objective.NeedsEnergy()) {
    const std::string text = settings.objective.Text();  // "time:0.02,energy"
    option("objective", text.substr(text.rfind(',') + 1));
    option("slower", fmt::format("{:g}", 100 * settings.objective.Slower()));
  }
  command += StoreWords(store == DefaultStorePath() ? store : std::filesystem::absolute(store).string());
  const auto budget = nlohmann::json::parse(material.run.budget, nullptr, false);
  if (!budget.is_object()) return command;
  for (const auto& [key, name] : {std::pair{"attempts", "budget"},
                                  {"seconds", "time"},
                                  {"headroom", "headroom"},
                                  {"idle", "idle"},
                                  {"joules", "joules"},
                                  {"max_tokens", "max-tokens"},
                                  {"max_dollars", "max-dollars"}}) {
    if (const auto found = budget.find(key); found != budget.end() && found->is_number())
      option(name, NumberText(found->get<double>()));
  }
  return command;
}

void SetEnvironment(RunMaterial& material, const RunSettings& settings, const Result<DeviceModel>& device) {
  const auto add = [&](std::string name, std::string value) {
    if (!value.empty()) material.environment.emplace_back(std::move(name), std::move(value));
  };
  add("target", material.run.target);
  add("machine", material.run.machine);
  if (device) {
    add("device", fmt::format("{}, {}", device->processor, WidthOf(*device)));
    add("architecture", device->arch);
    add("ceilings measured", device->ceilings.measured_on);
    add("compiler", device->ceilings.compiler);
  }
  if (settings.lanes > 1) add("attempts at a time", std::to_string(settings.lanes));
  const Evaluation& proof = material.proof;
  add("candidates are held by", proof.how->sandbox);
  if (proof.timing) {
    add("threads", std::to_string(proof.timing->threads));
    add("launched as", proof.timing->launched);
    if (const auto& clocks = proof.timing->clocks)
      add("clock while timed",
          fmt::format("{} to {} MHz{}{}", clocks->sm_mhz_low, clocks->sm_mhz_high,
                      clocks->limits.empty() ? "" : ", held down by ", fmt::join(clocks->limits, ", ")));
  }
  for (const auto& [name, value] : material.problem.provenance) {
    if (name != "source" && name != "source_sha256") add("problem, " + name, value);
  }
}

}  // namespace

std::string MadeBy() { return fmt::format("hone {}, {}", HONE_VERSION, Today()); }

Result<std::string> StateOf(Store& store, const RunRecord& run) {
  const bool killed = run.state == RunState::kRunning && !HONE_TRY(store.Active(run.id));
  return std::string(killed ? "killed" : Name(run.state));
}

Result<RunMaterial> ReadRunMaterial(Store& store, const RunRecord& run) {
  RunMaterial material{.run = run};
  material.state = HONE_TRY(StateOf(store, run));
  material.summary = HONE_TRY(store.Summarize(run));
  const std::string problem = HONE_TRY(store.Blob(run.problem_blob));
  material.problem = HONE_TRY(ParseProblem(problem, fmt::format("the problem of run {}", run.id)));
  for (const auto& flag : FlagsOfRun(run.flags)) material.flags.push_back(flag.value("sentence", ""));
  material.attempts = HONE_TRY(store.Attempts(run.id));
  for (const AttemptRecord& attempt : material.attempts) {
    Evaluation evaluation;
    if (attempt.ended()) evaluation = HONE_TRY(ReadEvaluation(attempt.evaluation, {}));
    material.evaluations.push_back(std::move(evaluation));
    for (const std::string& key : {attempt.source_blob, attempt.log_blob}) {
      if (!key.empty() && !material.texts.contains(key)) material.texts[key] = HONE_TRY(store.Blob(key));
    }
  }
  material.rounds = HONE_TRY(store.Rounds(run.id));
  material.confirmations = HONE_TRY(store.Confirmations(run.id));
  HONE_TRY(Prove(store, material));
  const RunSettings settings = HONE_TRY(ParseRunSettings(run.settings));
  const Result<DeviceModel> device = DeviceOfRun(run);
  auto roofline = device ? RooflineText(material, *device) : Result<std::string>(tl::unexpected<Error>(device.error()));
  if (roofline) {
    material.roofline = *std::move(roofline);
  } else {
    material.why_no_roofline = roofline.error().message;
  }
  material.command = CommandOf(material, settings, device, store.path());
  SetEnvironment(material, settings, device);
  material.made_by = MadeBy();
  return material;
}

}  // namespace hone
