// Which device a verb means: the option that several have, and the machine behind it.
#pragma once

#include "base/result.h"
#include "command/command.h"
#include "target/machine.h"

namespace hone {

inline constexpr Option kTargetOption{
    .name = "target", .value = "NAME", .help = "device that is meant: cpu or cuda", .otherwise = "cpu"};

// kUsage when --target names neither.
Result<bool> WantsCuda(VerbCall& call);

// What is known of the device that --target names without running anything on it: its kept calibration, else its facts;
// of cuda without a device, a typical one's.
Result<Machine> KnownMachine(VerbCall& call);
Result<Machine> KnownMachine(bool cuda);

}  // namespace hone
