// The sum of a row of scores, as a loss that smooths its labels has it beside their logarithm: a product of the row
// with the sum of the columns. Once through the columns, instead of another product of them all.
//
//   sum_n (a * (sum_k x[k] * w[k, n]) + b) = a * (sum_k x[k] * (sum_n w[k, n])) + b * (how many n)
#include <utility>

#include "propose/expert/line.h"
#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {

std::optional<SummedProduct> SumOfProduct(const Memory& memory, const Piece& sum, int buffer) {
  const Piece& product = sum.inside[0];
  if (!sum.fold || sum.fold->op != ReduceOp::kSum || sum.fold->over.size() != 1 || !sum.statistics.empty() ||
      product.fold->over.size() != 1 || product.fold->body->operands.size() != 2)
    return std::nullopt;
  const std::vector<IndexVar>& columns = sum.fold->over;
  const auto line = LineOf(ReplaceLoads(sum.fold->body, [&](const ExprNode& load) {
    return memory.Root(load.buffer) == product.buffer ? product.fold->finish : Expr();
  }));
  if (!line || !line->slope || Varies(line->slope, columns) || (line->rest && Varies(line->rest, columns)))
    return std::nullopt;
  Expr row = product.fold->body->operands[0], column = product.fold->body->operands[1];
  if (Varies(row, columns)) std::swap(row, column);
  if (row->kind != Expr::Kind::kLoad || column->kind != Expr::Kind::kLoad || Varies(row, columns) ||
      Varies(column, sum.space))
    return std::nullopt;

  SummedProduct made;
  const IndexVar k = NewIndex(product.fold->over[0].extent), n = NewIndex(columns[0].extent);
  made.columns.buffer = buffer;
  made.columns.space = {k};
  made.columns.fold = Fold{.over = {n},
                           .op = ReduceOp::kSum,
                           .body = InIndices(InIndices(column, product.fold->over, {k}), columns, {n}),
                           .finish = Value(kIt, ScalarType::kReal)};
  made.rows = sum;
  made.rows.inside.clear();
  const IndexVar along = NewIndex(k.extent);
  made.rows.fold->over = {along};
  made.rows.fold->body = InIndices(row, product.fold->over, {along}) * Load(buffer, {Expr(along)}, ScalarType::kReal);
  made.rows.fold->finish = ReplaceValue(sum.fold->finish, kIt, SumOf(*line, n.extent));
  return made;
}

}  // namespace hone::expert
