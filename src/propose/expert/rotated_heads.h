// Products of several kinds of heads, of which maps turn pairs of columns of some: queries and keys, not values.
#pragma once

#include <optional>
#include <vector>

#include "propose/expert/pieces.h"

namespace hone::expert {

// The map as the end of `product`, as RotatedProduct gives it, and where that has what the map makes. The last
// `columns` dimensions are a head's columns.
struct RotatedPart {
  Piece piece;
  Affine place;  // row-major, in the piece's space
  std::size_t columns = 0;
};
std::optional<RotatedPart> RotatedPartOf(const Memory& memory, const Piece& product, const Piece& map);

// A product of rows of heads, [rows.., heads, columns..], that turns the first of them itself; the maps that did are
// gone. What reads it beside reads none but the others, as they are. Of one that may (Piece::may_rotate).
struct RotatedHeads {
  Piece product;  // its end has dsl::RotatedValue, and `head` where not all are turned
  IndexVar head;
  std::vector<Piece> pieces;  // all, in order, with the product where it was
};
std::optional<RotatedHeads> RotateHeads(const Memory& memory, const std::vector<Piece>& pieces, std::size_t product);

}  // namespace hone::expert
