// Which keys a score of attention hides, as its conditions on the places of a query and of a key say. Private to the
// expert.
#pragma once

#include <optional>

#include "propose/expert/memory.h"

namespace hone::expert {

// What the load reads as an expression of its own indices, if that is made of indices and of nothing else, cheaply: a
// kernel for it would write what costs less to compute again.
std::optional<Expr> MadeOfIndices(const Memory& memory, const ExprNode& load);

// The score without the condition that hides the keys beyond a query's own place, however it is spelled: a choice, or
// an addend of 0 and -inf. Nothing if it has no such condition.
std::optional<Expr> BehindCausal(const Expr& score, const IndexVar& query, const IndexVar& key);

// Likewise of a score that is a weight itself, which such a condition makes 0: a choice in it, or a truth value. Where
// that is in what the score reads, which is made elsewhere, the score is as it was.
std::optional<Expr> WeightBehindCausal(const Memory& memory, const Expr& score, const IndexVar& query,
                                       const IndexVar& key);

}  // namespace hone::expert
