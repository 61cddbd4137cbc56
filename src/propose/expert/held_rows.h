// Keys and values that memory holds in 8 bits, and that a map makes reals of 16 of, scaled or not: attention reads them
// as they lie. Private to the expert.
#pragma once

#include <optional>
#include <vector>

#include "dsl/program.h"
#include "propose/expert/names.h"
#include "propose/expert/pieces.h"

namespace hone::expert {

constexpr bool IsHeldInEightBits(DType type) { return type == DType::kI8 || (IsFloat(type) && Bytes(type) == 1); }

// Whether that is all that the map does: one load of 8 bits, times or over what others hold.
bool ScalesEightBits(const Memory& memory, const Piece& map);
// What one of the maps makes at the load's place, over `space`, as an operand; nothing where none makes it.
std::optional<dsl::TermPtr> HeldOperand(Names& names, const std::vector<Piece>& maps, const FlatLoad& load,
                                        const std::vector<IndexVar>& space);

}  // namespace hone::expert
