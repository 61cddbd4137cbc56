#include "command/target.h"

#include <fmt/format.h>

#include "store/records.h"
#include "target/cpu/host_libraries.h"
#include "target/cuda/device_calibration.h"
#include "target/shipped_model.h"

namespace hone {

Result<bool> WantsCuda(VerbCall& call) {
  const std::string target = call.Text("target");
  if (target != "cpu" && target != "cuda")
    return Fail(ErrorKind::kUsage, fmt::format("--target {}: it is cpu or cuda", target));
  return target == "cuda";
}

Result<DeviceModel> NamedDevice(const VerbCall& call) {
  auto device = FindShippedModel(call.Text("device"));
  if (!device) return Rethrow(std::move(device).error(), "--device: ");
  device->libraries = cuda::FindLibraries();
  return device;
}

Result<DeviceModel> DeviceOfRun(const RunRecord& run) {
  if (auto shipped = FindShippedModel(run.machine)) return shipped;
  DeviceModel here = HONE_TRY(KnownDevice(run.target == "cuda"));
  if (here.id == run.machine) return here;
  return Fail(ErrorKind::kNotFound,
              fmt::format("the run was made on another machine ({}), whose ceilings are not known here", run.machine));
}

Result<DeviceModel> KnownDevice(VerbCall& call) {
  if (!call.Has("device")) {
    const bool cuda = HONE_TRY(WantsCuda(call));
    if (cuda && !cuda::DescribeDevice()) {
      call.Note(fmt::format("there is no CUDA device here: what is said is of {}; --device names another",
                            TypicalDevice().processor));
    }
    return KnownDevice(cuda);
  }
  if (call.Has("target") && !HONE_TRY(WantsCuda(call)))
    return Fail(ErrorKind::kUsage, "--device names a CUDA device: leave out --target cpu");
  return NamedDevice(call);
}

Result<DeviceModel> KnownDevice(bool cuda) {
  DeviceModel described = DescribeHost();
  if (cuda) {
    auto here = cuda::DescribeDevice();
    if (!here) {
      described = TypicalDevice();
      described.libraries = cuda::FindLibraries();
      return described;
    }
    described = *std::move(here);
  }
  auto kept = LoadCalibration(described);
  if (!kept && kept.error().kind != ErrorKind::kNotFound) return kept;
  return kept ? std::move(kept) : Result<DeviceModel>(std::move(described));
}

}  // namespace hone
