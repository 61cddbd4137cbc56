// Folds that are one of their terms. x[arange(n), at] = y compares each index of the result with all of 0, 1 ... n - 1:
// the one that it is equal to is known, and nothing is looked for.
#pragma once

#include <optional>

#include "propose/expert/pieces.h"

namespace hone::expert {

// The fold without the indices that a condition says to be others; a map where none is left. Nothing where there is no
// such condition.
std::optional<Piece> AtOnePlace(const Piece& piece);

// Choices made simple: one between what can only be chosen by one side of another's condition, as in 0 <= (c ? i : -1),
// is that condition, and one within a side of the same condition is that side of it.
Expr WithChoicesMade(const Expr& expr);

}  // namespace hone::expert
