// Numbers that a graph computes and that no input changes. Private to the expert.
#pragma once

#include <cstdint>
#include <map>

#include "propose/expert/memory.h"

namespace hone::expert {

// Whole numbers and truth values that are the same at all places of what a stage makes, however it came to them: of
// which sequence each of the positions 0, 1, 2 .. of a batch is, say, as a network asks that takes packed sequences.
// By buffer.
std::map<int, std::int64_t> ConstantsOf(const Memory& memory);

}  // namespace hone::expert
