// Which device a verb means: the options that several have, and the model of the device behind them.
#pragma once

#include "base/result.h"
#include "command/command.h"
#include "target/device_model.h"

namespace hone {

struct RunRecord;

inline constexpr Option kTargetOption{
    .name = "target", .value = "NAME", .help = "device that is meant: cpu or cuda", .otherwise = "cpu"};
// For verbs that run nothing on the device.
inline constexpr Option kDeviceOption{
    .name = "device",
    .value = "MODEL",
    .help =
        "a CUDA device that need not be here, by its datasheet, with the libraries (cuBLASLt, cuDNN) that are found "
        "on this machine: h200, say; another word lists them"};

// kUsage when --target names neither.
Result<bool> WantsCuda(VerbCall& call);

// What is known of the device that --device or --target names without running anything on it: a shipped model; else its
// kept calibration; else its facts; of cuda without a device, a typical one's. With the libraries found here.
Result<DeviceModel> KnownDevice(VerbCall& call);
Result<DeviceModel> KnownDevice(bool cuda);
// The device of a run, where it is this machine's or one that hone knows; else kNotFound, and --device as the mend.
Result<DeviceModel> DeviceOfRun(const RunRecord& run);
// The shipped model that --device names, with the libraries found here; kUsage lists the known ones.
Result<DeviceModel> NamedDevice(const VerbCall& call);

}  // namespace hone
