// Writes maps for CUDA: a thread a pack of neighbouring elements, as many threads as there are packs.
#pragma once

#include <string_view>

#include "dsl/cuda/writer.h"
#include "dsl/kernel.h"
#include "dsl/shape/loops.h"

namespace hone::dsl {

// A setting: so many multiprocessors share a map.
inline constexpr std::string_view kMultiprocessorsKnob = "multiprocessors";

void EmitMapCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out);

// Of the innermost dimension of a loop nest: how many elements may be moved as one at most, no more than `wanted`, so
// that packs end where the dimension does.
std::int64_t PackOf(const Loops& loops, std::int64_t wanted);
// Whether `operand` can be loaded in packs: its elements are neighbours, and packs of it lie at multiples of their
// size.
bool LoadsInPacks(const Loops& loops, const Kernel& kernel, std::size_t operand, std::int64_t pack);

// The places of the dimensions in [first, end) of `loops` for the flat number `at` (in packs along the innermost
// dimension of the nest, if it is among them): lines that declare the variables, and their names in order. The variable
// of the innermost dimension is the first element of the pack.
std::vector<std::string> OpenPlaces(DeviceWriter& out, const Loops& loops, const std::vector<std::size_t>& which,
                                    const std::string& at, std::int64_t pack);

}  // namespace hone::dsl
