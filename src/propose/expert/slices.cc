// A map of two slices of a product, as a layer of gates makes them with one matrix: of each slice a product of its own,
// of which the one's end reads the other (recognise/products.cc). What the slices are of is never written then.
#include <algorithm>
#include <vector>

#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

std::vector<IndexVar> Anew(const std::vector<IndexVar>& vars) {
  std::vector<IndexVar> made;
  for (const auto& var : vars) made.push_back(NewIndex(var.extent));
  return made;
}
Expr Renamed(const Expr& expr, const std::vector<IndexVar>& from, const std::vector<IndexVar>& to) {
  return Substitute(expr, [&](const IndexVar& var) -> Expr {
    for (std::size_t d = 0; d < from.size(); ++d) {
      if (from[d].id == var.id) return Expr(to[d]);
    }
    return {};
  });
}

// The product's elements at `position`, over `space`.
std::optional<Piece> SliceOf(const Memory& memory, const Piece& product, const Affine& position,
                             const std::vector<IndexVar>& space) {
  Piece element = product;
  element.fold.reset();
  element.value = product.fold->body;
  const auto body = ElementAt(memory, element, position, space);
  element.value = product.fold->finish;
  const auto finish = ElementAt(memory, element, position, space);
  if (!body || !finish) return std::nullopt;
  Piece slice = product;
  slice.space = Anew(space);
  slice.fold->over = Anew(product.fold->over);
  slice.fold->body = Renamed(Renamed(*body, space, slice.space), product.fold->over, slice.fold->over);
  slice.fold->finish = Renamed(*finish, space, slice.space);
  return slice;
}

}  // namespace

std::optional<Piece> ProductOfSlices(const Memory& memory, const Piece& product, const Piece& map) {
  std::vector<Affine> places;
  for (const FlatLoad& load : memory.Loads(map.value)) {
    if (load.buffer != product.buffer) continue;
    if (!load.position) return std::nullopt;
    if (std::find(places.begin(), places.end(), *load.position) == places.end()) places.push_back(*load.position);
  }
  // Half of it each, or much is made in vain.
  if (places.size() != 2 || 2 * ElementCount(Extents(map.space)) != ElementCount(Extents(product.space)))
    return std::nullopt;
  auto first = SliceOf(memory, product, places[0], map.space);
  auto last = SliceOf(memory, product, places[1], map.space);
  if (!first || !last) return std::nullopt;
  const Expr own = Load(product.buffer, {ToExpr(OwnPosition(map.space), map.space)}, ScalarType::kReal);
  const Expr end = Renamed(last->fold->finish, last->space, map.space);
  Piece made = map;
  made.value = Expr();
  made.fold = last->fold;
  made.fold->body = Renamed(last->fold->body, last->space, map.space);
  made.fold->finish = ReplaceLoads(map.value, [&](const ExprNode& load) -> Expr {
    if (memory.Root(load.buffer) != product.buffer) return {};
    return *memory.Position(load) == places[0] ? own : end;
  });
  made.inside = {std::move(*first)};
  return made;
}

}  // namespace hone::expert
