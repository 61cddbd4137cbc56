// Knobs of all families that fold on CUDA.
#pragma once

#include <cstdint>
#include <span>

#include "dsl/family.h"

namespace hone::dsl {

std::span<const Knob> FoldKnobsCuda();

inline constexpr std::int64_t kRowThreads = 128;  // of a block, where a row has fewer
// Floats of a row that a thread of a block of so many can keep in registers: what is left serves the rest.
std::int64_t MostKept(const Kernel& kernel, std::int64_t threads);

}  // namespace hone::dsl
