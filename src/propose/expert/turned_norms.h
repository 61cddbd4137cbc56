// Norms between convolutions whose channels lie last (dsl/cuda/channels_last.h). A norm writes what it makes in the
// order of its dimensions: written over [batch, pixels, channels] it makes what the next convolution reads as it lies,
// and reads what the one before has made side by side.
#pragma once

#include <optional>

#include "dsl/kernel.h"
#include "dsl/program.h"
#include "target/device_model.h"

namespace hone::expert {

// The program with all such norms so; nothing if there is none, or the language does not take it. `checked`: what the
// checker made of the program.
std::optional<dsl::Program> WithTurnedNorms(dsl::Program program, const dsl::KernelProgram& checked,
                                            const DeviceModel& device);

}  // namespace hone::expert
