// hone lower: the C++ that a program of the kernel language becomes, and the settings that it was given.
#include "dsl/lower.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "candidate/plan.h"
#include "command/command.h"
#include "command/target.h"
#include "dsl/family.h"
#include "dsl/way.h"
#include "problem/problem.h"

namespace hone::verb_lower {
namespace {

constexpr Positional kPositionals[] = {{.name = "program", .help = "a .hk file (docs/language.md)", .reads = true}};
constexpr Option kOptions[] = {
    {.name = "problem",
     .value = "PATH",
     .help = "problem.json that the program's tensors have to agree with",
     .reads = true},
    kTargetOption,
    kDeviceOption,
    {.name = "plan", .type = ValueType::kFlag, .help = "with --target cuda: the whole plan, as JSON"},
    {.name = "families", .type = ValueType::kFlag, .help = "list the operator families and their knobs as well"}};

std::string Families(DeviceKind device) {
  std::string text;
  for (const dsl::Family* family : dsl::AllFamilies()) {
    text += fmt::format("{:<9} {}\n          {}\n", family->name, family->grammar, family->doc);
    for (const auto& knob : dsl::KnobRows(*family, device))
      text += fmt::format("          {:<13} {}\n", knob.name, knob.doc);
  }
  return text;
}

Result<Answer> RunLower(VerbCall& call) {
  const std::string path = call.Text("program");
  const std::string text = HONE_TRY(ReadFile(path));
  std::optional<Problem> problem;
  if (call.Has("problem")) problem = HONE_TRY(LoadProblem(call.Text("problem")));
  const DeviceModel machine = HONE_TRY(KnownDevice(call));
  const auto lowered = dsl::Lower(text, problem ? &*problem : nullptr, machine);
  if (const auto* complaint = std::get_if<dsl::Complaint>(&lowered))
    return Fail(ErrorKind::kUsage, path + ": " + ToString(*complaint));
  const auto& program = std::get<dsl::KernelProgram>(lowered);
  std::string source;
  if (machine.kind == DeviceKind::kCuda) {
    const Plan plan = dsl::EmitCuda(program);
    for (const PlanSource& one : plan.sources) source += one.text;
    if (plan.sources.empty()) source = "// No kernels: every step is a library's call; --plan shows them.\n";
    if (call.Flag("plan")) source = ToJson(plan);
  } else {
    source = dsl::EmitCpu(program);
  }
  nlohmann::json kernels = nlohmann::json::array();
  for (const auto& kernel : program.kernels) {
    nlohmann::json settings = nlohmann::json::object();
    for (const auto& [knob, setting] : kernel.settings) settings[knob] = ToString(setting);
    kernels.push_back({{"target", program.buffers[static_cast<std::size_t>(kernel.target)].name},
                       {"family", kernel.family->name},
                       {"statement", kernel.text},
                       {"settings", std::move(settings)},
                       {"flops", kernel.family->flops(kernel)}});
  }
  return Answer({{"program", program.name}, {"kernels", std::move(kernels)}, {"source", source}},
                call.Flag("families") ? Families(machine.kind) + "\n" + source : source);
}

}  // namespace

HONE_ROW(Verb){
    .name = "lower",
    .doc = "Print the C++ or CUDA that a program of the kernel language becomes",
    .group = VerbGroup::kKernels,
    .place = 6,
    .help = "  hone lower layer_norm.hk\n  hone lower layer_norm.hk --problem layer_norm.json",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "program; kernels: target, family, statement, settings (as filled in for this machine), flops; source: the C++",
    .run = RunLower,
};

}  // namespace hone::verb_lower
