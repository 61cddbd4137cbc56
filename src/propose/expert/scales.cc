// Products whose factors were scaled before. A scale that is the same for every term of a sum goes behind the sum. Of
// reals of 8 bits, those of a row, of a column or of all that were applied in more bits, (x.to(f32) * sx) @
// (w.to(f32) * sw).t(): then the product reads the 8 bits as they lie, and tensor cores multiply them exactly. Of
// others a number, as of queries before they meet their keys: then nothing is written for it.
#include <algorithm>
#include <cmath>

#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

bool HasEightBits(DType type) { return IsFloat(type) && Bytes(type) == 1; }

// What a factor is a product of: the load of 8 bits, and what does not vary along the sum.
class ScaledLoad {
 public:
  ScaledLoad(const Memory& memory, const std::vector<IndexVar>& over) : memory_(memory), over_(over) {}

  bool Take(const Expr& e) {
    if (IsBinary(e, BinaryOp::kMul)) return Take(e->operands[0]) && Take(e->operands[1]);
    if (IsBinary(e, BinaryOp::kDiv) && !Varies(e->operands[1])) {
      scale = (scale ? scale : Expr(1.0)) / e->operands[1];
      return Take(e->operands[0]);
    }
    if (!Varies(e)) {
      scale = scale ? scale * e : e;
      return !HasReduce(e);
    }
    const bool eight = e->kind == Expr::Kind::kLoad && !load &&
                       HasEightBits(memory_.graph().buffers()[static_cast<std::size_t>(memory_.Root(e->buffer))].dtype);
    load = e;
    return eight;
  }

  Expr load, scale;  // the scale is null where there is none

 private:
  bool Varies(const Expr& e) const {
    return std::ranges::any_of(over_, [&](const IndexVar& var) { return UsesIndex(e, var.id); });
  }

  const Memory& memory_;
  const std::vector<IndexVar>& over_;
};

// x of x * c and x / c, and the number that it is scaled by; what overflows with that behind the sum does so before.
std::optional<std::pair<Expr, Expr>> ScaledByNumber(const Expr& e) {
  constexpr double kMost = 1024;
  for (const BinaryOp op : {BinaryOp::kMul, BinaryOp::kDiv}) {
    if (!IsBinary(e, op) || e->operands[1]->kind != Expr::Kind::kConst || e->operands[0]->kind != Expr::Kind::kLoad)
      continue;
    const double number = std::abs(NumberOf(*e->operands[1]));
    if (number < 1 / kMost || number == 1 || number > kMost) continue;
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
    const auto scaled = element ? ScaledByNumber(*element) : std::nullopt;
    if (!scaled) continue;
    made.maps.push_back(before->buffer);
    factor = scaled->first;
    behind = ReplaceValue(scaled->second, kIt, behind);
  }
  if (made.maps.empty()) return std::nullopt;
  fold.body = factors[0] * factors[1];
  fold.finish = Simplify(ReplaceValue(fold.finish, kIt, behind));
  return IsPlain(memory, made.piece) ? std::optional(std::move(made)) : std::nullopt;
}

std::optional<WithWeights> WithScalesBehind(const Memory& memory, const Piece& product,
                                            const std::function<const Piece*(int buffer)>& map) {
  WithWeights made{product, {}};
  Fold& fold = *made.piece.fold;
  if (!IsBinary(fold.body, BinaryOp::kMul)) return std::nullopt;
  Expr factors[2], behind = Value(kIt, ScalarType::kReal);
  bool rounded = true;  // all that was scaled was rounded to bf16 before it was multiplied
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const Expr& factor = fold.body->operands[side];
    if (factor->kind != Expr::Kind::kLoad) return std::nullopt;
    const int buffer = memory.Root(factor->buffer);
    const Piece* before = map(buffer);
    const auto element = before != nullptr ? ElementAt(memory, *before, *factor) : factor;
    ScaledLoad parts(memory, fold.over);
    if (!element || !parts.Take(*element) || !parts.load) return std::nullopt;
    factors[side] = parts.load;
    if (parts.scale) behind = behind * parts.scale;
    if (before == nullptr) continue;
    rounded &= memory.KeptAs(buffer) == DType::kBF16;
    made.maps.push_back(buffer);
  }
  if (made.maps.empty()) return std::nullopt;
  fold.body = factors[0] * factors[1];
  fold.finish = ReplaceValue(fold.finish, kIt, behind);
  const Precision contract = memory.graph().problem().contract;
  fold.few_bits_of_sums |= rounded && contract != Precision::kFp32 && contract != Precision::kFp64;
  return IsPlain(memory, made.piece) ? std::optional(std::move(made)) : std::nullopt;
}

}  // namespace hone::expert
