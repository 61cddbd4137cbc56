// hone diagnose: why a candidate takes as long as it does, as far as that is known without running it.
#include "diagnose/diagnose.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/process.h"
#include "candidate/candidate.h"
#include "command/command.h"
#include "command/profile_text.h"
#include "command/target.h"
#include "diagnose/advisers.h"
#include "diagnose/roofline.h"
#include "graph/graph.h"
#include "problem/import/import.h"
#include "profile/candidate_profiles.h"
#include "profile/read_profile.h"

namespace hone::verb_diagnose {
namespace {

constexpr Positional kPositionals[] = {
    {.name = "problem", .help = "problem.json, or a KernelBench-style .py file", .reads = true},
    {.name = "candidate",
     .help = "a program (.hk), a plan (.json), kernels with launch lines or a module of CUDA C++ (.cu), or a module of "
             "C++ (.cc); or what `hone profile --json` said of one: today's rules look at what was counted then",
     .reads = true},
};
constexpr Option kOptions[] = {
    kTargetOption,
    kDeviceOption,
    {.name = "tools", .value = "WHO", .help = kAdvisersHelp, .otherwise = "on"},
    {.name = "svg", .value = "FILE", .help = "draw the roofline there"},
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

Result<Answer> RunDiagnose(VerbCall& call) {
  const Advisers advisers = HONE_TRY(Advisers::Parse(call.Text("tools")));
  if (advisers.kind == Advisers::Kind::kOffered)
    return Fail(ErrorKind::kUsage, "--tools offered is of hone optimize: nobody asks here; on says what is found");
  const std::string path = call.Text("candidate");
  if (auto counted = HONE_TRY(Counted(path))) {
    const Advised advised = HONE_TRY(AskAdvisers(advisers, std::move(*counted)));
    return Answer(ToJson(advised.diagnosis), Describe(advised.diagnosis));
  }
  const Candidate candidate = HONE_TRY(LoadCandidate(path));
  const DeviceModel device = HONE_TRY(DeviceFor(candidate, call));
  const Graph graph = HONE_TRY(Graph::Create(HONE_TRY(Import(call.Text("problem")))));
  call.Stage("compiling");
  const std::string name = std::filesystem::path(path).filename().string();
  auto profiled = HONE_TRY(ProfileCandidate(candidate, name, graph.problem(), &graph, device, OwnPath()));
  if (const auto* wrong = std::get_if<Unprofiled>(&profiled)) return DoesNotCompile(path, *wrong);
  auto& profiles = std::get<CandidateProfiles>(profiled).profiles;
  const Roofline roofline = RooflineOf(profiles, device);
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
  document["tools"] = std::move(tools);
  document["compiles"] = true;
  document["device"] = device.processor;
  document["roofline"] = ToJson(roofline);
  const std::string roof = Describe(roofline);
  return Answer(document, fmt::format("{}{}{}{}", Describe(diagnosis), failed, roof.empty() ? "" : "\n", roof));
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
        "What is found rests on facts of the compiled code, of its launches, and of the problem: nothing is measured, "
        "so "
        "what a fault costs is an estimate; but of what hone profile counted the facts are those. docs/diagnosis.md "
        "lists facts and rules.",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "compiles, device; findings[]: rule, title, subject, evidence, advice, lost (share of the subject's time), "
        "loss_us, confidence, moves[] (knob, value); left_out; subjects[]: profile (scope, subject, where, facts[]), "
        "class, by_analysis, by_counters, disagree, silent[] (rule, lacks[]); roofline: bytes_per_second, ceilings[], "
        "points[]; tools[]: tool, findings (how many), wrong; or where, message and log; of what was counted findings, "
        "left_out and subjects alone",
    .no = "it does not compile, or a launch does not fit its kernel",
    .run = RunDiagnose,
};

}  // namespace hone::verb_diagnose
