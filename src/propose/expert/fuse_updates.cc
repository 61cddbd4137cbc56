// What is written into an input: the state of a recurrence, say, of which a sum over rows is read beside.
#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "graph/op.h"
#include "propose/expert/fuser.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {

// Whether a map, or a norm, is written into an input.
bool Fuser::WritesInput(std::size_t at) const {
  const Piece& piece = pieces_[at];
  return !piece.fold && piece.sequence < 0 && !known_[at].folds_inside && !InputsWritten(piece.buffer).empty();
}

// Whether a piece folds what such a map writes, or makes the terms of one that does: that reads what is written, or is
// made as it is written.
bool Fuser::FoldsWritten(std::size_t map_at, std::size_t reader_at) const {
  if (!WritesInput(map_at)) return false;
  if (pieces_[reader_at].fold) return true;
  const auto readers = Readers(pieces_[reader_at].buffer);
  return IsSimpleMap(reader_at) && !memory_.IsOutput(pieces_[reader_at].buffer) && readers.size() == 1 &&
         pieces_[readers[0]].fold && known_[readers[0]].count == known_[reader_at].count;
}

// Such a map, or such a norm, and the sums of its rows as a norm, which stores both: what is written is not read again.
void Fuser::GroupUpdates() {
  for (std::size_t m = 0; m < pieces_.size(); ++m) {
    if (!known_[m].alive || !known_[m].plain || !WritesInput(m) || !pieces_[m].also.empty()) continue;
    for (const std::size_t sum : Readers(pieces_[m].buffer)) {
      auto norm = WithSumOfRows(pieces_[m], pieces_[sum]);
      const auto place = norm ? PlaceOfBoth(m, sum) : std::nullopt;
      if (!place) continue;
      Become(std::move(*norm), m, sum, *place);
      TakeNumbersOfRows(*place);
      break;
    }
  }
}

// What a map makes for a norm alone, one of for each row, is made as the row is, however long that takes.
void Fuser::TakeNumbersOfRows(std::size_t norm) {
  for (const int read : std::vector<int>(known_[norm].reads)) {
    const int map = maker_[Id(read)];
    if (map < 0 || !GoesBeside(Id(map)) || memory_.IsOutput(read) || readers_[Id(read)].size() != 1) continue;
    const Piece& rows = pieces_[norm];
    bool of_row = true;
    EachExpr(rows, [&](const Expr& expr) {
      for (const FlatLoad& load : memory_.Loads(expr)) {
        for (const int axis : rows.axes)
          of_row &= load.buffer != read || load.position->of(rows.space[static_cast<std::size_t>(axis)]) == 0;
      }
    });
    if (of_row && InlineInto(Id(map), norm)) Kill(Id(map));
  }
}

namespace {

// The fold over dimensions that end where those of the map do whose elements it reads in steps of its own; nothing if
// one ends between two of those.
std::optional<Piece> InDimensionsOf(const Piece& map, const Affine& position, Piece fold) {
  const auto strides = DenseStrides(Extents(map.space));
  std::map<int, Expr> parts_of;
  for (auto* vars : {&fold.space, &fold.fold->over}) {
    std::vector<IndexVar> apart;
    for (const IndexVar& var : *vars) {
      const std::int64_t step = position.of(var);
      if (var.extent == 1) {
        parts_of[var.id] = Expr(0);
        continue;
      }
      const auto parts = step > 0 ? DimensionsApart(var, step, strides) : std::nullopt;
      if (!parts) return std::nullopt;
      std::int64_t left = var.extent;
      Expr whole = 0;
      for (const IndexVar& part : *parts) {
        left /= part.extent;
        whole = whole + Expr(part) * Expr(left);
        apart.push_back(part);
      }
      parts_of[var.id] = whole;
    }
    *vars = std::move(apart);
  }
  EachExpr(fold, [&](Expr& expr) {
    expr = Substitute(expr, [&](const IndexVar& var) {
      const auto parts = parts_of.find(var.id);
      return parts == parts_of.end() ? Expr() : parts->second;
    });
  });
  return fold;
}

std::optional<Affine> PositionOf(const Memory& memory, const Expr& body, int buffer) {
  std::optional<Affine> position;
  for (const FlatLoad& load : memory.Loads(body)) {
    if (load.buffer != buffer) continue;
    if (position && position != load.position) return std::nullopt;
    position = load.position;
  }
  return position;
}

}  // namespace

// Nothing if the fold is not of whole rows of what the map makes, each element once.
std::optional<Piece> Fuser::WithSumOfRows(const Piece& map, const Piece& sum) const {
  if (!sum.fold || !sum.statistics.empty() || !sum.inside.empty() || !sum.also.empty() || sum.sequence >= 0 ||
      !sum.looked_up.empty() || sum.fold->op > ReduceOp::kMin || !IsPlain(memory_, sum) ||
      LoadsBuffer(sum.fold->finish, map.buffer))
    return std::nullopt;
  auto position = PositionOf(memory_, sum.fold->body, map.buffer);
  auto row = position ? InDimensionsOf(map, *position, sum) : std::nullopt;
  if (!row) return std::nullopt;
  position = PositionOf(memory_, row->fold->body, map.buffer);
  // Its dimensions in the order in which the map's elements lie.
  std::vector<IndexVar> space = row->space, kept, rows;
  const std::vector<IndexVar> over = row->fold->over;
  space.insert(space.end(), over.begin(), over.end());
  std::ranges::stable_sort(space, std::greater(), [&](const IndexVar& var) { return position->of(var); });
  if (over.empty() || *position != OwnPosition(space)) return std::nullopt;
  // A norm's dimensions stay as they are.
  const bool is_norm = !map.statistics.empty();
  if (is_norm && Extents(space) != Extents(map.space)) return std::nullopt;
  auto norm = is_norm ? std::optional(map) : OverSpace(map, space);
  if (!norm) return std::nullopt;
  row->fold->over.clear();
  std::vector<int> axes;
  for (std::size_t d = 0; d < space.size(); ++d) {
    const bool folded = std::ranges::find(over, space[d].id, &IndexVar::id) != over.end();
    if (folded) axes.push_back(static_cast<int>(d));
    if (!folded) kept.push_back(space[d]);
    (folded ? row->fold->over : rows).push_back(norm->space[d]);
  }
  if (OwnPosition(kept) != OwnPosition(row->space) || (is_norm && axes != map.axes)) return std::nullopt;
  norm->axes = std::move(axes);
  row->space = rows;
  EachExpr(*row, [&](Expr& expr) {
    expr = InIndices(expr, space, norm->space);
    expr = ReplaceLoads(expr, [&](const ExprNode& load) {
      return memory_.Root(load.buffer) == map.buffer ? AsKept(memory_, map.buffer, norm->value) : Expr();
    });
  });
  Piece also;
  also.buffer = sum.buffer;
  also.space = rows;
  also.value = Load(sum.buffer, {Expr(0)}, ScalarTypeOf(memory_.graph().buffers()[Id(sum.buffer)].dtype));
  norm->statistics.push_back(std::move(*row));
  norm->also.push_back(std::move(also));
  return IsPlain(memory_, *norm) ? std::move(norm) : std::nullopt;
}

}  // namespace hone::expert
