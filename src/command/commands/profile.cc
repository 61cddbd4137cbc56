// hone profile: what a candidate's kernels do on a device, counted and recorded while they run.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "base/process.h"
#include "base/sha256.h"
#include "candidate/candidate.h"
#include "command/command.h"
#include "command/graph_of.h"
#include "command/profile_text.h"
#include "command/target.h"
#include "command/torch_profile.h"
#include "diagnose/diagnose.h"
#include "diagnose/roofline.h"
#include "evaluate/device_profile.h"
#include "evaluate/measured_candidate.h"
#include "evaluate/sampled_kernels.h"
#include "graph/graph.h"
#include "problem/import/import.h"
#include "profile/candidate_profiles.h"
#include "target/bound.h"
#include "target/cuda/device_lock.h"
#include "target/cuda/driver.h"
#include "target/cuda/metrics.h"
#include "target/shipped_model.h"

namespace hone::verb_profile {
namespace {

constexpr Positional kPositionals[] = {
    {.name = "problem", .help = "problem.json, or a KernelBench-style .py file", .reads = true},
    {.name = "candidate",
     .help = "a program (.hk), a plan (.json), kernels with launch lines or a module of CUDA C++ (.cu), or several; "
             "without "
             "one, PyTorch's "
             "own ways to run a .py file",
     .presence = Presence::kRepeated,
     .reads = true},
};
constexpr Option kOptions[] = {
    {.name = "target",
     .value = "NAME",
     .help = "cuda: counters are a CUDA device's; cpu: of PyTorch alone",
     .otherwise = "cuda"},
    {.name = "set",
     .value = "NAME",
     .help = "what is counted: triage (each kernel runs once more), standard (seven times), all (ten times)",
     .otherwise = "standard"},
    {.name = "cache",
     .value = "STATE",
     .help =
         "what a kernel finds in the second-level cache when it is counted: warm (what the kernels before it left), "
         "clean (nothing of the candidate's, and nothing that has yet to be written)",
     .otherwise = "warm"},
    {.name = "sass",
     .type = ValueType::kFlag,
     .help =
         "each kernel's machine code under the source lines that it is of, and, where CUPTI takes samples, where its "
         "warps stand and what they wait for"},
    {.name = "with",
     .value = "ncu",
     .help = "count a second time with NVIDIA's ncu, say how far the two are apart, and keep its report"},
};

using Clock = std::chrono::steady_clock;
double Seconds(Clock::time_point since) { return std::chrono::duration<double>(Clock::now() - since).count(); }

// What was tried to count with, in order, and what came of it.
struct Ladder {
  std::optional<ProfiledReport> report, oracle;
  std::string tool, report_file;
  std::vector<std::string> steps;
  std::map<std::string, double> seconds;  // that each took, with starting it
  void Say(std::string line) { steps.push_back(std::move(line)); }
};

std::string ReportFile(const Candidate& candidate, CounterSet set) {
  const std::string folder = DataDirectory() + "/profiles";
  static_cast<void>(MakeDirectories(folder));
  return fmt::format("{}/{}-{}.ncu-rep", folder, Sha256(candidate.text).substr(0, 16), Name(set));
}

// What is counted, and with what.
struct Wanted {
  const Candidate& candidate;
  const CandidateProfiles& made;
  const DeviceModel& device;
  ProfileWish wish;
  std::string ncu_file;
  bool with_ncu = false;
};

void AskNcu(DeviceProfiler& profiler, const Wanted& wanted, NcuReplay replay, VerbCall& call, Ladder& ladder,
            std::optional<ProfiledReport>& into) {
  if (!wanted.made.plan) {
    ladder.Say("ncu: a module's own code is run in bubblewrap alone, where ncu does not watch it");
    return;
  }
  call.Stage("counting with ncu");
  const auto begin = Clock::now();
  const std::string& file = wanted.ncu_file;
  auto watched = profiler.ByNcu(*wanted.made.plan, wanted.wish, replay, file);
  ladder.seconds["ncu"] = Seconds(begin);
  if (!watched || watched->kernels.empty()) {
    ladder.Say(watched ? "ncu: it saw no kernel" : "ncu: " + watched.error().message);
    return;
  }
  const auto version = NcuVersion();
  ladder.Say(fmt::format("ncu {}: {} metrics of {} kernels in {:.2g} s, report in {}", version ? *version : "",
                         watched->metrics.size(), watched->kernels.size(), ladder.seconds["ncu"], file));
  ladder.report_file = file;
  into = *std::move(watched);
}

// CUPTI, else ncu, else none.
Ladder Climb(DeviceProfiler& profiler, const Wanted& wanted, VerbCall& call) {
  Ladder ladder;
  call.Stage("counting");
  const auto begin = Clock::now();
  auto counted = ProfileOnDevice(profiler, wanted.candidate, wanted.made, wanted.device, wanted.wish);
  ladder.seconds["cupti"] = Seconds(begin);
  if (!counted) {
    ladder.Say("CUPTI: " + counted.error().message);
  } else {
    if (!counted->no_timeline.empty()) ladder.Say("CUPTI, timeline: " + counted->no_timeline);
    if (!counted->no_counters.empty()) ladder.Say("CUPTI, counters: " + counted->no_counters);
    if (!counted->no_samples.empty()) ladder.Say("CUPTI, samples: " + counted->no_samples);
    if (!counted->why_kernel_replay.empty())
      ladder.Say("CUPTI, counting whole runs: " + counted->why_kernel_replay +
                 "; so each kernel was run again by itself");
    if (!counted->kernels.empty()) {
      const auto version = cuda::CuptiVersion();
      ladder.tool = "cupti";
      ladder.Say(fmt::format("CUPTI {}, {}: {} metrics of {} kernels in {:.2g} s, each run {} time{}",
                             version ? *version : "", counted->chip, counted->metrics.size(), counted->kernels.size(),
                             ladder.seconds["cupti"], counted->passes, counted->passes == 1 ? "" : "s"));
    }
    ladder.report = *std::move(counted);
  }
  if (ladder.tool.empty()) {
    std::optional<ProfiledReport> watched;
    AskNcu(profiler, wanted, NcuReplay::kKernel, call, ladder, watched);
    if (watched) {
      ladder.tool = "ncu";
      if (ladder.report) watched->timeline = std::move(ladder.report->timeline);
      ladder.report = std::move(watched);
    }
  } else if (wanted.with_ncu) {
    // With clean caches there is nothing that a kernel that runs again by itself could find.
    const bool clean = wanted.wish.caches == Caches::kClean;
    AskNcu(profiler, wanted, clean ? NcuReplay::kKernel : NcuReplay::kProcess, call, ladder, ladder.oracle);
  }
  if (ladder.tool.empty()) ladder.Say("nothing was counted: what follows rests on what is known without running it");
  return ladder;
}

// A device that was never measured has its datasheet's ceilings: a class by analysis needs some.
DeviceModel WithCeilings(DeviceModel device, VerbCall& call) {
  if (device.ceilings.source != Ceilings::Source::kNone) return device;
  for (const ShippedModel* model : AllShippedModels()) {
    if (model->name != device.processor) continue;
    const auto shipped = FindShippedModel(model->key);
    if (!shipped) break;
    device.ceilings = shipped->ceilings;
    call.Note("this device was never measured: its limits are the datasheet's (`hone calibrate` measures them)");
  }
  return device;
}

Result<void> CheckCandidate(const Candidate& candidate) {
  if (candidate.kind == CandidateKind::kModule)
    return Fail(ErrorKind::kUsage,
                "a module of C++ runs on the processor, where nothing is counted: hone diagnose "
                "reads its code");
  return {};
}

// What PyTorch makes of the problem's own file.
Result<Answer> RunTorch(VerbCall& call) {
  if (call.Has("set") || call.Has("with") || call.Has("cache"))
    return Fail(ErrorKind::kUsage,
                "--set, --cache and --with are for a candidate's kernels: name one, or leave them out");
  const bool cuda = HONE_TRY(WantsCuda(call));
  if (cuda) HONE_TRY(cuda::FindDevices());
  const DeviceModel machine = WithCeilings(HONE_TRY(KnownDevice(cuda)), call);
  call.Stage("importing");
  const Problem problem = HONE_TRY(Import(call.Text("problem")));
  const auto graph = Graph::Create(problem);  // one that we cannot define has no bound
  const double bound_us = graph ? SpeedOfLight(*graph, machine).us : 0;
  std::unique_ptr<cuda::DeviceHold> held;
  if (cuda) {
    held = HONE_TRY(cuda::LockDevices("", {.say = [&](std::string_view what) { call.Note(what); }}));
  }
  call.Stage("running PyTorch");
  const auto profiles = HONE_TRY(ProfileTorch(problem, machine, cuda, &call.CatchInterrupts()));
  const bool any = std::any_of(profiles.begin(), profiles.end(), [](const auto& one) { return one.wrong.empty(); });
  return Answer({{"device", machine.processor}, {"bound_us", bound_us}, {"modes", ToJson(profiles)}},
                fmt::format("on {}\n\n{}", machine.processor, Describe(profiles, bound_us)),
                any ? ExitCode::kDone : ExitCode::kNo);
}

// What all candidates of a call have in common.
struct Common {
  const Graph& graph;
  const DeviceModel& device;
  ProfileWish wish;
  DeviceProfiler* profiler;  // null: no device, for this reason
  std::string why_no_device;
};

Result<Answer> ProfileOne(const std::string& path, const Candidate& candidate, const Common& common, VerbCall& call) {
  call.Stage("compiling");
  const Problem& problem = common.graph.problem();
  const std::string name = std::filesystem::path(path).filename().string();
  auto profiled = HONE_TRY(ProfileCandidate(candidate, name, problem, &common.graph, common.device, OwnPath()));
  if (const auto* wrong = std::get_if<Unprofiled>(&profiled)) return DoesNotCompile(path, *wrong);
  auto& made = std::get<CandidateProfiles>(profiled);
  if (common.wish.samples) HONE_TRY(CompileWithLines(made, candidate, problem, common.device, OwnPath()));
  Ladder ladder;
  if (common.profiler == nullptr) {
    ladder.Say("nothing was counted: " + common.why_no_device);
  } else {
    const Wanted wanted{candidate,       made, common.device, common.wish, ReportFile(candidate, common.wish.set),
                        call.Has("with")};
    ladder = Climb(*common.profiler, wanted, call);
  }
  call.Stage("");
  if (ladder.report) AddMeasured(made, *ladder.report, problem, &common.graph, common.device);
  const ProfiledReport report = ladder.report.value_or(ProfiledReport{});
  std::vector<SampledKernel> kernels;
  if (common.wish.samples) {
    kernels = SampledKernelsOf(made, candidate, report);
    AddSamples(made.profiles, kernels);
  }
  const Roofline roofline = RooflineOf(made.profiles, common.device);
  const Diagnosis diagnosis = Diagnose(std::move(made.profiles));
  nlohmann::json document = ToJson(diagnosis);
  document["compiles"] = true;
  document["device"] = common.device.processor;
  document["set"] = Name(common.wish.set);
  document["cache"] = call.Text("cache");
  document["tool"] = ladder.tool;
  document["ladder"] = ladder.steps;
  document["passes"] = report.passes;
  document["seconds"] = ladder.seconds;
  document["milliseconds"] = report.milliseconds;
  document["as_graph"] = report.as_graph;
  document["timeline"] = ToRecord(report)["timeline"];
  document["roofline"] = ToJson(roofline);
  document["ncu_report"] = ladder.report_file;
  if (common.wish.samples) document["code"] = ToJson(kernels);
  std::string text = fmt::format("on {}\n", common.device.processor);
  for (const std::string& step : ladder.steps) text += step + "\n";
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += "\n" + part;
  };
  add(DescribeTimeline(report));
  add(DescribeMeasured(diagnosis.subjects));
  if (ladder.oracle && ladder.report) {
    const auto rows = Compare(*ladder.report, *ladder.oracle);
    document["oracle"] = ToJson(rows);
    add(rows.empty() ? fmt::format("CUPTI saw {} kernels, ncu {}: they cannot be set beside each other\n",
                                   ladder.report->kernels.size(), ladder.oracle->kernels.size())
                     : Describe(rows));
  }
  add(Describe(diagnosis));
  add(Describe(roofline));
  for (const SampledKernel& kernel : kernels) add(Describe(kernel));
  return Answer(document, text, ladder.tool.empty() ? ExitCode::kNo : ExitCode::kDone);
}

// One after the other, by one process.
Result<Answer> ProfileAll(const std::vector<std::string>& paths, const std::vector<Candidate>& candidates,
                          const Common& common, VerbCall& call) {
  if (paths.size() == 1) return ProfileOne(paths.front(), candidates.front(), common, call);
  nlohmann::json profiles = nlohmann::json::array();
  std::string text;
  ExitCode code = ExitCode::kDone;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Answer one = HONE_TRY(ProfileOne(paths[i], candidates[i], common, call));
    auto document = nlohmann::json::parse(one.json);
    document["path"] = paths[i];
    profiles.push_back(std::move(document));
    text += fmt::format("{}{}: {}", i == 0 ? "" : "\n", paths[i], one.text);
    if (one.code != ExitCode::kDone) code = one.code;
  }
  return Answer({{"profiles", std::move(profiles)}}, text, code);
}

Result<Answer> RunProfile(VerbCall& call) {
  const std::vector<std::string> paths = call.Texts("candidate");
  if (paths.empty()) return RunTorch(call);
  const auto set = ParseCounterSet(call.Text("set"));
  if (!set) return Fail(ErrorKind::kUsage, fmt::format("--set {}: it is triage, standard or all", call.Text("set")));
  if (call.Text("target") != "cuda")
    return Fail(ErrorKind::kUsage, fmt::format("--target {}: only a CUDA device has counters that hone reads: --target "
                                               "cuda",
                                               call.Text("target")));
  if (call.Has("with") && call.Text("with") != "ncu")
    return Fail(ErrorKind::kUsage, fmt::format("--with {}: it is ncu", call.Text("with")));
  const auto caches = ParseCaches(call.Text("cache"));
  if (!caches) return Fail(ErrorKind::kUsage, fmt::format("--cache {}: it is warm or clean", call.Text("cache")));
  const ProfileWish wish{.set = *set, .caches = *caches, .samples = call.Flag("sass")};
  std::vector<Candidate> candidates;
  for (const std::string& path : paths) {
    candidates.push_back(HONE_TRY(LoadCandidate(path)));
    HONE_TRY(CheckCandidate(candidates.back()));
  }
  const Graph graph = HONE_TRY(GraphOf(HONE_TRY(Import(call.Text("problem"))), call.Text("problem")));
  const DeviceModel device = WithCeilings(HONE_TRY(KnownDevice(true)), call);
  const auto held = cuda::LockDevices("", {.say = [&](std::string_view what) { call.Note(what); }});
  if (!held) return ProfileAll(paths, candidates, {graph, device, wish, nullptr, held.error().message}, call);
  DeviceProfiler profiler(graph.problem(), {.device = (*held)->devices().front().uuid, .arch = device.arch});
  return ProfileAll(paths, candidates, {graph, device, wish, &profiler, ""}, call);
}

}  // namespace

HONE_ROW(Verb){
    .name = "profile",
    .doc = "Count and record what a candidate's kernels do on a CUDA device, and say what limits them",
    .group = VerbGroup::kKernels,
    .place = 5,
    .help =
        "  hone profile rms_norm.py kernel.hk\n"
        "  hone profile p.json plan.json --set all --with ncu\n"
        "  hone profile p.json kernels/*.hk\n"
        "  hone profile p.json kernel.hk --sass\n"
        "Each kernel of a run is counted alone, as often as the set needs, by CUPTI; where that is not to be had, by "
        "NVIDIA's ncu; where neither is, the answer says why, and rests on what hone diagnose knows. One process runs "
        "all candidates, so that a further one takes a fraction of the first. "
        "docs/diagnosis.md lists facts, their metrics and rules.\n"
        "  hone profile model.py\n"
        "Without a candidate: where the time of PyTorch's eager mode and of torch.compile goes, kernel by kernel, "
        "beside "
        "the bound; with --target cpu operator by operator.",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "compiles, device, set, cache, tool (cupti, ncu or empty), ladder[] (what was tried, and what came of it), "
        "passes "
        "(runs of each kernel), seconds (by tool), milliseconds (of CUPTI's, by part); timeline[]: step, kind, name, "
        "begin_us, end_us; as_graph; "
        "findings[], left_out, subjects[] and roofline as of hone diagnose; with --sass: code[]: kernel, samples, "
        "instructions[] (offset, name, line, samples, waiting, reason); with --with ncu: ncu_report, oracle[] "
        "(metric, kernel, counted, oracle, apart (share)); or where, message and log; of several candidates: "
        "profiles[], "
        "each with its path; without a candidate device, "
        "bound_us and modes[]: mode, span_us and busy_us (of a run), kernels[] (name, us, calls), or wrong",
    .no = "nothing could be counted, or it does not compile",
    .run = RunProfile,
};

}  // namespace hone::verb_profile
