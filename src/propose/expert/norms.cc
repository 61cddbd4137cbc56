// A map that reads folds over some of its own dimensions, all over the same ones and read by nobody else: a norm. One
// pass over rows that are still in cache when the map reads them again.
#include <algorithm>
#include <set>

#include "graph/op.h"
#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"
#include "propose/expert/sides.h"
#include "propose/expert/unflatten.h"

namespace hone::expert {
namespace {

std::optional<std::vector<Expr>> FoldedIndices(const Piece& fold, const std::vector<IndexVar>& axes) {
  if (ElementCount(Extents(fold.fold->over)) != ElementCount(Extents(axes))) return std::nullopt;
  const auto indices = Unflatten(OwnPosition(axes), axes, Extents(fold.fold->over));
  if (!indices) return std::nullopt;
  std::vector<Expr> exprs;
  for (const auto& index : *indices) exprs.push_back(ToExpr(index, axes));
  return exprs;
}

// The fold written over the map's space: its own dimensions are those of the map at which it is read, its folded ones
// the rest. `kept` says which are which; the first fold decides. `stored`: it is written as well, in the order of the
// map's dimensions.
std::optional<Piece> OverSpace(const std::vector<Piece>& pieces, const Piece& fold, const Piece& map,
                               const std::vector<FlatLoad>& map_loads, const std::set<std::size_t>& members,
                               bool stored, std::optional<std::vector<bool>>& kept) {
  // Where it is read: by the map directly, or by another member that the map reads, whose space is the same kind of
  // thing; by a norm's own folds at the own position.
  std::optional<Affine> position;
  for (const auto& load : map_loads) {
    if (load.buffer != fold.buffer) continue;
    if (position && *position != load.position) return std::nullopt;
    position = load.position;
  }
  for (auto member = members.begin(); member != members.end() && !position; ++member) {
    for (const auto& load : map_loads) {
      if (load.buffer == pieces[*member].buffer && Extents(pieces[*member].space) == Extents(fold.space))
        position = load.position;
    }
  }
  if (!position && kept) {
    std::vector<IndexVar> rows;
    for (std::size_t d = 0; d < map.space.size(); ++d) {
      if ((*kept)[d]) rows.push_back(map.space[d]);
    }
    position = OwnPosition(rows);
  }
  const auto indices = position ? Unflatten(*position, map.space, Extents(fold.space)) : std::nullopt;
  if (!indices) return std::nullopt;
  // Each dimension of the map is either one that the fold keeps, with all its values, or one that it folds.
  std::vector<bool> keeps(map.space.size(), false);
  std::int64_t rows = 1;
  for (std::size_t d = 0; d < map.space.size(); ++d) {
    for (const auto& index : *indices) keeps[d] = keeps[d] || index.of(map.space[d]) != 0;
    if (keeps[d]) rows *= map.space[d].extent;
  }
  if (rows != ElementCount(Extents(fold.space)) || (kept && *kept != keeps)) return std::nullopt;
  kept = keeps;
  std::vector<IndexVar> axes;
  for (std::size_t d = 0; d < map.space.size(); ++d) {
    if (!keeps[d]) axes.push_back(map.space[d]);
  }
  // The folded indices in the map's: the same extents, or one walk over all of them.
  const auto folded = FoldedIndices(fold, axes);
  if (!folded) return std::nullopt;
  Piece statistic = fold;
  EachExpr(statistic, [&](Expr& expr) {
    expr = Substitute(expr, [&](const IndexVar& var) -> Expr {
      for (std::size_t d = 0; d < fold.space.size(); ++d) {
        if (fold.space[d].id == var.id) return ToExpr((*indices)[d], map.space);
      }
      for (std::size_t d = 0; d < fold.fold->over.size(); ++d) {
        if (fold.fold->over[d].id == var.id) return (*folded)[d];
      }
      return {};
    });
  });
  statistic.space.clear();
  for (std::size_t d = 0; d < map.space.size(); ++d) {
    if (keeps[d]) statistic.space.push_back(map.space[d]);
  }
  statistic.fold->over = axes;
  if (stored && *position != OwnPosition(statistic.space)) return std::nullopt;
  return statistic;
}

}  // namespace

std::optional<Norm> NormOf(const Memory& memory, const std::vector<Piece>& pieces, std::size_t map_at,
                           const std::function<int(int buffer)>& maker,
                           const std::function<std::vector<std::size_t>(int buffer)>& readers, bool stores) {
  std::optional<Piece> with_sides;
  if (const Piece& as_it_is = pieces[map_at]; !IsPlain(memory, as_it_is)) {
    const auto is_fold = [&](const FlatLoad& load) {
      const int made = maker(load.buffer);
      return made >= 0 && pieces[static_cast<std::size_t>(made)].fold;
    };
    if (!as_it_is.is_map() || std::ranges::none_of(memory.Loads(as_it_is.value), is_fold)) return std::nullopt;
    with_sides = WithSides(memory, as_it_is);
    if (!with_sides || !IsPlain(memory, *with_sides)) return std::nullopt;
  }
  const Piece& map = with_sides ? *with_sides : pieces[map_at];
  // The folds that the map reads, and those that these read, as long as nobody outside does.
  std::set<std::size_t> members;
  const std::function<void(const Piece&)> collect = [&](const Piece& reader) {
    EachExpr(reader, [&](const Expr& expr) {
      for (const auto& load : memory.Loads(expr)) {
        const int made = maker(load.buffer);
        if (made < 0 || static_cast<std::size_t>(made) >= map_at || (memory.IsOutput(load.buffer) && !stores)) continue;
        const Piece& fold = pieces[static_cast<std::size_t>(made)];
        if (fold.fold && fold.statistics.empty() && fold.inside.empty() && fold.fold->op <= ReduceOp::kMin &&
            ElementCount(Extents(fold.space)) < ElementCount(Extents(map.space)) &&  // or it is of no row
            !IsContraction(memory, *fold.fold) && IsPlain(memory, fold) && IsOneWindowOfEach(fold) &&
            members.insert(static_cast<std::size_t>(made)).second)
          collect(fold);
      }
    });
  };
  collect(map);
  // Drop members that somebody outside reads, until none is left. What is stored may be read behind the map.
  std::set<std::size_t> stored;
  for (bool again = true; again;) {
    again = false;
    for (const auto member : members) {
      const auto outside = readers(pieces[member].buffer);
      const bool alone = std::all_of(outside.begin(), outside.end(),
                                     [&](std::size_t reader) { return reader == map_at || members.count(reader) > 0; });
      if (memory.IsOutput(pieces[member].buffer) || !alone) stored.insert(member);
      if (alone || (stores && std::all_of(outside.begin(), outside.end(), [&](std::size_t reader) {
                      return reader >= map_at || members.count(reader) > 0;
                    })))
        continue;
      members.erase(member);
      again = true;
      break;
    }
  }
  if (members.empty()) return std::nullopt;

  Norm norm{map, {members.begin(), members.end()}};
  std::vector<FlatLoad> map_loads;
  EachExpr(map, [&](const Expr& expr) {
    for (auto& load : memory.Loads(expr)) map_loads.push_back(std::move(load));
  });
  std::optional<std::vector<bool>> kept;
  if (!map.axes.empty()) {
    kept.emplace(map.space.size(), true);
    for (const int axis : map.axes) (*kept)[static_cast<std::size_t>(axis)] = false;
  }
  std::vector<Piece> statistics;  // those that others read come first
  for (const auto member : members) {
    auto statistic = OverSpace(pieces, pieces[member], map, map_loads, members, stored.contains(member), kept);
    if (!statistic) return std::nullopt;
    if (stored.contains(member)) {
      const int made = statistic->buffer;
      Piece row;
      row.buffer = made;
      row.space = statistic->space;
      row.value = Load(made, {Expr(0)}, ScalarTypeOf(memory.graph().buffers()[static_cast<std::size_t>(made)].dtype));
      norm.piece.also.push_back(std::move(row));
    }
    statistics.push_back(std::move(*statistic));
  }
  norm.piece.statistics.insert(norm.piece.statistics.begin(), std::make_move_iterator(statistics.begin()),
                               std::make_move_iterator(statistics.end()));
  norm.piece.axes.clear();
  for (std::size_t d = 0; d < map.space.size(); ++d) {
    if (!(*kept)[d]) norm.piece.axes.push_back(static_cast<int>(d));
  }
  if (norm.piece.axes.empty()) return std::nullopt;
  // Reads of a statistic carry no position any more.
  EachExpr(norm.piece, [&](Expr& expr) {
    expr = ReplaceLoads(expr, [&](const ExprNode& load) -> Expr {
      for (const auto member : members) {
        if (pieces[member].buffer == memory.Root(load.buffer)) return Load(pieces[member].buffer, {Expr(0)}, load.type);
      }
      return {};
    });
  });
  return norm;
}

namespace {

bool IsOfRowAlone(const Piece& norm, const Expr& expr) {
  bool alone = HasLoad(expr);
  Visit(expr, [&](const ExprNode& node) {
    alone &= node.kind != Expr::Kind::kIndex;
    if (node.kind == Expr::Kind::kLoad)
      alone &= std::any_of(norm.statistics.begin(), norm.statistics.end(),
                           [&](const Piece& one) { return one.buffer == node.buffer; });
  });
  return alone;
}

std::set<int> BuffersIn(const Piece& norm) {
  std::set<int> buffers;
  EachExpr(norm, [&](const Expr& expr) {
    Visit(expr, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad) buffers.insert(node.buffer);
    });
  });
  return buffers;
}

}  // namespace

void DropShifts(Piece& norm) {
  for (std::size_t i = 0; i < norm.statistics.size(); ++i) {
    const Fold& most = *norm.statistics[i].fold;
    if (most.op != ReduceOp::kMax || !IsValue(most.finish, kIt) || !IsBinary(most.body, BinaryOp::kSub) ||
        !IsOfRowAlone(norm, most.body->operands[1]))
      continue;
    const Expr x = most.body->operands[0], largest = Load(norm.statistics[i].buffer, {Expr(0)}, ScalarType::kReal);
    const Expr twice = most.body - largest, once = x - largest;
    Piece without = norm;
    EachExpr(without, [&](Expr& expr) {
      expr = Rewrite(expr, [&](const Expr& e) { return SameExpr(e, twice) ? once : Expr(); });
    });
    // Who else reads the largest wants it shifted.
    bool alone = true;
    EachExpr(without, [&](const Expr& expr) {
      const Expr others = Rewrite(expr, [&](const Expr& e) { return SameExpr(e, once) ? Expr(0.0) : Expr(); });
      Visit(others, [&](const ExprNode& node) {
        alone &= node.kind != Expr::Kind::kLoad || node.buffer != norm.statistics[i].buffer;
      });
    });
    if (!alone || !norm.also.empty()) continue;
    without.statistics[i].fold->body = x;
    norm = std::move(without);
    const std::set<int> read = BuffersIn(norm);
    std::erase_if(norm.statistics, [&](const Piece& one) { return !read.contains(one.buffer); });
    i = static_cast<std::size_t>(-1);
  }
}

bool IsOfRow(const Piece& norm, const Piece& also) {
  return !norm.statistics.empty() && ElementCount(Extents(also.space)) != ElementCount(Extents(norm.space));
}

}  // namespace hone::expert
