// Maps that read an operand across: its elements that lie side by side belong to different rows of the result. A square
// of it is turned in registers into a tile in L1, so that memory is met in whole lines on both sides.
#pragma once

#include "dsl/cpu/writer.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// Whether some operand is read across, and both of its dimensions are long enough.
bool ReadsAcross(const Kernel& kernel);

// Writes the map in tiles of the setting `tile`, or says that it cannot: then nothing is written.
bool EmitTiledMap(const KernelProgram& program, const Kernel& kernel, Writer& writer);

}  // namespace hone::dsl
