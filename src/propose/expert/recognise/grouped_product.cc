// Each row of a matrix times the matrix of its group, the group being how many of some ends are at or before the row,
// but the last one at most: grouped_matmul.
#include <algorithm>

#include "propose/expert/recognise/recognise.h"

namespace hone::expert::recogniser_grouped_product {
namespace {

// The load of the ends, over the index of the piece's fold; nothing if the piece does not count them.
Expr EndsOf(const Piece& group) {
  if (!group.fold || group.fold->op != ReduceOp::kSum || group.fold->over.size() != 1 || group.space.size() != 1)
    return {};
  const IndexVar over = group.fold->over[0];
  const Expr &finish = group.fold->finish, passed = WithoutWholeCasts(group.fold->body);
  const bool to_last = finish->kind == Expr::Kind::kBinary && finish->binary == BinaryOp::kMin &&
                       IsValue(finish->operands[0], kIt) && finish->operands[1]->kind == Expr::Kind::kConst &&
                       NumberOf(*finish->operands[1]) == static_cast<double>(over.extent - 1);
  if (!to_last || passed->kind != Expr::Kind::kBinary || passed->binary != BinaryOp::kLessEqual) return {};
  const Expr end = WithoutWholeCasts(passed->operands[0]);
  if (end->kind != Expr::Kind::kLoad || !IsIndex(passed->operands[1], group.space[0])) return {};
  return end;
}

std::optional<dsl::Statement> OneGroupedProduct(Names& names, const Piece& piece) {
  const Memory& memory = names.memory();
  if (piece.inside.size() != 1 || !piece.fold || piece.fold->over.size() != 1 || piece.space.size() != 2 ||
      piece.fold->op != ReduceOp::kSum || piece.fold->body->operands.size() != 2)
    return std::nullopt;
  const Piece& group = piece.inside[0];
  const Expr end = EndsOf(group);
  const auto end_at = end ? memory.Position(*end) : std::nullopt;
  if (!end_at) return std::nullopt;

  const IndexVar m = piece.space[0], n = piece.space[1], k = piece.fold->over[0],
                 g = NewIndex(group.fold->over[0].extent);
  Expr left = piece.fold->body->operands[0], right = piece.fold->body->operands[1];
  if (left->kind != Expr::Kind::kLoad || right->kind != Expr::Kind::kLoad) return std::nullopt;
  if (!memory.Position(*left)) std::swap(left, right);
  // The right one as if the group were an index of its own.
  std::vector<Expr> at = right->operands;
  for (Expr& index : at) {
    const Expr looked_up = WithoutWholeCasts(index);
    if (looked_up->kind == Expr::Kind::kLoad && memory.Root(looked_up->buffer) == group.buffer &&
        looked_up->operands.size() == 1 && IsIndex(looked_up->operands[0], m))
      index = Expr(g);
  }
  const auto a_at = memory.Position(*left), b_at = memory.Position(*Load(right->buffer, at, right->type));
  if (!a_at || !b_at || a_at->of(m) == 0 || a_at->of(k) == 0 || a_at->of(n) != 0 || b_at->of(g) == 0 ||
      b_at->of(k) == 0 || b_at->of(n) == 0 || b_at->of(m) != 0)
    return std::nullopt;

  const auto a = names.Matrix(memory.Root(left->buffer), *a_at, {}, m, k),
             b = names.Matrix(memory.Root(right->buffer), *b_at, {g}, k, n),
             ends = names.Operand(memory.Root(end->buffer), *end_at, {group.fold->over[0]});
  if (!a || !b || !ends) return std::nullopt;
  dsl::Statement statement;
  statement.family = "grouped_matmul";
  statement.operands = {dsl::Name(*a), dsl::Name(*b), dsl::Name(*ends)};
  statement.target_shape = Extents(piece.space);
  if (!AddEpilogue(names, statement, piece.fold->finish, piece.space)) return std::nullopt;
  return statement;
}

// One, or two of the same groups, of which the end of one reads the other.
std::optional<dsl::Statement> RecogniseGroupedProduct(Names& names, const Piece& piece) {
  if (piece.inside.size() != 2) return OneGroupedProduct(names, piece);
  if (!piece.fold || !piece.inside[1].fold) return std::nullopt;
  Piece last = piece;
  last.inside.pop_back();
  return RecogniseTogether(names, std::move(last), piece.inside[1], OneGroupedProduct);
}

}  // namespace

HONE_ROW(Recogniser){
    .name = "grouped_product", .form = Form::kAround, .place = 40, .recognise = RecogniseGroupedProduct};

}  // namespace hone::expert::recogniser_grouped_product
