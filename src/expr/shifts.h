// Quotients that are shifts. The language has no shifts, and the graph makes them of products (graph/shift.h): a
// processor has an instruction.
#pragma once

#include <optional>

#include "expr/expr.h"

namespace hone {

// 2^(of & mask), or 2^mask where `of` is null.
struct PowerBy {
  Expr of;
  int mask = 0;
};
// A whole number that is such a power of two below 2^63: a constant, or a product of powers that each bit of one number
// chooses, `select(0 < and(n, 1), 2, 1) * select(0 < and(n, 2), 4, 1)`, some of which may be left out. Nothing if it is
// none.
std::optional<PowerBy> PowerOf(const Expr& e);

}  // namespace hone
