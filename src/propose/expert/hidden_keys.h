// Which keys a score of attention hides, as its conditions on the places of a query and of a key say. Private to the
// expert.
#pragma once

#include <optional>

#include "propose/expert/memory.h"

namespace hone::expert {

// What the load reads as an expression of its own indices, if that is made of indices and of nothing else, cheaply: a
// kernel for it would write what costs less to compute again.
std::optional<Expr> MadeOfIndices(const Memory& memory, const ExprNode& load);

// Numbers up to this stand for -inf in scores of that type, where a query sees some key: its least number, and -1e9,
// which is written as often. What lies so far below a row's largest score weighs 0, and no score that hides nothing
// comes near it: those of rows of 256 elements of a thousand each do not. Whoever has others is told by the judge,
// which knows no such rule; it refuses it of -1e4, but of f16. As bf16, -1e9 is a little more.
double LeastScore(DType scores);

// The score without the condition that hides the keys beyond a query's own place, however it is spelled: a choice, or
// an addend of 0 and -inf. Nothing if it has no such condition.
std::optional<Expr> BehindCausal(const Expr& score, const IndexVar& query, const IndexVar& key, double least_score);

// The score with -inf of keys that it hides by a number below all scores, where their places alone say which these are
// and each query sees some key: kernels do not read those.
Expr WithHiddenKeys(const Expr& score, const IndexVar& query, const IndexVar& key, double least_score);

// Like BehindCausal of a score that is a weight itself, which such a condition makes 0: a choice in it, or a truth
// value. Where that is in what the score reads, which is made elsewhere, the score is as it was.
std::optional<Expr> WeightBehindCausal(const Memory& memory, const Expr& score, const IndexVar& query,
                                       const IndexVar& key);

}  // namespace hone::expert
