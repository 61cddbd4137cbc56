#include "profile/candidate_profiles.h"

#include <fmt/format.h>

#include "base/files.h"
#include "candidate/launch_lines.h"
#include "dsl/lower.h"
#include "profile/collect.h"
#include "profile/host_facts.h"
#include "profile/plan_facts.h"
#include "profile/statement_facts.h"
#include "target/cpu/compiler.h"
#include "target/cuda/built_plan.h"
#include "target/cuda/fatbin.h"
#include "target/cuda/nvcc.h"

namespace hone {
namespace {

using Profiles = std::variant<CandidateProfiles, Unprofiled>;

struct Setting {
  const std::string& name;
  const Problem& problem;
  const Graph* graph;
  const DeviceModel& device;
  const std::string& program;
};

Result<Profiles> OfPlan(const Plan& plan, const Setting& setting) {
  auto built = HONE_TRY(cuda::BuildPlan(plan, setting.problem, setting.device, setting.program));
  if (const auto* refusal = std::get_if<cuda::PlanRefusal>(&built)) {
    const std::string where =
        refusal->line > 0 ? fmt::format("{}, line {}", refusal->where, refusal->line) : refusal->where;
    return Unprofiled{where, refusal->message, refusal->log};
  }
  auto& plan_built = std::get<cuda::BuiltPlan>(built);
  auto profiles = ProfilesOf(plan_built, setting.name, setting.problem, setting.graph, setting.device);
  return CandidateProfiles{std::move(profiles), std::move(plan_built), {}};
}

Unprofiled Wrong(const Diagnostic& error, const std::string& log) {
  return {error.line > 0 ? fmt::format("line {}", error.line) : "", error.message, log};
}

Result<Profiles> OfHostModule(const std::string& source, Source whose, const Setting& setting) {
  const auto compiled = HONE_TRY(CompileModule({.source = source}));
  if (!compiled.ok()) return Wrong(compiled.errors[0], compiled.log);
  std::vector<Profile> profiles = HONE_TRY(HostProfiles(compiled.library, setting.device, whose));
  Profile whole(Scope::kPlan, setting.name);
  if (setting.graph != nullptr) AddProblemFacts(whole, *setting.graph, setting.device);
  profiles.push_back(std::move(whole));
  return CandidateProfiles{std::move(profiles)};
}

// A module's launches are its own affair: its kernels alone.
Result<Profiles> OfCudaModule(const std::string& source, const Setting& setting) {
  const auto compiled = HONE_TRY(cuda::CompileCudaModule({.source = source, .arch = setting.device.arch}));
  if (!compiled.ok()) return Wrong(compiled.errors[0], compiled.log);
  std::vector<Profile> profiles;
  auto kernels = HONE_TRY(cuda::ReadKernelsOfLibrary(HONE_TRY(ReadFile(compiled.library))));
  for (const auto& kernel : kernels) profiles.push_back(ProfileOf(kernel, setting.device));
  Profile whole(Scope::kPlan, setting.name);
  AddDeviceFacts(whole, setting.device);
  if (setting.graph != nullptr) AddProblemFacts(whole, *setting.graph, setting.device);
  profiles.push_back(std::move(whole));
  return CandidateProfiles{std::move(profiles), std::nullopt, std::move(kernels)};
}

Result<Profiles> OfProgram(const std::string& text, const Setting& setting) {
  const auto lowered = dsl::Lower(text, &setting.problem, setting.device);
  if (const auto* complaint = std::get_if<dsl::Complaint>(&lowered)) return Unprofiled{"", ToString(*complaint), ""};
  const auto& program = std::get<dsl::KernelProgram>(lowered);
  std::vector<Profile> profiles = ProfilesOf(program);
  const bool cuda = setting.device.kind == DeviceKind::kCuda;
  auto below = cuda ? HONE_TRY(OfPlan(dsl::EmitCuda(program), setting))
                    : HONE_TRY(OfHostModule(dsl::EmitCpu(program), Source::kOurs, setting));
  if (auto* wrong = std::get_if<Unprofiled>(&below)) return std::move(*wrong);
  auto& made = std::get<CandidateProfiles>(below);
  for (Profile& profile : made.profiles) profiles.push_back(std::move(profile));
  return CandidateProfiles{std::move(profiles), std::move(made.plan), {}};
}

}  // namespace

Result<Profiles> ProfileCandidate(const Candidate& candidate, const std::string& name, const Problem& problem,
                                  const Graph* graph, const DeviceModel& device, const std::string& program) {
  const Setting setting{name, problem, graph, device, program};
  switch (candidate.kind) {
    case CandidateKind::kProgram: return OfProgram(candidate.text, setting);
    case CandidateKind::kModule: return OfHostModule(candidate.text, Source::kForeign, setting);
    case CandidateKind::kCudaModule: return OfCudaModule(candidate.text, setting);
    case CandidateKind::kPlan: {
      const auto plan = ParsePlan(candidate.text, problem);
      if (const auto* issue = std::get_if<PlanIssue>(&plan)) return Unprofiled{issue->where, issue->message, ""};
      return OfPlan(std::get<Plan>(plan), setting);
    }
  }
  return Fail(ErrorKind::kUsage, "a candidate of an unknown kind");
}

}  // namespace hone
