#include "propose/expert/rotated_heads.h"

#include <algorithm>
#include <map>
#include <utility>

#include "expr/affine.h"
#include "propose/expert/normalise.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

// A map that turns some heads of a product's rows: `count` from `first` on, in indices of rows, from the outermost, and
// of columns.
struct TurnedHeads {
  std::size_t map = 0;  // its place among the pieces
  RotatedPart part;
  std::vector<IndexVar> rows, columns;
  std::int64_t width = 1, first = 0, count = 1;
};

// Whether steps of indices, the closest one first, lie densely from `unit` on; what all of them cover.
std::optional<std::int64_t> Covered(std::int64_t unit, const std::vector<IndexVar>& closest, const Affine& place) {
  for (const IndexVar& var : closest) {
    if (var.extent == 1) continue;
    if (place.of(var) != unit) return std::nullopt;
    unit *= var.extent;
  }
  return unit;
}

// Whether what an expression is differs along an index.
bool Varies(const Memory& memory, const Expr& expr, const std::vector<IndexVar>& indices) {
  const Expr flat = memory.Flat(expr);
  return std::ranges::any_of(indices, [&](const IndexVar& var) { return UsesIndex(flat, var.id); });
}

std::optional<TurnedHeads> TurnedHeadsOf(const Memory& memory, const Piece& product, const Piece& map) {
  auto part = RotatedPartOf(memory, product, map);
  if (!part) return std::nullopt;
  TurnedHeads turned{.part = std::move(*part)};
  const Affine& place = turned.part.place;
  const auto& space = turned.part.piece.space;
  const auto columns = space.end() - static_cast<std::ptrdiff_t>(turned.part.columns);
  turned.columns = {columns, space.end()};
  turned.width = ElementCount(Extents(turned.columns));
  const std::int64_t all = ElementCount(Extents(product.space)), row = product.space.back().extent;
  std::vector<IndexVar> heads;
  for (auto var = space.begin(); var != columns; ++var) {
    if (var->extent > 1) (place.of(*var) < row ? heads : turned.rows).push_back(*var);
  }
  const auto by_place = [&](const IndexVar& a, const IndexVar& b) { return place.of(a) < place.of(b); };
  std::ranges::sort(heads, by_place);
  std::ranges::sort(turned.rows, by_place);
  const auto covered = Covered(turned.width, heads, place);
  std::vector<IndexVar> closest(turned.columns.rbegin(), turned.columns.rend());
  if (!covered || row % turned.width != 0 || place.constant % turned.width != 0 || place.constant < 0 ||
      place.constant + *covered > row || Covered(1, closest, place) != turned.width ||
      Covered(row, turned.rows, place) != all || Varies(memory, turned.part.piece.fold->finish, heads))
    return std::nullopt;
  std::ranges::reverse(turned.rows);
  turned.first = place.constant / turned.width;
  turned.count = *covered / turned.width;
  return turned;
}

// Whether both turn their heads by the same.
bool TurnAlike(const Memory& memory, const TurnedHeads& a, const TurnedHeads& b) {
  auto from = b.rows, to = a.rows;
  from.insert(from.end(), b.columns.begin(), b.columns.end());
  to.insert(to.end(), a.columns.begin(), a.columns.end());
  return Extents(from) == Extents(to) && a.columns.size() == b.columns.size() &&
         SameExpr(memory.Flat(a.part.piece.fold->finish), memory.Flat(InIndices(b.part.piece.fold->finish, from, to)));
}

// Whether all that an expression reads of the product is in columns from `first` on of its rows.
bool ReadsBehind(const Memory& memory, const Expr& expr, const Piece& product, std::int64_t first) {
  const std::int64_t row = product.space.back().extent;
  std::map<int, IndexVar> vars;
  Visit(expr, [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kIndex) vars.emplace(node.index.id, node.index);
  });
  return std::ranges::all_of(memory.Loads(expr), [&](const FlatLoad& load) {
    if (load.buffer != product.buffer) return true;
    if (!load.position) return false;
    std::int64_t low = load.position->constant % row, high = low;
    for (const auto& [id, step] : load.position->coefficient) {
      if (step % row == 0) continue;
      if (step < 0 || step > row || !vars.contains(id)) return false;
      high += step * (vars.at(id).extent - 1);
    }
    return load.position->constant >= 0 && low >= first && high < row;
  });
}

// Where the product has what the map makes, in the map's own dimensions.
Piece AsView(const Piece& product, const Piece& map, const TurnedHeads& turned) {
  Affine place = turned.part.place;
  std::int64_t step = 1;
  for (auto var = map.space.rbegin(); step < turned.width; ++var) {
    if (var->extent > 1) place.coefficient[var->id] = step;
    step *= var->extent;
  }
  for (const IndexVar& var : turned.columns) place.coefficient.erase(var.id);
  Piece view = map;
  view.value = Load(product.buffer, {ToExpr(place, map.space)}, ScalarType::kReal);
  return view;
}

}  // namespace

std::optional<RotatedHeads> RotateHeads(const Memory& memory, const std::vector<Piece>& pieces, std::size_t at) {
  const Piece& product = pieces[at];
  if (!IsValue(product.fold->finish, kIt) || product.space.size() < 2) return std::nullopt;
  std::vector<TurnedHeads> turned;
  for (std::size_t i = at + 1; i < pieces.size(); ++i) {
    const Piece& map = pieces[i];
    if (!map.is_map() || !map.inside.empty() || !map.also.empty() || !map.looked_up.empty() ||
        memory.IsOutput(map.buffer))
      continue;
    auto one = TurnedHeadsOf(memory, product, map);
    if (!one || (!turned.empty() && !TurnAlike(memory, turned[0], *one))) continue;
    one->map = i;
    turned.push_back(std::move(*one));
  }
  if (turned.empty()) return std::nullopt;
  // The first heads of a row, one map's behind the other's.
  std::ranges::sort(turned, {}, &TurnedHeads::first);
  std::int64_t heads = 0;
  for (const TurnedHeads& one : turned) {
    if (one.first != heads) return std::nullopt;
    heads += one.count;
  }

  const TurnedHeads& like = turned[0];
  RotatedHeads made;
  made.head = NewIndex(product.space.back().extent / like.width);
  std::vector<IndexVar> space = like.rows;
  space.push_back(made.head);
  space.insert(space.end(), like.columns.begin(), like.columns.end());
  auto over = ReadAt(product, OwnPosition(space), space);
  if (!over) return std::nullopt;
  made.product = std::move(*over);
  const Expr& end = like.part.piece.fold->finish;
  made.product.fold->finish =
      heads == made.head.extent ? end
                                : Select(Apply(BinaryOp::kLess, made.head, heads), end, Value(kIt, ScalarType::kReal));

  std::vector<Piece> views;
  for (const TurnedHeads& one : turned) views.push_back(AsView(product, pieces[one.map], one));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (std::ranges::find(turned, i, &TurnedHeads::map) != turned.end()) continue;
    Piece reader = pieces[i];
    bool fits = true;
    EachExpr(reader, [&](Expr& expr) {
      fits = fits && ReadsBehind(memory, expr, product, heads * like.width);
      expr = ReplaceLoads(expr, [&](const ExprNode& load) -> Expr {
        for (const Piece& view : views) {
          if (memory.Root(load.buffer) != view.buffer) continue;
          auto element = ElementAt(memory, view, load);
          fits &= element.has_value();
          return element.value_or(Expr());
        }
        return {};
      });
    });
    if (!fits) return std::nullopt;
    made.pieces.push_back(std::move(reader));
  }
  return made;
}

}  // namespace hone::expert
