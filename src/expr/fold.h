// The functions of the scalar language on numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "expr/expr.h"

namespace hone {

// In double precision; truth values are 0 and 1. NaN where a function is not defined.
double ValueOf(UnaryOp op, double x);
double ValueOf(BinaryOp op, double a, double b);

// Of real constants; nothing where the value is not finite or the type of the result is another one.
std::optional<Expr> Evaluate(UnaryOp op, const Expr& x);
std::optional<Expr> Evaluate(BinaryOp op, const Expr& a, const Expr& b);

// The value of an expression of indices alone, at these indices by their ids; nothing where there is anything else in
// it. Truth values are 0 and 1.
std::optional<double> ValueAt(const Expr& e, const std::map<int, std::int64_t>& indices);

// The conditions that all have to hold for this one to hold.
std::vector<Expr> Conjuncts(const Expr& condition);
// Of all places that indices can be at, at least this share is one where these conditions hold together: exactly, or
// from a sample where there are too many places to try. A condition that hangs on data counts as one that always holds.
double ShareTrue(const std::vector<Expr>& conditions);
// Of all values of an index, at least this share is one at which these conditions hold at some place, likewise.
double ShareReached(const std::vector<Expr>& conditions, const IndexVar& index);

}  // namespace hone
