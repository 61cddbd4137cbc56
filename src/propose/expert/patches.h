// Convolutions as products of matrices whose one factor is copied patch by patch.
#pragma once

#include <optional>

#include "propose/expert/pieces.h"

namespace hone::expert {

// What is read under each window, side by side, as a map; and the product of that, which it reads in the piece's own
// buffer, with the weights. Nothing if the piece is no such product, or the copy is many times larger than what it is
// of.
struct Patches {
  Piece copy, product;
};
std::optional<Patches> PatchesOf(const Memory& memory, const Piece& piece);

}  // namespace hone::expert
