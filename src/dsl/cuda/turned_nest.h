// Nests that read across memory: neighbours of the result lie far from each other in what is read, and closer along
// another index than the innermost one.
#pragma once

#include <cstddef>
#include <optional>

#include "dsl/kernel.h"

namespace hone::dsl {

// That index, by its place in MakeFlat(kernel, {}).indices, if a warp that goes along it reads less than half of what
// one along the innermost index does: what is looked up lies close where the places that are looked up do. Nothing for
// steps of sequences, and where something is folded.
std::optional<std::size_t> AcrossIn(const Kernel& kernel);

}  // namespace hone::dsl
