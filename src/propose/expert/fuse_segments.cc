// Rows that are added up by segments which follow one another, bags of looked-up rows as EmbeddingBag has them: a
// search among the segments' ends says of which one each row is, and a fold takes the rows of its own. It has them from
// where the segment before ends to where its own does, so that nobody searches, and nobody looks at the others' rows.
#include <algorithm>

#include "expr/fold.h"
#include "propose/expert/fuser.h"
#include "propose/expert/normalise.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

Expr WithoutCasts(const Expr& e) {
  return e->kind == Expr::Kind::kCast && e->type == ScalarType::kInt && e->operands[0]->type != ScalarType::kReal
             ? WithoutCasts(e->operands[0])
             : e;
}

// What a negative number would be counted from the end for, as places are; none is here.
Expr WithoutWrapping(const Expr& e) {
  if (e->kind != Expr::Kind::kSelect) return e;
  const Expr &condition = e->operands[0], &otherwise = e->operands[2];
  const bool wraps = IsBinary(condition, BinaryOp::kLess) && SameExpr(condition->operands[0], otherwise) &&
                     ConstantNumber(condition->operands[1]) == 0;
  return wraps ? otherwise : e;
}

}  // namespace

// The index at whose places, one after the other, a row of numbers is read; nothing of what is read elsewhere.
std::optional<IndexVar> Fuser::ReadAlong(const Expr& load) const {
  if (load->kind != Expr::Kind::kLoad) return std::nullopt;
  const auto at = memory_.Position(*load);
  if (!at || at->constant != 0 || at->coefficient.size() != 1) return std::nullopt;
  const auto [id, step] = *at->coefficient.begin();
  if (step != 1) return std::nullopt;
  std::optional<IndexVar> along;
  Visit(load, [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kIndex && node.index.id == id) along = node.index;
  });
  return along;
}

// What is read along an index, where a map of nothing but places or numbers makes it; else what is read.
Expr Fuser::KnownPlace(const Expr& e) const {
  if (e->kind != Expr::Kind::kLoad) return e;
  const int maker = maker_[Id(memory_.Root(e->buffer))];
  if (maker < 0) return e;
  const Piece& map = pieces_[static_cast<std::size_t>(maker)];
  if (!map.is_map() || HasLoad(map.value)) return e;
  if (IsConst(map.value)) return map.value;
  const auto along = ReadAlong(e);
  if (!along || map.space.size() != 1) return e;
  return Simplify(
      Substitute(map.value, [&](const IndexVar& var) { return var.id == map.space[0].id ? Expr(*along) : Expr(); }));
}

// Whether the node that makes a buffer takes the numbers that it searches for sorted: then its places are segments.
bool Fuser::SearchesSorted(int buffer) const {
  for (const auto& stage : memory_.graph().stages()) {
    if (stage.buffer != buffer || stage.node < 0) continue;
    const std::string& op = memory_.graph().problem().nodes[static_cast<std::size_t>(stage.node)].op;
    return op.starts_with("aten.searchsorted.") || op.starts_with("aten.bucketize.");
  }
  return false;
}

// Where the rows of the segment that a condition asks for lie, of those that are folded. Nothing if it asks for
// something else.
std::optional<Fuser::RowsOfSegment> Fuser::RowsOf(const Expr& condition, const std::vector<IndexVar>& over) const {
  if (!IsBinary(condition, BinaryOp::kEqual)) return std::nullopt;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const Expr own = WithoutCasts(condition->operands[side]),
               number = WithoutCasts(WithoutWrapping(WithoutCasts(condition->operands[1 - side])));
    const auto row = own->kind == Expr::Kind::kIndex ? ReadAlong(number) : std::nullopt;
    if (!row) continue;
    const int searched = memory_.Root(number->buffer), maker = maker_[Id(searched)];
    if (maker < 0 || !SearchesSorted(searched)) continue;
    const Piece& search = pieces_[static_cast<std::size_t>(maker)];
    if (std::ranges::none_of(over, [&](const IndexVar& var) { return var.id == row->id; }) || !search.fold ||
        search.space.size() != 1 || search.fold->over.size() != 1 || search.fold->op != ReduceOp::kSum ||
        !IsValue(WithoutCasts(search.fold->finish), kIt) || !search.statistics.empty() || !search.inside.empty())
      continue;
    // The number of a row's segment is how many ends lie before the row, or at it.
    const Expr passed = WithoutCasts(search.fold->body);
    const bool at_it = IsBinary(passed, BinaryOp::kLessEqual);
    if (!at_it && !IsBinary(passed, BinaryOp::kLess)) continue;
    const Expr end = WithoutCasts(passed->operands[0]), place = KnownPlace(WithoutCasts(passed->operands[1]));
    const IndexVar which = search.fold->over[0], segment = own->index;
    if (end->kind != Expr::Kind::kLoad || !UsesIndex(end, which.id) || UsesIndex(end, search.space[0].id) ||
        place->kind != Expr::Kind::kIndex || place->index.id != search.space[0].id || segment.extent > which.extent + 1)
      continue;
    const auto end_of = [&](const Expr& at) {
      return Substitute(end, [&](const IndexVar& var) { return var.id == which.id ? at : Expr(); }) +
             Expr(at_it ? 0 : 1);
    };
    RowsOfSegment rows{.row = *row, .begin = {}, .end = end_of(segment)};
    rows.begin = Select(Equal(Expr(segment), Expr(0)), Expr(0), end_of(Expr(segment) - Expr(1)));
    if (segment.extent > which.extent)
      rows.end = Select(Less(Expr(segment), Expr(which.extent)), rows.end, Expr(row->extent));
    return rows;
  }
  return std::nullopt;
}

// A fold of the rows of a segment by where they lie: how many there are, and whether any, is known from that. Null if
// it is another fold.
Expr Fuser::BySegment(const Expr& fold) const {
  if (IsArg(fold->reduce)) return {};
  const Expr body = fold->operands[0];
  Expr condition = WithoutCasts(body), value, otherwise;
  if (body->kind == Expr::Kind::kSelect) {
    condition = body->operands[0];
    value = KnownPlace(body->operands[1]);
    otherwise = body->operands[2];
  } else if (condition->type == ScalarType::kBool) {
    value = Cast(Expr::Bool(true), body->type);
    otherwise = Cast(Expr::Bool(false), body->type);
  }
  if (!value || ConstantNumber(otherwise) != IdentityOf(fold->reduce)) return {};
  const auto rows = RowsOf(condition, fold->over);
  if (!rows) return {};
  const Expr begin = Max(rows->begin, Expr(0)), end = Min(rows->end, Expr(rows->row.extent));
  if (fold->over.size() == 1 && IsConst(value)) {
    if (fold->reduce == ReduceOp::kAny) return And(value, Less(begin, end));
    if (fold->reduce == ReduceOp::kSum) return value * Cast(Max(end - begin, Expr(0)), value->type);
  }
  const Expr inside = And(LessEqual(rows->begin, Expr(rows->row)), Less(Expr(rows->row), rows->end));
  return Reduce(fold->reduce, fold->over,
                Select(inside, body->kind == Expr::Kind::kSelect ? body->operands[1] : value, otherwise));
}

void Fuser::TakeSegments() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    Piece& piece = pieces_[i];
    if (!known_[i].alive || piece.sequence >= 0 || !piece.inside.empty() || !piece.statistics.empty()) continue;
    bool changed = false;
    const auto by_segment = [&](const Expr& expr) {
      return Rewrite(expr, [&](const Expr& e) -> Expr {
        if (e->kind != Expr::Kind::kReduce) return {};
        const Expr made = BySegment(e);
        changed |= static_cast<bool>(made);
        return made;
      });
    };
    if (piece.fold) {
      const Expr made = BySegment(Reduce(piece.fold->op, piece.fold->over, piece.fold->body));
      if (!made) continue;
      changed = true;
      if (made->kind == Expr::Kind::kReduce) {
        piece.fold->body = made->operands[0];
      } else {
        piece.value = ReplaceValue(piece.fold->finish, kIt, made);
        piece.fold.reset();
      }
    } else {
      piece.value = by_segment(piece.value);
    }
    if (changed) Learn(i);
  }
  // Nobody asks any more for a row's segment, nor for places to search with.
  for (std::size_t i = pieces_.size(); i-- > 0;) {
    const bool unread = known_[i].alive && !memory_.IsOutput(pieces_[i].buffer) && Readers(pieces_[i].buffer).empty();
    if (unread && pieces_[i].also.empty() && pieces_[i].sequence < 0) Kill(i);
  }
}

}  // namespace hone::expert
