#include "profile/statement_facts.h"

#include <fmt/format.h>

#include <set>

#include "dsl/family.h"
#include "dsl/way.h"

namespace hone {
namespace {

void AddWays(Profile& profile, const dsl::Kernel& kernel) {
  if (kernel.way == nullptr || kernel.way->name.empty()) return;
  const auto own = dsl::CostOf(*kernel.way, kernel);
  const dsl::Way* other = nullptr;
  double least = 0;
  for (const dsl::Way* way : dsl::WaysOf(*kernel.family, kernel.device->kind)) {
    const auto cost = way == kernel.way ? std::nullopt : dsl::CostOf(*way, kernel);
    if (!cost || (other != nullptr && *cost >= least)) continue;
    other = way;
    least = *cost;
  }
  profile.SetWord("way", kernel.way->name, FactSource::kAnalytic);
  if (own) profile.Set("way_cost", *own, FactSource::kAnalytic, 0.7);
  if (!own || other == nullptr || least <= 0) return;
  profile.SetWord("other_way", other->name, FactSource::kAnalytic);
  profile.Set("other_way_cost", least, FactSource::kAnalytic, 0.7);
  profile.Set("way_cost_ratio", *own / least, FactSource::kAnalytic, 0.7);
  if (const auto knob = dsl::ChoiceOf(*kernel.family, kernel.device->kind); !knob.empty())
    profile.SetWord("way_knob", knob, FactSource::kAnalytic);
}

double BytesOf(const dsl::KernelBuffer& buffer) {
  return static_cast<double>(ElementCount(buffer.shape) * static_cast<std::int64_t>(Bytes(buffer.dtype)));
}

// FLOPs, and the bytes of all that it reads and of what it writes, each once.
void AddWork(Profile& profile, const dsl::KernelProgram& program, const dsl::Kernel& kernel) {
  const std::vector<int> targets = dsl::TargetsOf(kernel);
  std::set<int> buffers(targets.begin(), targets.end());
  for (const dsl::KernelOperand& operand : kernel.operands) buffers.insert(operand.buffer);
  double bytes = 0;
  for (const int buffer : buffers) bytes += BytesOf(program.buffers[static_cast<std::size_t>(buffer)]);
  profile.Set("step_bytes", bytes, FactSource::kAnalytic, 0.8);
  if (kernel.family->flops != nullptr) profile.Set("step_flops", kernel.family->flops(kernel), FactSource::kAnalytic);
  const double copy = kernel.device->ceilings.CopyBandwidth(static_cast<std::int64_t>(bytes));
  if (copy > 0) profile.Set("step_limit_us", bytes / copy * 1e6, FactSource::kAnalytic, 0.8);
}

}  // namespace

std::vector<Profile> ProfilesOf(const dsl::KernelProgram& program) {
  std::vector<Profile> profiles;
  for (const dsl::Kernel& kernel : program.kernels) {
    Profile profile(Scope::kStatement, program.buffers[static_cast<std::size_t>(kernel.target)].name);
    if (kernel.at.line > 0) profile.where = fmt::format("line {}", kernel.at.line);
    AddWork(profile, program, kernel);
    AddWays(profile, kernel);
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

}  // namespace hone
