// Statements that a processor makes faster as another kind of statement.
#pragma once

#include "dsl/program.h"
#include "propose/expert/memory.h"
#include "propose/expert/pieces.h"
#include "target/device_model.h"

namespace hone::expert {

// Whether the piece's statement is one of those on the device.
bool IsSlowerKind(const Memory& memory, const DeviceModel& device, const Piece& piece, const dsl::Statement& statement);

}  // namespace hone::expert
