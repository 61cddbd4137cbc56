// What a map makes of elements in order: it looks them up where an order of their rows says that they are.
#include <map>

#include "expr/ranked_fold.h"
#include "propose/expert/normalise.h"
#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {

std::optional<Expr> OfOrdered(const Memory& memory, const Piece& map, const Piece& places) {
  if (!places.fold || places.inside.size() != 1 || !places.inside[0].fold || !IsValue(places.fold->finish, kIt) ||
      Extents(map.space) != Extents(places.space))
    return std::nullopt;
  const Piece& ranks = places.inside[0];
  const auto ranked = RankedFoldOf(*Reduce(ranks.fold->op, ranks.fold->over, ranks.fold->body));
  if (!ranked) return std::nullopt;
  // The rows' dimensions are the result's, of which that along a row is gone where one element is wanted.
  const IndexVar along = NewIndex(ranked->along.extent);
  const bool one = map.space.size() + 1 == ranks.space.size();
  if (!one && map.space.size() != ranks.space.size()) return std::nullopt;
  std::map<int, Expr> at;
  for (std::size_t d = 0, next = 0; d < ranks.space.size(); ++d) {
    const bool is_along = ranks.space[d].id == ranked->along.id;
    if (!is_along && next == map.space.size()) return std::nullopt;
    at[ranks.space[d].id] = is_along ? Expr(along) : Expr(map.space[next]);
    next += is_along && one ? 0 : 1;
  }
  const Expr element = memory.Flat(Simplify(Substitute(ranked->element, [&](const IndexVar& var) {
    const auto known = at.find(var.id);
    return known == at.end() ? Expr() : known->second;
  })));
  const Affine own = OwnPosition(map.space);
  const Expr there = Rewrite(map.value, [&](const Expr& e) -> Expr {
    const Expr inner = WithoutWholeCasts(e);
    if (inner->kind == Expr::Kind::kIndex && inner->index.id == along.id) return inner;
    const bool is_place =
        e->kind == Expr::Kind::kLoad && memory.Root(e->buffer) == places.buffer && memory.Position(*e) == own;
    return is_place ? Expr(along) : Expr();
  });
  bool met = false;
  const Expr value = Rewrite(memory.Flat(Simplify(there)), [&](const Expr& e) -> Expr {
    if (!SameExpr(e, element)) return {};
    met = true;
    return Value(kIt, e->type);
  });
  return met ? std::optional(value) : std::nullopt;
}

}  // namespace hone::expert
