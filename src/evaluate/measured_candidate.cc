#include "evaluate/measured_candidate.h"

#include "evaluate/measured_module.h"
#include "target/cuda/nvcc.h"

namespace hone {

Result<ProfiledReport> ProfileOnDevice(DeviceProfiler& profiler, const Candidate& candidate,
                                       const CandidateProfiles& made, const DeviceModel& device,
                                       const ProfileWish& wish) {
  if (made.plan) return profiler.ByCupti(*made.plan, wish);
  if (candidate.kind != CandidateKind::kCudaModule)
    return Fail(ErrorKind::kUsage, "what runs on the processor has no counters that hone reads");
  const auto compiled = HONE_TRY(cuda::CompileCudaModule({.source = candidate.text, .arch = device.arch}));
  if (!compiled.ok()) return Fail(ErrorKind::kTool, "the module does not compile: " + compiled.errors[0].message);
  return profiler.ModuleByCupti(compiled.library, wish);
}

void AddMeasured(CandidateProfiles& made, const ProfiledReport& report, const Problem& problem, const Graph* graph,
                 const DeviceModel& device) {
  if (made.plan) return AddMeasured(made.profiles, report, *made.plan, problem, device);
  AddMeasuredModule(made.profiles, report, made.kernels, graph, device);
}

}  // namespace hone
