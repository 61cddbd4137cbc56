// result[batch.., m, n] = sum over k of a[batch.., m, k] * b[batch.., k, n]: matmul.
#include "propose/expert/recognise/recognise.h"

namespace hone::expert {

std::optional<dsl::Statement> RecogniseMatmul(Names& names, const Piece& piece) {
  if (!piece.fold) return std::nullopt;
  const Fold& fold = *piece.fold;
  if (fold.op != ReduceOp::kSum || fold.over.size() != 1 || fold.body->kind != Expr::Kind::kBinary ||
      fold.body->binary != BinaryOp::kMul)
    return std::nullopt;
  const Expr &left = fold.body->operands[0], &right = fold.body->operands[1];
  if (left->kind != Expr::Kind::kLoad || right->kind != Expr::Kind::kLoad) return std::nullopt;
  const Memory& memory = names.memory();
  auto a = memory.Position(*left), b = memory.Position(*right);
  int a_buffer = memory.Root(left->buffer), b_buffer = memory.Root(right->buffer);
  if (!a || !b || piece.space.size() < 2) return std::nullopt;
  const IndexVar k = fold.over[0], n = piece.space.back();
  if (b->of(n) == 0) {
    std::swap(a, b);
    std::swap(a_buffer, b_buffer);
  }
  if (b->of(n) == 0 || a->of(n) != 0 || a->of(k) == 0 || b->of(k) == 0) return std::nullopt;
  // The dimensions before n: first those of both (batches), then one of a alone.
  const std::size_t m = piece.space.size() - 2;
  if (a->of(piece.space[m]) == 0 || b->of(piece.space[m]) != 0) return std::nullopt;
  const std::vector<IndexVar> batch(piece.space.begin(), piece.space.begin() + static_cast<std::ptrdiff_t>(m));
  const auto a_name = names.Matrix(a_buffer, *a, batch, piece.space[m], k),
             b_name = names.Matrix(b_buffer, *b, batch, k, n);
  if (!a_name || !b_name) return std::nullopt;
  dsl::Statement statement;
  statement.family = "matmul";
  statement.operands = {dsl::Name(*a_name), dsl::Name(*b_name)};
  statement.target_shape = Extents(piece.space);
  if (!AddEpilogue(names, statement, fold.finish, piece.space)) return std::nullopt;
  return statement;
}

}  // namespace hone::expert

namespace hone::expert::recogniser_matmul {

HONE_ROW(Recogniser){.name = "matmul", .form = Form::kMerged, .place = 10, .recognise = RecogniseMatmul};

}  // namespace hone::expert::recogniser_matmul
