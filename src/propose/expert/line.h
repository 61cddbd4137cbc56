// Expressions that are a multiple of kIt and something beside it, as what stands behind a sum of products often is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "expr/expr.h"

namespace hone::expert {

// slope * it + rest; either may be missing, as a 0.
struct Line {
  Expr slope, rest;
};
std::optional<Line> LineOf(const Expr& e);

// Of so many elements, of whose `it` this one's is the sum, and which share slope and rest.
Expr SumOf(const Line& line, std::int64_t count);

// Whether one of the indices occurs in the expression.
bool Varies(const Expr& e, const std::vector<IndexVar>& with);

}  // namespace hone::expert
