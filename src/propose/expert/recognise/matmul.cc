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
  const auto view = [&](int buffer, const Affine& position, IndexVar row, IndexVar column) {
    std::vector<IndexVar> vars;
    // A batch dimension that this operand does not have is left to broadcasting.
    for (const auto& var : batch) vars.push_back(position.of(var) == 0 ? NewIndex(1) : var);
    vars.push_back(row);
    vars.push_back(column);
    while (vars.size() > 2 && vars[0].extent == 1) vars.erase(vars.begin());
    std::vector<std::int64_t> strides;
    for (const auto& var : vars) strides.push_back(position.of(var));
    return names.View(buffer, Extents(vars), strides, position.constant, Broadcast::kForbidden);
  };
  const auto a_name = view(a_buffer, *a, piece.space[m], k), b_name = view(b_buffer, *b, k, n);
  if (!a_name || !b_name) return std::nullopt;
  dsl::Statement statement;
  statement.family = "matmul";
  statement.operands = {dsl::Name(*a_name), dsl::Name(*b_name)};
  statement.target_shape = Extents(piece.space);
  if (!AddEpilogue(names, statement, fold.finish, piece.space)) return std::nullopt;
  return statement;
}

}  // namespace hone::expert
