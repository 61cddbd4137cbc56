// Shifts of whole numbers, as products and quotients.
#pragma once

#include "graph/op.h"

namespace hone {

// 2^n for 0 <= n < 64, as the 64 bits hold it; anything beyond.
Expr PowerOfTwo(const Expr& n);

}  // namespace hone
