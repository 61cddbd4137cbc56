// A map of two slices of a product, as a layer of gates makes them with one matrix: of each slice a product of its own,
// of which the one's end reads the other (recognise/products.cc). And a map of one slice, as a loss has it of scores
// whose last row predicts nothing: the product of that slice. What the slices are of is never written then.
#include <algorithm>
#include <functional>
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
  slice.fold->body = InIndices(InIndices(*body, space, slice.space), product.fold->over, slice.fold->over);
  slice.fold->finish = InIndices(*finish, space, slice.space);
  return slice;
}

// Where the map reads the product, each place once; none if one depends on data.
std::vector<Affine> PlacesIn(const Memory& memory, const Piece& product, const Piece& map) {
  std::vector<Affine> places;
  for (const FlatLoad& load : memory.Loads(map.value)) {
    if (load.buffer != product.buffer) continue;
    if (!load.position) return {};
    if (std::find(places.begin(), places.end(), *load.position) == places.end()) places.push_back(*load.position);
  }
  return places;
}

// The map as the end of `slice`, whose end takes the place of each load of the product.
Piece Ended(const Memory& memory, const Piece& slice, const Piece& product, const Piece& map,
            const std::function<Expr(const ExprNode&)>& other) {
  const Expr end = InIndices(slice.fold->finish, slice.space, map.space);
  Piece made = map;
  made.value = Expr();
  made.fold = slice.fold;
  made.fold->body = InIndices(slice.fold->body, slice.space, map.space);
  made.fold->finish = ReplaceLoads(map.value, [&](const ExprNode& load) -> Expr {
    if (memory.Root(load.buffer) != product.buffer) return {};
    const Expr others = other(load);
    return others ? others : end;
  });
  return made;
}

}  // namespace

std::optional<Piece> ProductOfSlice(const Memory& memory, const Piece& product, const Piece& map) {
  const auto places = PlacesIn(memory, product, map);
  const std::int64_t all = ElementCount(Extents(product.space)), some = ElementCount(Extents(map.space));
  if (places.size() != 1 || some >= all || 16 * some < 15 * all) return std::nullopt;
  const auto slice = SliceOf(memory, product, places[0], map.space);
  if (!slice) return std::nullopt;
  return Ended(memory, *slice, product, map, [](const ExprNode&) { return Expr(); });
}

namespace {

// Whether neighbours of each operand are neighbours along some index: kernels read runs. Of every other column they
// would not.
bool ReadsRuns(const Memory& memory, const Piece& product) {
  bool runs = true;
  VisitValues(product.fold->body, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad || node.operands.empty()) return;
    const auto position = memory.Position(node);
    const auto along = position ? position : AffineOf(node.operands.back());
    runs &= along && std::ranges::any_of(along->coefficient, [](const auto& of) { return of.second == 1; });
  });
  return runs;
}

}  // namespace

std::optional<Piece> ProductOfSlices(const Memory& memory, const Piece& product, const Piece& map) {
  const auto places = PlacesIn(memory, product, map);
  // Half of it each, or much is made in vain.
  if (places.size() != 2 || 2 * ElementCount(Extents(map.space)) != ElementCount(Extents(product.space)))
    return std::nullopt;
  auto first = SliceOf(memory, product, places[0], map.space);
  auto last = SliceOf(memory, product, places[1], map.space);
  if (!first || !last || !ReadsRuns(memory, *first) || !ReadsRuns(memory, *last)) return std::nullopt;
  const Expr own = Load(product.buffer, {ToExpr(OwnPosition(map.space), map.space)}, ScalarType::kReal);
  Piece made = Ended(memory, *last, product, map,
                     [&](const ExprNode& load) { return *memory.Position(load) == places[0] ? own : Expr(); });
  made.inside = product.inside;
  made.inside.push_back(std::move(*first));
  return made;
}

}  // namespace hone::expert
