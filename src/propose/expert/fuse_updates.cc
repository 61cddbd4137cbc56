// What is written into an input: the state of a recurrence, say, of which a sum over rows is read beside.
#include <algorithm>
#include <iterator>
#include <vector>

#include "graph/op.h"
#include "propose/expert/fuser.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {

// Whether a map is written into an input.
bool Fuser::WritesInput(std::size_t map_at) const {
  const Piece& map = pieces_[map_at];
  if (!IsSimpleMap(map_at) || !memory_.IsOutput(map.buffer)) return false;
  const auto outputs = memory_.graph().problem().Outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o]->updates.empty() && memory_.Maker(o) == map.buffer) return true;
  }
  return false;
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

// Such a map and the sums of its rows as a norm, which stores both: what is written is not read again.
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
    if (map < 0 || !IsSimpleMap(Id(map)) || !known_[Id(map)].plain || memory_.IsOutput(read) ||
        readers_[Id(read)].size() != 1)
      continue;
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

// Nothing if the fold is not of whole rows of what the map makes, each element once.
std::optional<Piece> Fuser::WithSumOfRows(const Piece& map, const Piece& sum) const {
  if (!sum.fold || !sum.statistics.empty() || !sum.inside.empty() || !sum.also.empty() || sum.sequence >= 0 ||
      !sum.looked_up.empty() || sum.fold->op > ReduceOp::kMin || !IsPlain(memory_, sum) ||
      LoadsBuffer(sum.fold->finish, map.buffer))
    return std::nullopt;
  std::optional<Affine> position;
  for (const FlatLoad& load : memory_.Loads(sum.fold->body)) {
    if (load.buffer != map.buffer) continue;
    if (position && *position != *load.position) return std::nullopt;
    position = load.position;
  }
  if (!position) return std::nullopt;
  // Its dimensions in the order in which the map's elements lie.
  std::vector<IndexVar> space, rows;
  std::vector<std::size_t> places;
  for (const auto* vars : {&sum.space, &sum.fold->over}) {
    std::ranges::copy_if(*vars, std::back_inserter(space), [](const IndexVar& var) { return var.extent > 1; });
  }
  std::ranges::stable_sort(space, std::greater(), [&](const IndexVar& var) { return position->of(var); });
  if (*position != OwnPosition(space)) return std::nullopt;
  auto norm = OverSpace(map, space);
  if (!norm) return std::nullopt;
  const auto is_folded = [&](const IndexVar& var) {
    return std::ranges::find(sum.fold->over, var.id, &IndexVar::id) != sum.fold->over.end();
  };
  std::vector<IndexVar> over;
  for (std::size_t d = 0; d < space.size(); ++d) {
    if (is_folded(space[d])) norm->axes.push_back(static_cast<int>(d));
    (is_folded(space[d]) ? over : rows).push_back(space[d]);
  }
  if (over.empty() || OwnPosition(rows) != OwnPosition(sum.space)) return std::nullopt;
  Piece row = sum;
  EachExpr(row, [&](Expr& expr) {
    expr = Substitute(expr, [&](const IndexVar& var) { return var.extent == 1 ? Expr(0) : Expr(); });
    expr = ReplaceLoads(expr, [&](const ExprNode& load) {
      return memory_.Root(load.buffer) == map.buffer ? AsKept(memory_, map.buffer, norm->value) : Expr();
    });
  });
  row.space = rows;
  row.fold->over = over;
  const ScalarType type = ScalarTypeOf(memory_.graph().buffers()[Id(sum.buffer)].dtype);
  norm->statistics.push_back(std::move(row));
  Piece also;
  also.buffer = sum.buffer;
  also.space = rows;
  also.value = Load(sum.buffer, {Expr(0)}, type);
  norm->also.push_back(std::move(also));
  return IsPlain(memory_, *norm) ? std::move(norm) : std::nullopt;
}

}  // namespace hone::expert
