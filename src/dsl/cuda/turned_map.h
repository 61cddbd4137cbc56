// Maps on CUDA that read an operand across: its elements that lie side by side belong to different rows of the result.
// A block takes a square of it to shared memory as it lies and computes from there as the result lies, so that memory
// is met in whole lines on both sides.
#pragma once

#include "dsl/cuda/writer.h"
#include "dsl/family.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// Whether some operand is read across.
bool CanTurn(const Kernel& kernel);
// `tile`: edge of the squares, in words of four bytes; in elements, where those are larger or do not fill words.
std::vector<Setting> TurnedTileValues(const Kernel& kernel);
std::optional<std::string> CheckTurnedTile(const Kernel& kernel, const Setting& value);

// Writes the map in tiles of the setting `tile`, or says that it cannot: then nothing is written.
bool EmitTurnedMap(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out);

}  // namespace hone::dsl
