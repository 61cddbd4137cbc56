#include "command/workbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/process.h"
#include "base/sha256.h"
#include "candidate/plan.h"
#include "command/target.h"
#include "dsl/lower.h"
#include "oracle/device_oracle.h"
#include "problem/import/bridge.h"
#include "problem/import/confine.h"
#include "problem/import/import.h"
#include "problem/import/python.h"
#include "target/cuda/device_calibration.h"
#include "target/cuda/driver.h"

namespace hone {
namespace {

Result<DeviceModel> ThisMachine(VerbCall& call, const WorkbenchOptions& options,
                                const std::vector<cuda::LockedDevice>& devices) {
  const int ordinal = devices.empty() ? 0 : devices.front().device.ordinal;
  const DeviceModel described = options.cuda ? HONE_TRY(cuda::DescribeDevice(ordinal)) : DescribeMachine();
  auto machine = LoadCalibration(described);
  if (!machine && machine.error().kind == ErrorKind::kNotFound) {
    if (!options.calibrate) return described;
    call.Note(fmt::format("measuring what {} can do, once (about {} seconds); `hone calibrate` repeats it",
                          options.cuda ? described.processor : "this machine", options.cuda ? "three" : "ten"));
    call.Stage(kMeasuring);
    machine = options.cuda ? cuda::CalibrateDevice(ordinal) : Calibrate();
    call.Stage("");
    if (machine) HONE_TRY(SaveCalibration(*machine));
  }
  return machine;
}

Verdict Refusal(const dsl::Complaint& complaint) {
  Verdict verdict;
  verdict.outcome = Outcome::kInvalid;
  verdict.reason = dsl::ToString(complaint);
  verdict.evidence.detail = complaint.message;
  if (complaint.at.line > 0) {
    verdict.evidence.line = complaint.at.line;
    verdict.evidence.column = complaint.at.column;
  }
  return verdict;
}

Lowering LoweringFor(const Problem& problem, const DeviceModel& device) {
  return [problem, device](const Candidate& candidate) -> Result<std::variant<Candidate, Verdict>> {
    const auto lowered = dsl::Lower(candidate.text, &problem, device);
    if (const auto* complaint = std::get_if<dsl::Complaint>(&lowered)) return Refusal(*complaint);
    const auto& program = std::get<dsl::KernelProgram>(lowered);
    if (device.kind == DeviceKind::kCuda) return Candidate{CandidateKind::kPlan, ToJson(dsl::EmitCuda(program))};
    return Candidate{CandidateKind::kModule, dsl::EmitCpu(program)};
  };
}

constexpr std::int64_t kMostFlushed = std::int64_t{256} << 20;

// PyTorch on the file that the problem was imported from, in the ways that it has.
struct TorchBaselines {
  std::vector<OutsideBaseline> modes;
  std::vector<std::string> usual;  // that are timed if nobody says which
  std::string kept, about;         // EvaluatorOptions::kept_baselines and kept_about
  std::string why_not = {};        // there are none, of a problem that came from PyTorch
};

TorchBaselines FindTorch(const Problem& problem, const DeviceModel& machine, const WorkbenchOptions& options) {
  TorchBaselines baselines;
  std::vector<std::string> modes = {"eager", "compile"};
  std::int64_t flush_bytes = std::min(2 * std::max(machine.l2_bytes * machine.threads, machine.l3_bytes), kMostFlushed);
  if (options.cuda) {
    modes = {"eager", "eager_tf32", "eager_graph", "compile", "compile_max_autotune"};
    flush_bytes = 2 * machine.l2_bytes + 1;
  }
  const auto source = problem.provenance.find("source");
  if (!options.torch || source == problem.provenance.end() || !source->second.ends_with(".py")) return baselines;
  const auto text = ReadFile(source->second);
  if (!text) {
    baselines.why_not = fmt::format("{}; `hone import` it again where it is now, or --no-torch", text.error().message);
    return baselines;
  }
  std::optional<PythonTorch> python;
  if (!options.python.empty()) {
    python = ProbePython(options.python);
  } else if (auto found = FindPython()) {
    python = std::move(*found);
  }
  if (!python) {
    baselines.why_not = "no Python with torch; `hone doctor` says how to get it";
    return baselines;
  }
  OutsideBaseline baseline;
  baseline.argv = {python->path,
                   "-I",
                   "-c",
                   std::string(BaselineBridge()),
                   std::filesystem::absolute(source->second).string(),
                   "eager",
                   std::to_string(options.cuda ? DescribeMachine().threads : machine.threads),
                   std::to_string(flush_bytes),
                   options.cuda ? "cuda" : "cpu"};
  baseline.environment = InheritedEnvironment();
  baseline.file = source->second;
  baseline.device = options.cuda;
  for (const std::string& mode : modes) {
    if (mode.starts_with("compile") && python->torch_version.starts_with("1.")) continue;
    baseline.name = baseline.mode = mode;
    baselines.modes.push_back(baseline);
    if (mode != "compile_max_autotune") baselines.usual.push_back(mode);  // that takes minutes to get ready
  }
  // A processor's times depend on what else it does at that minute; a device's do not, so they are kept. machine.id is
  // of the device's UUID and its driver.
  if (options.cuda) {
    const std::string file = Sha256(*text);
    const std::string key =
        Sha256(fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n", Identity(problem), file, machine.id, machine.multiprocessors,
                           python->torch_version, python->python_version, Sha256(BaselineBridge())));
    baselines.kept = fmt::format("{}/baselines/{}.json", DataDirectory(), key.substr(0, 32));
    baselines.about = fmt::format(
        R"({{"problem": "{}", "file_sha256": "{}", "device": "{}", "machine": "{}", "torch": "{}", "python": "{}"}})",
        Identity(problem), file, machine.processor, machine.id, python->torch_version, python->python_version);
  }
  return baselines;
}

}  // namespace

Result<Evaluation> EvaluateWithoutDevice(const std::string& path, const std::string& python,
                                         const Candidate& candidate) {
  ImportOptions import;
  import.python = python;
  const Problem problem = HONE_TRY(Import(path, import));
  const DeviceModel machine = HONE_TRY(KnownDevice(true));
  return CompileOnly(problem, LoweringFor(problem, machine), candidate);
}

Result<Workbench> OpenWorkbench(VerbCall& call, const std::string& path, const WorkbenchOptions& options) {
  ImportOptions import;
  import.python = options.python;
  call.Stage("importing");
  Problem problem = HONE_TRY(Import(path, import));
  call.Stage("");
  const bool runs_file = !path.ends_with(".json") || (options.torch && problem.provenance.contains("source"));
  if (runs_file && !CanConfine()) call.Note(kNotConfined);
  Graph graph = HONE_TRY(Graph::Create(problem));
  std::vector<cuda::LockedDevice> devices;
  if (options.cuda) {
    devices = HONE_TRY(cuda::LockDevices(
        options.devices, [&](std::string_view what) { call.Note(what); },
        [&] { return options.interrupt != nullptr && options.interrupt->load(); },
        [&] {
          const auto likely = KnownDevice(true);
          // Into the build cache; what is wrong with a candidate is found again in its turn.
          for (std::size_t i = 0; likely && i < options.meanwhile.size(); ++i)
            static_cast<void>(CompileOnly(problem, LoweringFor(problem, *likely), options.meanwhile[i]));
          static_cast<void>(DeviceOracle::CompileAhead(graph, cuda::ModelToBuildFor("").arch));
        }));
  }
  DeviceModel machine = HONE_TRY(ThisMachine(call, options, devices));
  if (options.threads > 0 && !options.cuda) machine.threads = options.threads;
  const Bound bound = SpeedOfLight(graph, machine);

  const int cores = DescribeMachine().threads;
  EvaluatorOptions evaluator;
  evaluator.threads = options.cuda ? cores : machine.threads;
  evaluator.dice = options.dice;
  evaluator.form = options.cuda ? Form::kPlan : Form::kModule;
  TorchBaselines torch = FindTorch(problem, machine, options);
  if (!torch.why_not.empty()) {
    evaluator.missing = "PyTorch's baselines are missing: " + torch.why_not;
    call.Note(evaluator.missing);
  }
  evaluator.outside = torch.modes;
  evaluator.kept_baselines = torch.kept;
  evaluator.kept_about = torch.about;
  evaluator.lower = LoweringFor(problem, machine);
  evaluator.stage = [&listener = call.listener()](std::string_view what) { listener.Stage(what); };
  std::vector<std::string> baselines;
  for (const auto& outside : evaluator.outside) baselines.push_back(outside.name);
  if (!options.cuda) {
    baselines.emplace_back("naive");
    torch.usual.emplace_back("naive");
  }
  // One pool of compilers: what it makes lies in the build cache, which all share.
  if (options.cuda) evaluator.jobs = options.jobs < 0 ? std::max(1, cores - 2) : options.jobs;
  std::vector<std::unique_ptr<Evaluator>> evaluators;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, devices.size()); ++i) {
    EvaluatorOptions one = evaluator;
    if (i > 0) one.jobs = 0;
    if (i > 0 && !one.kept_baselines.empty())  // its name is of the first device
      one.kept_baselines.insert(one.kept_baselines.rfind('.'), "-" + devices[i].device.uuid);
    if (!devices.empty()) {
      one.device = devices[i].device.uuid;
      for (OutsideBaseline& outside : one.outside) outside.environment.push_back("CUDA_VISIBLE_DEVICES=" + one.device);
    }
    evaluators.push_back(HONE_TRY(StartEvaluator(problem, std::move(one))));
  }
  return Workbench{std::move(problem),   std::move(graph),       std::move(machine), bound,
                   std::move(baselines), std::move(torch.usual), std::move(devices), std::move(evaluators)};
}

}  // namespace hone
