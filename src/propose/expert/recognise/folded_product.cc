// A fold over one dimension of a matrix product, or the logarithm of its sum of exponentials, behind whatever makes
// scores of the products: matmul_reduce.
#include <algorithm>
#include <cmath>

#include "propose/expert/recognise/recognise.h"

namespace hone::expert::recogniser_folded_product {

namespace {

// A factor of a product's terms without the number that it is multiplied with, which `times` is then, too: that goes
// behind the sum.
Expr WithoutNumber(const Expr& factor, double& times) {
  if (factor->kind != Expr::Kind::kBinary || factor->binary != BinaryOp::kMul) return factor;
  for (const std::size_t one : {0, 1}) {
    const auto number = ConstantNumber(factor->operands[one]);
    if (!number || !std::isfinite(*number)) continue;
    times *= *number;
    return WithoutNumber(factor->operands[1 - one], times);
  }
  return factor;
}

// In as few dimensions as what it reads allows: rows of several dimensions are rows, not batches of them.
Piece InFewDimensions(const Memory& memory, const Piece& piece) {
  Piece alone = piece;
  alone.inside.clear();
  if (!IsPlain(memory, alone) || !IsPlain(memory, piece.inside[0])) return piece;
  Piece merged = piece;
  MergeDimensions(memory, merged);
  return merged;
}

std::optional<dsl::Statement> RecogniseFoldedProduct(Names& names, const Piece& around) {
  const Memory& memory = names.memory();
  if (around.inside.size() != 1 || !around.fold || around.fold->over.size() != 1 || !around.inside[0].fold)
    return std::nullopt;
  const Piece piece = InFewDimensions(memory, around);
  const Piece& product = piece.inside[0];
  const IndexVar n = piece.fold->over[0];
  if (product.fold->over.size() != 1 || product.fold->body->operands.size() != 2) return std::nullopt;
  const IndexVar k = product.fold->over[0];
  std::vector<FlatLoad> sides;  // what stays, what the fold goes along
  double times = 1;
  for (const Expr& factor : product.fold->body->operands) {
    const Expr side = WithoutNumber(factor, times);
    if (side->kind != Expr::Kind::kLoad || !memory.Position(*side)) return std::nullopt;
    sides.push_back({memory.Root(side->buffer), memory.Position(*side), side->type});
  }
  if (sides[0].position->of(n) != 0) std::swap(sides[0], sides[1]);
  const Affine &stays = *sides[0].position, &passes = *sides[1].position;
  if (stays.of(n) != 0 || passes.of(n) == 0 || stays.of(k) == 0 || passes.of(k) == 0) return std::nullopt;
  if (piece.space.empty() || stays.of(piece.space.back()) == 0 || passes.of(piece.space.back()) != 0)
    return std::nullopt;

  const IndexVar m = piece.space.back();
  const std::vector<IndexVar> batch(piece.space.begin(), piece.space.end() - 1);
  const auto a = names.Matrix(sides[0].buffer, stays, batch, m, k),
             b = names.Matrix(sides[1].buffer, passes, batch, k, n);
  if (!a || !b) return std::nullopt;
  dsl::Statement statement;
  statement.family = "matmul_reduce";
  Expr end = piece.fold->finish;
  statement.variant = FoldWord(piece.fold->op);
  if (!piece.statistics.empty()) {
    const auto of_log_sum = EndOfLogSum(piece);
    if (!of_log_sum) return std::nullopt;
    statement.variant = "logsumexp";
    end = *of_log_sum;
  }
  statement.operands = {dsl::Name(*a), dsl::Name(*b)};
  statement.target_shape = Extents(piece.space);
  const Expr made = times == 1 ? product.fold->finish
                               : ReplaceValue(product.fold->finish, kIt, Value(kIt, ScalarType::kReal) * Expr(times));
  const auto with_product = [&](const Expr& expr) {
    return ReplaceLoads(
        expr, [&](const ExprNode& load) { return memory.Root(load.buffer) == product.buffer ? made : Expr(); });
  };
  const Expr score = with_product(piece.fold->body);
  if (!IsValue(score, kIt)) {
    std::vector<IndexVar> places = piece.space;
    places.push_back(n);
    auto term = names.Term(score, places, {.values = {{kIt, dsl::It()}}, .lets = {}});
    if (!term) return std::nullopt;
    statement.lets.push_back({names.Fresh("score"), std::move(*term), {}});
  }
  if (!AddEpilogue(names, statement, end, piece.space)) return std::nullopt;
  for (const Piece& one : piece.also) {  // the extreme beside its place, which is of the same scores
    auto value = names.Term(one.fold->finish, piece.space, {.values = {{kIt, dsl::It()}}, .lets = {}});
    if (!value) return std::nullopt;
    AddAlso(statement, std::move(*value));
  }
  return statement;
}

}  // namespace

HONE_ROW(Recogniser){.name = "folded_product", .form = Form::kAround, .place = 30, .recognise = RecogniseFoldedProduct};

}  // namespace hone::expert::recogniser_folded_product
