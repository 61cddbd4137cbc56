// Products of matrices that are spelled out, as (a[:, :, None] * b[:, None]).sum(-1) is one.
#pragma once

#include <optional>
#include <vector>

#include "propose/expert/pieces.h"

namespace hone::expert {

// The dimensions of a contraction with its batches first, then rows, then columns, as a product writes them. Nothing if
// the piece is no contraction of many rows, columns and terms, or those of a factor do not lie as one dimension.
std::optional<std::vector<IndexVar>> ProductOrderOf(const Memory& memory, const Piece& piece);

}  // namespace hone::expert
