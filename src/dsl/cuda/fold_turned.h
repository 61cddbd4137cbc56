// Rows that lie across memory, as channels of images do that lie one image of a channel after the other: side by side
// are elements of different rows. A block takes neighbouring rows to shared memory as they lie, in whole sectors, and
// reads each from there.
#pragma once

#include <cstdint>
#include <vector>

#include "dsl/kernel.h"
#include "dsl/shape/loops.h"

namespace hone::dsl {

inline constexpr std::int64_t kTurnedThreads = 256;  // of a block that does so

// The operands that lie so; none if what is folded is not one innermost dimension, or it keeps no axes.
std::vector<int> TurnedOperands(const Kernel& kernel, const Loops& loops);
// Elements from one row to the next in shared memory: an odd number of words, so that a column of them lies in
// different banks.
std::int64_t TurnedPitch(std::int64_t row, std::int64_t element_bytes);
// Whether a block has room for all that these make of as many rows as so many lanes leave.
bool TurnedFits(const Kernel& kernel, const Loops& loops, const std::vector<int>& operands, std::int64_t lanes);
// Lanes to begin with; 0 if no operand lies so, or rows are too long.
std::int64_t TurnedLanes(const Kernel& kernel);

}  // namespace hone::dsl
