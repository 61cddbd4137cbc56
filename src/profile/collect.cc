#include "profile/collect.h"

#include <fmt/format.h>

#include <algorithm>

#include "profile/kernel_facts.h"
#include "profile/plan_facts.h"

namespace hone {
namespace {

template <class Is>
double Tensors(const Problem& problem, const Is& is) {
  return static_cast<double>(std::count_if(problem.tensors.begin(), problem.tensors.end(), is));
}

}  // namespace

Profile ProfileOf(const cuda::KernelFacts& kernel, const DeviceModel& device) {
  Profile profile(Scope::kLaunch, kernel.name);
  AddDeviceFacts(profile, device);
  AddCubinFacts(profile, kernel, device);
  return profile;
}

std::vector<Profile> ProfilesOf(const cuda::BuiltPlan& built, const std::string& name, const Problem& problem,
                                const Graph* graph, const DeviceModel& device) {
  std::vector<Profile> profiles;
  const auto& steps = built.plan.steps;
  std::size_t next = 0;
  double tensor_steps = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto* launch = std::get_if<LaunchStep>(&steps[i]);
    if (launch == nullptr) {
      tensor_steps += std::holds_alternative<MemsetStep>(steps[i]) ? 0 : 1;
      continue;
    }
    const cuda::KernelFacts& kernel = built.launches[next++];
    Profile profile = ProfileOf(kernel, device);
    profile.where = fmt::format("/steps/{}", i);
    AddLaunchFacts(profile, kernel, *launch, device);
    AddStepFacts(profile, built.plan, steps[i], problem, device);
    profile.Set("launches", static_cast<double>(steps.size()), FactSource::kAnalytic);
    profile.Set("double_tensors", Tensors(problem, [](const Tensor& tensor) { return tensor.dtype == DType::kF64; }),
                FactSource::kAnalytic);
    profile.Set("whole_tensors", Tensors(problem, [](const Tensor& tensor) { return !IsFloat(tensor.dtype); }),
                FactSource::kAnalytic);
    if (graph != nullptr && steps.size() == 1) AddProblemFacts(profile, *graph, device);  // it does all of it
    tensor_steps += profile.Get("tensor_instructions").value_or(0) > 0;
    profiles.push_back(std::move(profile));
  }
  Profile whole(Scope::kPlan, name);
  AddDeviceFacts(whole, device);
  AddPlanFacts(whole, built.plan, problem, device);
  whole.Set("tensor_steps", tensor_steps, FactSource::kCubin);
  if (graph != nullptr) AddProblemFacts(whole, *graph, device);
  profiles.push_back(std::move(whole));
  return profiles;
}

}  // namespace hone
