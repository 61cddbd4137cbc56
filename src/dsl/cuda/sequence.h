// Sequences on CUDA: nests that go through time together, the steps in a loop of one kernel. A thread has all that
// depends on itself alone; where elements look at each other's, a block has its part of the batch, or all blocks share
// each step and meet after it (the knob `spread`).
#pragma once

#include <span>

#include "dsl/cuda/writer.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// The members in the order in which each step runs them.
void EmitSequence(std::span<const Kernel> members, DeviceWriter& out);

}  // namespace hone::dsl
