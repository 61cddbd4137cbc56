// hone diagnose: why a candidate takes as long as it does, as far as that is known without running it.
#include "diagnose/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/process.h"
#include "candidate/candidate.h"
#include "command/command.h"
#include "command/evaluation_text.h"
#include "command/graph_of.h"
#include "command/profile_text.h"
#include "command/run_attempt.h"
#include "command/target.h"
#include "command/wrong_input.h"
#include "diagnose/advisers.h"
#include "diagnose/insight.h"
#include "diagnose/roofline.h"
#include "graph/graph.h"
#include "problem/import/import.h"
#include "profile/candidate_profiles.h"
#include "profile/read_profile.h"
#include "search/record.h"
#include "store/store.h"
#include "target/cuda/device_calibration.h"

namespace hone::verb_diagnose {
namespace {

constexpr Positional kPositionals[] = {
    {.name = "problem", .help = "problem.json, or a KernelBench-style .py file", .reads = true},
    {.name = "candidate",
     .help = "a program (.hk), a plan (.json), kernels with launch lines or a module of CUDA C++ (.cu), or a module of "
             "C++ (.cc); what `hone profile --json` said of one: today's rules look at what was counted then; or a "
             "run's id or its first digits, as `hone runs` lists them: its best attempt",
     .run = true},
};
constexpr Option kOptions[] = {
    kTargetOption,
    kDeviceOption,
    {.name = "attempt", .type = ValueType::kInteger, .value = "N", .help = "another attempt of the run", .at_least = 1},
    {.name = "all", .type = ValueType::kFlag, .help = "each accepted attempt of the run in a line"},
    {.name = "tools", .value = "WHO", .help = kAdvisersHelp, .otherwise = "on"},
    {.name = "svg", .value = "FILE", .help = "draw the roofline there", .writes = true},
    kStoreOption,
};

// Plans and CUDA C++ are for a device, C++ is for the processor; programs are for either.
Result<DeviceModel> DeviceFor(const Candidate& candidate, VerbCall& call) {
  switch (candidate.kind) {
    case CandidateKind::kProgram: return KnownDevice(call);
    case CandidateKind::kModule:
      if (call.Has("device") || HONE_TRY(WantsCuda(call)))
        return Fail(ErrorKind::kUsage, "a module of C++ runs on the processor: leave out --device and --target cuda");
      return KnownDevice(false);
    case CandidateKind::kPlan:
    case CandidateKind::kCudaModule: return call.Has("device") ? NamedDevice(call) : KnownDevice(true);
  }
  return KnownDevice(call);
}

// Of a file that says what was counted before; nothing: it is a candidate.
Result<std::optional<std::vector<Profile>>> Counted(const std::string& path) {
  if (!path.ends_with(".json")) return std::nullopt;
  const auto document = nlohmann::json::parse(HONE_TRY(ReadFile(path)), nullptr, false);
  if (!document.is_object() || !document.contains("subjects")) return std::nullopt;
  return HONE_TRY(ReadProfiles(document, path));
}

// What is diagnosed, and what is known of it beside its text.
struct Asked {
  Candidate candidate;
  std::string name;
  DeviceModel device;
  double time_us = 0;  // 0 = not timed
  std::vector<CountedFacts> counted = {};
  nlohmann::json of = nlohmann::json::object();  // its run
  std::string words = {};                        // the same for people
};

Result<Answer> DiagnoseOne(const Asked& asked, const Graph& graph, const Advisers& advisers, VerbCall& call) {
  call.Stage("compiling");
  auto profiled =
      HONE_TRY(ProfileCandidate(asked.candidate, asked.name, graph.problem(), &graph, asked.device, OwnPath()));
  if (const auto* wrong = std::get_if<Unprofiled>(&profiled)) return DoesNotCompile(asked.name, *wrong);
  auto& profiles = std::get<CandidateProfiles>(profiled).profiles;
  if (asked.time_us > 0) AddKept(profiles, asked.time_us, asked.counted);
  const Roofline roofline = RooflineOf(profiles, asked.device);
  if (call.Has("svg")) HONE_TRY(WriteFileAtomically(call.Text("svg"), DrawSvg(roofline)));
  if (!advisers.folder.empty()) call.Stage("asking tools");
  const Advised advised = HONE_TRY(AskAdvisers(advisers, std::move(profiles)));
  const Diagnosis& diagnosis = advised.diagnosis;
  nlohmann::json tools = nlohmann::json::array();
  std::string failed;
  for (const Advised::Tool& tool : advised.tools) {
    tools.push_back({{"tool", tool.name}, {"findings", tool.findings}, {"wrong", tool.wrong}});
    if (!tool.wrong.empty()) failed += fmt::format("tool {} says nothing: {}\n", tool.name, tool.wrong);
  }
  nlohmann::json document = ToJson(diagnosis);
  document.update(asked.of);
  document["tools"] = std::move(tools);
  document["compiles"] = true;
  document["device"] = asked.device.processor;
  document["roofline"] = ToJson(roofline);
  const std::string roof = Describe(roofline);
  return Answer(document,
                fmt::format("{}{}{}{}{}", asked.words, Describe(diagnosis), failed, roof.empty() ? "" : "\n", roof));
}

// --- Runs

// Ids are hex digits, which name no candidate's kind.
bool MeansRun(const std::string& words) {
  return !std::filesystem::exists(words) && !words.empty() &&
         words.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
}

Result<DeviceModel> DeviceFor(const RunRecord& run, VerbCall& call) {
  const bool cuda = run.target == "cuda";
  if (call.Has("target") && HONE_TRY(WantsCuda(call)) != cuda)
    return Fail(ErrorKind::kUsage, fmt::format("run {} is on {}: leave out --target", run.id, run.target));
  if (call.Has("device")) {
    if (cuda) return NamedDevice(call);
    return Fail(ErrorKind::kUsage, fmt::format("run {} is on the processor: leave out --device", run.id));
  }
  auto device = DeviceOfRun(run);
  if (!device) {
    return Fail(device.error().kind,
                device.error().message + (cuda ? "; --device MODEL names one to take in its place" : ""));
  }
  if (cuda) device->libraries = cuda::FindLibraries();
  return device;
}

Result<AttemptRecord> WantedAttempt(Store& store, const RunRecord& run, VerbCall& call) {
  const std::int64_t number = call.Has("attempt") ? call.Int("attempt") : run.best_attempt;
  if (number == 0) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("run {} has no accepted attempt yet; --attempt N names another", run.id));
  }
  return FindAttempt(store, run, number);
}

// In a line each: what limits it today, and what may cost most.
Result<Answer> DiagnoseAll(Store& store, const RunRecord& run, const Graph& graph, const Advisers& advisers,
                           VerbCall& call) {
  const DeviceModel device = HONE_TRY(DeviceFor(run, call));
  const auto records = HONE_TRY(store.Attempts(run.id));
  nlohmann::json rows = nlohmann::json::array();
  std::string text = fmt::format("{:>8} {:>9}  {:<8} {:<8} may cost most\n", "attempt", "time", "counted", "class");
  for (const AttemptRecord& record : records) {
    if (record.outcome != Name(Outcome::kAccepted) || record.median_us <= 0) continue;
    call.Stage(fmt::format("attempt {} of {}", record.number, records.size()));
    const Attempt attempt = HONE_TRY(ReadAttempt(store, record));
    const auto& counted = attempt.insight->counted;
    const Insight today = LookAt(attempt.proposal.candidate, record.median_us,
                                 {graph.problem(), &graph, device, OwnPath(), advisers}, [&](CandidateProfiles& made) {
                                   AddKept(made.profiles, record.median_us, counted);
                                   return std::string();
                                 });
    const Class* decided = today.limits.decided();
    const Finding* first = today.findings.empty() ? nullptr : &today.findings.front();
    rows.push_back({{"attempt", record.number},
                    {"median_us", record.median_us},
                    {"counted", !counted.empty()},
                    {"class", decided == nullptr ? nlohmann::json() : nlohmann::json(Name(decided->bottleneck))},
                    {"finding", first == nullptr ? nlohmann::json() : ToJson(*first)},
                    {"missing", today.missing}});
    std::string worst = today.missing.empty() ? "nothing" : today.missing;
    if (first != nullptr) worst = fmt::format("{} in {}: {:.0f} %", first->rule, first->subject, 100 * first->lost);
    text += fmt::format("{} {:>6} {:>9}  {:<8} {:<8} {}\n", record.number == run.best_attempt ? '*' : ' ',
                        record.number, TimeText(record.median_us), counted.empty() ? "no" : "yes",
                        decided == nullptr ? "-" : Name(decided->bottleneck), worst);
  }
  return Answer({{"run", run.id}, {"device", device.processor}, {"attempts", std::move(rows)}}, text);
}

Result<Answer> DiagnoseRun(const Graph& graph, const Advisers& advisers, VerbCall& call) {
  Store store = HONE_TRY(Store::OpenExisting(StorePath(call)));
  const RunRecord run = HONE_TRY(Named(store.FindRun(call.Text("candidate"))));
  if (Identity(graph.problem()) != run.problem_identity) {
    return Fail(ErrorKind::kUsage, fmt::format("run {} is of another problem ({}) than {}", run.id, run.problem_name,
                                               call.Text("problem")));
  }
  if (call.Flag("all")) return DiagnoseAll(store, run, graph, advisers, call);
  const AttemptRecord record = HONE_TRY(WantedAttempt(store, run, call));
  Attempt attempt = HONE_TRY(ReadAttempt(store, record));
  Asked asked{.candidate = std::move(attempt.proposal.candidate),
              .name = fmt::format("attempt {}", record.number),
              .device = HONE_TRY(DeviceFor(run, call)),
              .time_us = record.median_us,
              .counted = std::move(attempt.insight->counted),
              .of = {{"run", run.id}, {"attempt", record.number}, {"median_us", record.median_us}}};
  asked.words = fmt::format("attempt {} of run {}, {}, {}\n", record.number, run.id,
                            record.median_us > 0 ? TimeText(record.median_us) : "not timed",
                            asked.counted.empty() ? "nothing of it counted" : "with what was counted of it");
  return DiagnoseOne(asked, graph, advisers, call);
}

Result<Answer> RunDiagnose(VerbCall& call) {
  const Advisers advisers = HONE_TRY(Advisers::Parse(call.Text("tools")));
  if (advisers.kind == Advisers::Kind::kOffered)
    return Fail(ErrorKind::kUsage, "--tools offered is of hone optimize: nobody asks here; on says what is found");
  if (call.Has("attempt") && call.Flag("all"))
    return Fail(ErrorKind::kUsage, "--all is of every attempt: leave out --attempt");
  const std::string path = call.Text("candidate");
  if (MeansRun(path)) {
    const Graph graph = HONE_TRY(GraphOf(HONE_TRY(Import(call.Text("problem"))), call.Text("problem")));
    return DiagnoseRun(graph, advisers, call);
  }
  if (call.Has("attempt") || call.Flag("all"))
    return Fail(ErrorKind::kUsage, fmt::format("--attempt and --all are of a run: {} is a file", path));
  if (auto counted = HONE_TRY(Counted(path))) {
    const Advised advised = HONE_TRY(AskAdvisers(advisers, std::move(*counted)));
    return Answer(ToJson(advised.diagnosis), Describe(advised.diagnosis));
  }
  Candidate candidate = HONE_TRY(LoadCandidate(path));
  DeviceModel device = HONE_TRY(DeviceFor(candidate, call));
  const Graph graph = HONE_TRY(GraphOf(HONE_TRY(Import(call.Text("problem"))), call.Text("problem")));
  return DiagnoseOne({std::move(candidate), std::filesystem::path(path).filename().string(), std::move(device)}, graph,
                     advisers, call);
}

}  // namespace

HONE_ROW(Verb){
    .name = "diagnose",
    .doc = "Say why a candidate takes as long as it does, and what might help, without running it",
    .group = VerbGroup::kKernels,
    .place = 4,
    .help =
        "  hone diagnose rms_norm.py kernel.hk --target cuda\n"
        "  hone diagnose p.json plan.json --device h100 --svg roofline.svg\n"
        "  hone diagnose p.json 3fa2           the best attempt of the run whose id begins so\n"
        "  hone diagnose p.json 3fa2 --all     each accepted attempt in a line\n"
        "What is found rests on facts of the compiled code, of its launches, and of the problem: nothing is measured, "
        "so what a fault costs is an estimate; but where hone profile or the run has counted, those are the facts. "
        "docs/diagnosis.md lists facts and rules.",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "compiles, device; findings[]: rule, title, subject, evidence, advice, lost (share of the subject's time), "
        "loss_us, confidence, moves[] (knob, value, part: of the loss, where it is not all); left_out; subjects[]: "
        "profile (scope, subject, where, facts[]), class, by_analysis, by_counters, disagree, silent[] (rule, "
        "lacks[]); roofline: bytes_per_second, ceilings[], "
        "points[]; tools[]: tool, findings (how many), wrong; or where, message and log; of what was counted findings, "
        "left_out and subjects alone; of a run also run, attempt and median_us; with --all: run, device, attempts[]: "
        "attempt, median_us, counted, class, finding (the first; null: none), missing (why nothing was found)",
    .no = "it does not compile, or a launch does not fit its kernel",
    .run = RunDiagnose,
};

}  // namespace hone::verb_diagnose
