#include "evaluate/measured_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profile/collect.h"
#include "profile/kernel_facts.h"
#include "profile/measured_facts.h"
#include "profile/plan_facts.h"

namespace hone {
namespace {

struct Launched {
  std::string name;
  const TimelineEvent* event = nullptr;    // null: not recorded
  const CountedKernel* counted = nullptr;  // null: not counted
};

// As they were recorded; as they were counted too where those are as many, else as they were counted alone.
std::vector<Launched> LaunchesOf(const ProfiledReport& report) {
  std::vector<Launched> launches;
  for (const TimelineEvent& event : report.timeline) {
    if (event.kind == EventKind::kKernel) launches.push_back({event.name, &event, nullptr});
  }
  const bool all = launches.size() == report.kernels.size();
  if (launches.empty()) {
    for (const CountedKernel& kernel : report.kernels) launches.push_back({kernel.name, nullptr, &kernel});
  }
  for (std::size_t i = 0; all && i < launches.size(); ++i) launches[i].counted = &report.kernels[i];
  return launches;
}

LaunchStep StepOf(const TimelineEvent& event) {
  LaunchStep step;
  step.kernel = event.name;
  std::copy_n(event.grid.begin(), std::min<std::size_t>(3, event.grid.size()), step.grid.begin());
  std::copy_n(event.block.begin(), std::min<std::size_t>(3, event.block.size()), step.block.begin());
  step.shared_bytes = event.shared_bytes;
  return step;
}

}  // namespace

void AddMeasuredModule(std::vector<Profile>& profiles, const ProfiledReport& report,
                       const std::vector<cuda::KernelFacts>& kernels, const Graph* graph, const DeviceModel& device) {
  const auto launches = LaunchesOf(report);
  if (launches.empty()) return;
  profiles.erase(std::remove_if(profiles.begin(), profiles.end(),
                                [](const Profile& profile) { return profile.scope == Scope::kLaunch; }),
                 profiles.end());
  std::vector<Profile> measured;
  for (const Launched& launch : launches) {
    const auto facts = std::find_if(kernels.begin(), kernels.end(),
                                    [&](const cuda::KernelFacts& kernel) { return kernel.name == launch.name; });
    Profile profile(Scope::kLaunch, launch.name.empty() ? "a kernel without a name" : launch.name);
    if (facts != kernels.end()) {
      profile = ProfileOf(*facts, device);
      if (launch.event != nullptr && !launch.event->grid.empty())
        AddLaunchFacts(profile, *facts, StepOf(*launch.event), device);
    } else {
      AddDeviceFacts(profile, device);
    }
    if (launches.size() > 1) profile.where = fmt::format("launch {}", measured.size() + 1);
    profile.Set("launches", static_cast<double>(launches.size()), FactSource::kTiming);
    if (graph != nullptr && launches.size() == 1) AddProblemFacts(profile, *graph, device);  // it does all of it
    if (launch.event != nullptr) AddTime(profile, launch.event->end_us - launch.event->begin_us);
    if (launch.counted != nullptr && !launch.counted->values.empty())
      AddCounterFacts(profile, report.metrics, launch.counted->values);
    measured.push_back(std::move(profile));
  }
  profiles.insert(profiles.begin(), std::make_move_iterator(measured.begin()), std::make_move_iterator(measured.end()));
  std::vector<TimelinePart> parts;
  for (const TimelineEvent& event : report.timeline) parts.push_back({event.begin_us, event.end_us});
  for (Profile& profile : profiles) {
    if (profile.scope == Scope::kPlan) AddTimelineFacts(profile, parts);
  }
}

}  // namespace hone
