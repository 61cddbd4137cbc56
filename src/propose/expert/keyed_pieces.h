// Pieces that fold terms by keys, as scatters do (expr/keyed_fold.h), in the form in which less is made for them.
#pragma once

#include <cstdint>
#include <optional>

#include "expr/keyed_fold.h"
#include "propose/expert/memory.h"
#include "propose/expert/pieces.h"

namespace hone::expert {

// Nothing if it is another piece.
std::optional<KeyedFold> KeyedFoldIn(const Piece& piece);

// The piece made as the map that takes a part of it reads it: terms of what is left out, which often stand for none,
// are not added up anywhere. Nothing where the map does more, or the rest is no fold by keys.
std::optional<Piece> PartOfKeyedFold(const Memory& memory, const Piece& whole, const Piece& map);

// The piece with the innermost of what it folds in rows of so many terms; nothing where they do not come out even.
std::optional<Piece> WithRowsOfTerms(const Piece& piece, std::int64_t of_row);

}  // namespace hone::expert
