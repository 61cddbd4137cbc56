// Keys and values that memory holds in 8 bits, and that a map makes reals of 16 of, scaled or not: attention reads them
// as they lie. Private to the expert.
#pragma once

#include <optional>
#include <vector>

#include "dsl/program.h"
#include "propose/expert/names.h"
#include "propose/expert/pieces.h"

namespace hone::expert {

// Whether that is all that the map does: one load of 8 bits, times or over what others hold.
bool ScalesEightBits(const Memory& memory, const Piece& map);
// What one of the maps makes at the load's place, over `vars`; nothing where none makes it.
std::optional<Expr> HeldElement(const Memory& memory, const std::vector<Piece>& maps, const FlatLoad& load,
                                const std::vector<IndexVar>& vars);
// That as an operand over `space`, the same for each query.
std::optional<dsl::TermPtr> HeldOperand(Names& names, const std::vector<Piece>& maps, const FlatLoad& load,
                                        const std::vector<IndexVar>& space, const IndexVar& query);

// Values times what their weights are multiplied with, of `key` and the others of `space`, if that is the same for all
// that read them at `v`.
std::optional<dsl::TermPtr> TimesOfWeights(Names& names, const Expr& times, std::vector<IndexVar> space, IndexVar key,
                                           const FlatLoad& v, const dsl::TermPtr& values);

}  // namespace hone::expert
