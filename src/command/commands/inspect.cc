// hone inspect: what the kernels of a plan or a .cu file are, without a GPU.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/process.h"
#include "candidate/launch_lines.h"
#include "command/command.h"
#include "command/target.h"
#include "diagnose/diagnose.h"
#include "graph/graph.h"
#include "problem/problem.h"
#include "profile/collect.h"
#include "target/cuda/built_plan.h"
#include "target/cuda/device_calibration.h"
#include "target/cuda/fatbin.h"
#include "target/cuda/nvcc.h"
#include "target/cuda/nvrtc.h"

namespace hone::verb_inspect {
namespace {

constexpr Positional kPositionals[] = {
    {.name = "kernel", .help = "a plan (.json; docs/plan.md), or CUDA C++ (.cu): kernels, or a module", .reads = true}};
constexpr Option kOptions[] = {
    {.name = "problem", .value = "PATH", .help = "problem.json whose tensors a plan's launches name", .reads = true},
    kDeviceOption,
    {.name = "arch", .value = "SM", .help = "what a .cu is compiled for (default: the device's, \"sm_90a\")"},
};

nlohmann::json ToJson(const cuda::KernelFacts& facts) {
  nlohmann::json parameters = nlohmann::json::array();
  for (const auto& parameter : facts.parameters) parameters.push_back(parameter.bytes);
  return {{"kernel", facts.name},
          {"registers", facts.registers},
          {"stack_bytes", facts.stack_bytes},
          {"spill_store_bytes", facts.spill_store_bytes},
          {"spill_load_bytes", facts.spill_load_bytes},
          {"static_shared_bytes", facts.static_shared_bytes},
          {"barriers", facts.barriers},
          {"max_threads", facts.max_threads},
          {"parameter_bytes", std::move(parameters)},
          {"instructions", facts.instructions}};
}

std::string Describe(const cuda::KernelFacts& facts) {
  std::string text =
      fmt::format("{}\n  {} registers, {} bytes of static shared memory, {} barrier{}", facts.name, facts.registers,
                  facts.static_shared_bytes, facts.barriers, facts.barriers == 1 ? "" : "s");
  if (facts.max_threads > 0) text += fmt::format(", at most {} threads", facts.max_threads);
  text += facts.spill_store_bytes + facts.spill_load_bytes == 0
              ? "\n  no spills"
              : fmt::format("\n  spills: {} bytes stored, {} loaded", facts.spill_store_bytes, facts.spill_load_bytes);
  std::vector<std::pair<int, std::string>> counts;
  for (const auto& [name, count] : facts.instructions) counts.emplace_back(count, name);
  std::sort(counts.rbegin(), counts.rend());
  text += "\n  instructions:";
  for (std::size_t i = 0; i < std::min<std::size_t>(counts.size(), 12); ++i)
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", counts[i].first, counts[i].second);
  return text + "\n";
}

Answer DoesNotCompile(int line, const std::string& message, const std::string& log) {
  const std::string where = line > 0 ? fmt::format("line {}: ", line) : "";  // a linker's errors have none
  return Answer({{"compiles", false}, {"line", line}, {"message", message}, {"log", log}},
                fmt::format("{}{}\n{}", where, message, log), ExitCode::kNo);
}

Answer Kernels(const std::vector<cuda::KernelFacts>& inspected, const DeviceModel& device) {
  nlohmann::json kernels = nlohmann::json::array();
  std::string text;
  std::vector<Profile> profiles;
  for (const auto& facts : inspected) {
    kernels.push_back(ToJson(facts));
    text += Describe(facts);
    profiles.push_back(ProfileOf(facts, device));
  }
  const Diagnosis diagnosis = Diagnose(std::move(profiles));
  if (kernels.empty()) {
    text = "no kernels: a template is compiled when a plan names an instance of it\n";
  } else {
    text += "\n" + Describe(diagnosis);
  }
  return Answer({{"compiles", true}, {"kernels", std::move(kernels)}, {"diagnosis", ToJson(diagnosis)}}, text);
}

// A module has host code, which is nvcc's; kernels alone are NVRTC's.
Result<Answer> InspectSource(const std::string& path, const std::string& arch, const DeviceModel& device) {
  const std::string source = HONE_TRY(ReadFile(path));
  if (source.find("hone/module.h") != std::string::npos) {
    const auto compiled = HONE_TRY(cuda::CompileCudaModule({.source = source, .arch = arch}));
    if (!compiled.ok()) return DoesNotCompile(compiled.errors[0].line, compiled.errors[0].message, compiled.log);
    return Kernels(HONE_TRY(cuda::ReadKernelsOfLibrary(HONE_TRY(ReadFile(compiled.library)))), device);
  }
  const auto slash = path.rfind('/');
  const auto compiled = HONE_TRY(cuda::CompileCubin({.source = source,
                                                     .name = slash == std::string::npos ? path : path.substr(slash + 1),
                                                     .arch = arch,
                                                     .program = OwnPath()}));
  if (!compiled.ok()) return DoesNotCompile(compiled.errors[0].line, compiled.errors[0].message, compiled.log);
  return Kernels(HONE_TRY(cuda::ReadCubin(compiled.cubin)), device);
}

Result<Answer> InspectPlan(const std::string& path, const std::string& problem_path, const DeviceModel& device) {
  const std::string text_of_plan = HONE_TRY(ReadFile(path));
  if (problem_path.empty())
    return Fail(ErrorKind::kUsage, "a plan's launches name tensors: say whose with --problem problem.json");
  const Problem problem = HONE_TRY(LoadProblem(problem_path));
  const auto parsed = ParsePlan(text_of_plan, problem);
  if (const auto* issue = std::get_if<PlanIssue>(&parsed))
    return Fail(ErrorKind::kUsage, fmt::format("{}: {}: {}", path, issue->where, issue->message));
  const auto built = HONE_TRY(cuda::BuildPlan(std::get<Plan>(parsed), problem, device, OwnPath()));
  if (const auto* refusal = std::get_if<cuda::PlanRefusal>(&built)) {
    const std::string line = refusal->line > 0 ? fmt::format(", line {}", refusal->line) : "";
    return Answer({{"compiles", !refusal->compile_error},
                   {"where", refusal->where},
                   {"line", refusal->line},
                   {"message", refusal->message},
                   {"log", refusal->log}},
                  fmt::format("{}{}: {}\n{}", refusal->where, line, refusal->message, refusal->log), ExitCode::kNo);
  }
  const auto& plan = std::get<cuda::BuiltPlan>(built);
  nlohmann::json launches = nlohmann::json::array();
  std::string text = fmt::format("on {}\n", device.processor);
  const auto add = [&](const std::vector<PlanStep>& steps, const std::vector<cuda::KernelFacts>& kernels,
                       const std::vector<bool>& early, std::string_view when) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto* launch = std::get_if<LaunchStep>(&steps[i]);
      if (launch == nullptr) continue;
      const bool begins_early = !early.empty() && early[i];
      const auto& facts = kernels[next++];
      const auto threads = launch->block[0] * launch->block[1] * launch->block[2];
      const auto occupancy = cuda::OccupancyOf(facts, threads, launch->shared_bytes, device.limits);
      auto one = ToJson(facts);
      one["when"] = when;
      one["blocks_a_multiprocessor"] = occupancy.blocks;
      one["occupancy"] = static_cast<double>(occupancy.warps) / device.limits.warps;
      one["limited_by"] = occupancy.limit;
      one["begins_early"] = begins_early;
      launches.push_back(std::move(one));
      text += Describe(facts);
      text += fmt::format(
          "  {}: {} blocks of {} threads; a multiprocessor holds {} ({:.0f} % of its warps), limited by {}{}\n", when,
          launch->grid[0] * launch->grid[1] * launch->grid[2], threads, occupancy.blocks,
          100.0 * occupancy.warps / device.limits.warps, occupancy.limit,
          begins_early ? "; begins while the one before it ends" : "");
    }
  };
  add(plan.plan.prepare, plan.prepare, {}, "prepare");
  add(plan.plan.steps, plan.launches, plan.early, "run");
  const auto graph = Graph::Create(problem);  // one that we cannot define has no limits
  const Diagnosis diagnosis = Diagnose(ProfilesOf(plan, path, problem, graph ? &*graph : nullptr, device));
  text += "\n" + Describe(diagnosis);
  return Answer({{"compiles", true},
                 {"device", device.processor},
                 {"launches", std::move(launches)},
                 {"diagnosis", ToJson(diagnosis)}},
                text);
}

// With the ceilings that were measured on it, if any; libraries are not looked for.
DeviceModel DeviceHere() {
  DeviceModel device = cuda::ModelToBuildFor("");
  if (auto kept = LoadCalibration(device); kept && device.ceilings.source == Ceilings::Source::kNone)
    return *std::move(kept);
  return device;
}

Result<Answer> RunInspect(VerbCall& call) {
  const std::string path = call.Text("kernel");
  const DeviceModel device = call.Has("device") ? HONE_TRY(NamedDevice(call)) : DeviceHere();
  const bool launches = path.ends_with(".cu") && HasLaunchLines(HONE_TRY(ReadFile(path)));
  if (launches && call.Has("problem")) return InspectPlan(path, call.Text("problem"), device);
  if (path.ends_with(".cu")) return InspectSource(path, call.Has("arch") ? call.Text("arch") : device.arch, device);
  if (path.ends_with(".json")) return InspectPlan(path, call.Text("problem"), device);
  return Fail(ErrorKind::kUsage, fmt::format("{}: hone inspects plans (.json) and CUDA C++ (.cu)", path));
}

}  // namespace

HONE_ROW(Verb){
    .name = "inspect",
    .doc = "Say what CUDA kernels are and what slows them, without a GPU",
    .group = VerbGroup::kKernels,
    .place = 3,
    .help =
        "  hone inspect kernel.cu\n"
        "  hone inspect plan.json --problem problem.json\n"
        "  hone inspect kernels_with_launch_lines.cu --problem problem.json\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "compiles; of a .cu kernels[], of a plan device and launches[]: kernel, registers, spills, "
        "static_shared_bytes, barriers, "
        "parameter_bytes, instructions (by name), and for launches occupancy and what limits it; diagnosis: findings[] "
        "(rule, title, subject, evidence, advice, lost (share of the subject's time), loss_us, confidence, moves[]), "
        "left_out, subjects[] (profile, class, by_analysis, by_counters, disagree, silent[]); or line and message",
    .no = "it does not compile, or a launch does not fit its kernel",
    .run = RunInspect,
};

}  // namespace hone::verb_inspect
