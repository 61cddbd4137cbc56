#include "command/workbench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "candidate/plan.h"
#include "command/graph_of.h"
#include "command/target.h"
#include "command/torch_baselines.h"
#include "dsl/lower.h"
#include "problem/import/confine.h"
#include "problem/import/import.h"
#include "problem/left_out.h"
#include "target/cpu/host_libraries.h"
#include "target/cuda/device_calibration.h"
#include "target/cuda/driver.h"
#include "target/cuda/visible_devices.h"

namespace hone {
namespace {

// Done once and for all runs: no time of this one passes meanwhile.
Result<DeviceModel> Measured(VerbCall& call, const DeviceModel& described, int ordinal, TimeLimit* limit,
                             double& measuring_s) {
  const auto begun = std::chrono::steady_clock::now();
  const bool cuda = described.kind == DeviceKind::kCuda;
  call.Note(fmt::format("measuring what {} can do, once (about {} seconds); `hone calibrate` repeats it",
                        cuda ? described.processor : "this machine", cuda ? "three" : "ten"));
  call.Stage("measuring this machine");
  if (limit != nullptr) limit->Pause();
  auto machine = cuda ? cuda::CalibrateDevice(ordinal) : Calibrate();
  if (limit != nullptr) limit->GoOn();
  measuring_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  call.Stage("");
  if (machine) HONE_TRY(SaveCalibration(*machine));
  return machine;
}

// `devices`: of cuda, else null.
Result<DeviceModel> ThisMachine(VerbCall& call, const WorkbenchOptions& options, cuda::DeviceHold* devices,
                                double& measuring_s) {
  const int ordinal = devices == nullptr ? 0 : devices->devices().front().ordinal;
  const DeviceModel described = options.cuda ? HONE_TRY(cuda::DescribeDevice(ordinal)) : DescribeHost();
  auto machine = LoadCalibration(described);
  if (machine || machine.error().kind != ErrorKind::kNotFound) return machine;
  if (!options.calibrate) return described;
  if (devices == nullptr) return Measured(call, described, ordinal, options.limit, measuring_s);
  const bool ours = devices->held_s() > 0;
  HONE_TRY(devices->Take());
  machine = LoadCalibration(described);  // of several that begin at once another may have measured it meanwhile
  if (!machine && machine.error().kind == ErrorKind::kNotFound)
    machine = Measured(call, described, ordinal, options.limit, measuring_s);
  if (!ours) devices->Release();  // what comes next needs none
  return machine;
}

Verdict Refusal(const dsl::Complaint& complaint) {
  Verdict verdict;
  verdict.outcome = Outcome::kInvalid;
  verdict.reason = dsl::ToString(complaint);
  verdict.evidence->detail = complaint.message;
  if (complaint.at.line > 0) {
    verdict.evidence->line = complaint.at.line;
    verdict.evidence->column = complaint.at.column;
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

Result<Workbench> OpenWorkbench(VerbCall& call, Problem problem, Graph graph, const WorkbenchOptions& options) {
  const bool brought = std::any_of(options.baselines.begin(), options.baselines.end(),
                                   [](const std::string& one) { return ParseOwnModule(one).has_value(); });
  const bool runs_file = brought || (options.torch && problem.provenance.contains("source"));
  if (runs_file && !CanConfine()) call.Note(kNotConfined);
  // Of many layers that takes seconds, as the bound does.
  std::future<std::vector<Flag>> flags;
  if (options.flags) flags = std::async(std::launch::async, [of = graph] { return Analyze(of); });
  std::unique_ptr<cuda::DeviceHold> devices;
  if (options.cuda) {
    devices = HONE_TRY(cuda::DeviceHold::Choose(HONE_TRY(cuda::FindDevices()), options.devices,
                                                {.say = [&call](std::string_view what) { call.Note(what); },
                                                 .interrupted = [] { return InterruptFlag().load(); },
                                                 .waiting =
                                                     [limit = options.limit](bool waiting) {
                                                       if (limit == nullptr) return;
                                                       waiting ? limit->Pause() : limit->GoOn();
                                                     }}));
    if (options.at_once) HONE_TRY(devices->Take());
  }
  double measuring_s = 0;
  DeviceModel machine = HONE_TRY(ThisMachine(call, options, devices.get(), measuring_s));
  if (options.threads > 0 && !options.cuda) machine.threads = options.threads;
  const Bound bound = SpeedOfLight(graph, machine);

  const int cores = DescribeMachine().threads;
  EvaluatorOptions evaluator;
  evaluator.threads = options.cuda ? cores : machine.threads;
  evaluator.dice = options.dice;
  evaluator.form = options.cuda ? Form::kPlan : Form::kModule;
  TorchBaselines torch = HONE_TRY(FindTorchBaselines(
      problem, machine,
      {.python = options.python, .of_problem = options.torch, .asked = options.baselines, .cuda = options.cuda}));
  if (!torch.why_not.empty()) {
    evaluator.missing = "PyTorch's baselines are missing: " + torch.why_not;
    call.Note(evaluator.missing);
  }
  evaluator.outside = torch.outside;
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
  for (const std::string& name : torch.asked) {
    if (std::find(baselines.begin(), baselines.end(), name) != baselines.end()) continue;
    return Fail(ErrorKind::kUsage, fmt::format("--baseline {}: what can be timed here is {}, or FILE.py[:CLASS]", name,
                                               fmt::join(baselines, ", ")));
  }
  const std::vector<std::string>& timed = torch.asked.empty() ? torch.usual : torch.asked;
  if (!timed.empty()) evaluator.expected = {timed.front()};  // the one that a search compares with
  // One pool of compilers: what it makes lies in the build cache, which all share.
  if (options.cuda) evaluator.jobs = options.jobs < 0 ? std::max(1, cores - 2) : options.jobs;
  std::vector<std::unique_ptr<Evaluator>> evaluators;
  const auto when_leaving = std::make_shared<std::function<void()>>();
  if (devices && !options.at_once) {
    cuda::DeviceHold* held = devices.get();
    evaluator.take_device = [held] { return held->Take(); };
    if (held->devices().size() == 1) {  // of several, others may be at work
      evaluator.device_wanted = [held] { return held->Wanted(); };
      evaluator.leave_device = [held, when_leaving] {
        if (*when_leaving) (*when_leaving)();
        held->Release();
      };
    }
  }
  for (std::size_t i = 0; i < (devices ? devices->devices().size() : 1); ++i) {
    EvaluatorOptions one = evaluator;
    if (i > 0) one.jobs = 0;
    if (i > 0 && !one.kept_baselines.empty())  // its name is of the first device
      one.kept_baselines.insert(one.kept_baselines.rfind('.'), "-" + devices->devices()[i].uuid);
    if (devices) {
      one.device = devices->devices()[i].uuid;
      for (OutsideBaseline& outside : one.outside) cuda::ShowDevices(outside.environment, one.device);
    }
    evaluators.push_back(HONE_TRY(StartEvaluator(problem, std::move(one))));
  }
  return Workbench{std::move(problem),
                   std::move(graph),
                   std::move(machine),
                   measuring_s,
                   bound,
                   flags.valid() ? flags.get() : std::vector<Flag>(),
                   torch.asked.empty() ? std::move(torch.usual) : std::move(torch.asked),
                   std::move(devices),
                   when_leaving,
                   std::move(evaluators),
                   {}};
}

}  // namespace

void Workbench::LeaveDevices() {
  if (!evaluators.empty()) compilers = evaluator().Compilers();
  evaluators.clear();
  if (devices) devices->Release();
}

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
  if (!path.ends_with(".json") && !CanConfine()) call.Note(kNotConfined);
  if (const std::string writes = WritesLeftOut(problem); !writes.empty()) call.Note(writes);
  Graph graph = HONE_TRY(GraphOf(problem, path));
  return OpenWorkbench(call, std::move(problem), std::move(graph), options);
}

Result<Workbench> OpenWorkbench(VerbCall& call, Problem problem, const WorkbenchOptions& options) {
  Graph graph = HONE_TRY(Graph::Create(problem));
  return OpenWorkbench(call, std::move(problem), std::move(graph), options);
}

}  // namespace hone
