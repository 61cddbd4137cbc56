// Knobs that several families have on CUDA.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/family.h"

namespace hone::dsl {

// `block`: threads of a block.
std::vector<Setting> BlockThreadsValues(const Kernel& kernel);
std::optional<std::string> CheckBlockThreads(const Kernel& kernel, const Setting& value);
inline constexpr Knob kBlockThreadsKnob{"block", "threads of a block", &BlockThreadsValues, &CheckBlockThreads};

// `pack`: neighbouring elements that a thread moves as one.
std::vector<Setting> PackValues(const Kernel& kernel);
std::optional<std::string> CheckPack(const Kernel& kernel, const Setting& value);
inline constexpr Knob kPackKnob{"pack", "neighbouring elements that a thread moves at once: 4 floats are 16 bytes",
                                &PackValues, &CheckPack};

}  // namespace hone::dsl
