// Products one of whose factors a number scaled before, as queries are before they meet their keys: the number goes
// behind the sum, and nothing is written for it.
#include <algorithm>
#include <cmath>
#include <utility>

#include "propose/expert/normalise.h"
#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

// x of x * c and x / c, and the number that it is scaled by, where it is kept as `type`. Behind a sum, which has 32
// bits, a number overflows no earlier than before it. What a type does not hold is something else, though: whole
// numbers wrap, and reals of few bits end soon.
std::optional<std::pair<Expr, Expr>> ScaledByNumber(const Expr& e, DType type) {
  constexpr double kMost = 1024;
  if (!IsFloat(type) || Bytes(type) == 1) return std::nullopt;
  for (const BinaryOp op : {BinaryOp::kMul, BinaryOp::kDiv}) {
    if (!IsBinary(e, op) || e->operands[1]->kind != Expr::Kind::kConst || e->operands[0]->kind != Expr::Kind::kLoad)
      continue;
    const double number = std::abs(NumberOf(*e->operands[1]));
    if (number < 1 / kMost || number == 1 || number > kMost) continue;
    if (type == DType::kF16 && (number > 1) == (op == BinaryOp::kMul)) continue;
    const Expr it = Value(kIt, ScalarType::kReal);
    return std::pair(e->operands[0], op == BinaryOp::kMul ? it * e->operands[1] : it / e->operands[1]);
  }
  return std::nullopt;
}

}  // namespace

std::optional<WithWeights> WithNumbersBehind(const Memory& memory, const Piece& product,
                                             const std::function<const Piece*(int buffer)>& map) {
  WithWeights made{product, {}};
  Fold& fold = *made.piece.fold;
  if (!IsBinary(fold.body, BinaryOp::kMul)) return std::nullopt;
  std::vector<Expr> factors = fold.body->operands;
  Expr behind = Value(kIt, ScalarType::kReal);
  for (Expr& factor : factors) {
    const Piece* before = factor->kind == Expr::Kind::kLoad ? map(memory.Root(factor->buffer)) : nullptr;
    const auto element = before != nullptr ? ElementAt(memory, *before, *factor) : std::nullopt;
    const DType type =
        before != nullptr ? memory.graph().buffers()[static_cast<std::size_t>(before->buffer)].dtype : DType::kF32;
    const auto scaled = element ? ScaledByNumber(*element, type) : std::nullopt;
    // Of halves that a map rounds after it multiplied a product would be one of what is twice as long.
    if (!scaled || Bytes(memory.KeptAs(memory.Root(scaled->first->buffer))) > Bytes(memory.KeptAs(before->buffer)))
      continue;
    if (std::ranges::find(made.maps, before->buffer) == made.maps.end()) made.maps.push_back(before->buffer);
    factor = scaled->first;
    behind = ReplaceValue(scaled->second, kIt, behind);
  }
  if (made.maps.empty()) return std::nullopt;
  fold.body = factors[0] * factors[1];
  fold.finish = Simplify(ReplaceValue(fold.finish, kIt, behind));
  return IsPlain(memory, made.piece) ? std::optional(std::move(made)) : std::nullopt;
}

}  // namespace hone::expert
