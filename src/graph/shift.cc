#include "graph/shift.h"

namespace hone {

Expr PowerOfTwo(const Expr& n) {
  if (n->kind == Expr::Kind::kConst) return static_cast<std::int64_t>(std::uint64_t{1} << (n->whole & 63));
  Expr power = 1;  // a factor a bit of n
  for (int bit = 0; bit < 6; ++bit) {
    const std::int64_t place = std::int64_t{1} << bit;
    const Expr set = Less(0, Apply(BinaryOp::kAnd, n, place));
    power = power * Select(set, std::int64_t{1} << place, 1);
  }
  return power;
}

}  // namespace hone
