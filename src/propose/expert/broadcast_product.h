// Products that are the same along dimensions of what is made of them.
#pragma once

#include <optional>

#include "propose/expert/pieces.h"

namespace hone::expert {

// The product over the dimensions that its factors have, and its end as a map over all of them, which reads it in the
// product's own buffer. Nothing if the piece is no product, or its factors have all of its dimensions.
struct BroadcastProduct {
  Piece product, map;
};
std::optional<BroadcastProduct> BroadcastProductOf(const Memory& memory, const Piece& piece);

}  // namespace hone::expert
