// Dimensions of two: what an expression is on the first side and what on the second, as one expression of both.
#pragma once

#include <optional>
#include <vector>

#include "propose/expert/pieces.h"

namespace hone::expert {

// A real, -1 on the first side and 1 on the second one. The sides are the dimension before the last of a piece's space.
inline constexpr NamedValue kSign = LetValue(-1);

struct Sides {
  const Memory& memory;
  const std::vector<IndexVar>& space;
  IndexVar side;            // of `space`
  bool with_signs = false;  // what stands negated on one of them alone is made with kSign

  // Nothing if there is no such expression; null if both are. Loads may be at places that are apart by a number.
  std::optional<Expr> OfBoth(const Expr& first, const Expr& second) const;
  // Likewise of a position, and of the same position `apart` behind.
  Affine PositionOfBoth(Affine position, std::int64_t apart) const;
};

// A map whose last dimension is two halves, of which each element reads what lies in the other one, too, as a rotary
// embedding does: over [.., 2, half], with kSign where the halves differ by a sign. Nothing if it is another.
std::optional<Piece> WithSides(const Memory& memory, const Piece& map);

}  // namespace hone::expert
