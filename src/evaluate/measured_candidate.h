// A candidate of any kind on the device, and what came of it in its profiles.
#pragma once

#include "candidate/candidate.h"
#include "evaluate/device_profile.h"
#include "graph/graph.h"
#include "profile/candidate_profiles.h"
#include "target/device_model.h"

namespace hone {

// By CUPTI, as DeviceProfiler does. `made` is of ProfileCandidate for this device; a module of CUDA C++ is compiled, or
// found in the build cache. kUsage for what runs on the processor.
Result<ProfiledReport> ProfileOnDevice(DeviceProfiler& profiler, const Candidate& candidate,
                                       const CandidateProfiles& made, const DeviceModel& device,
                                       const ProfileWish& wish);

// Adds it to the profiles. `graph` may be null where `made` is of a module.
void AddMeasured(CandidateProfiles& made, const ProfiledReport& report, const Problem& problem, const Graph* graph,
                 const DeviceModel& device);

}  // namespace hone
