// What is between two maps that become one is not in memory, and so not of the type that it would have there: where
// that type would change it, the map that is left does so.
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "analysis/interval.h"
#include "graph/op.h"
#include "propose/expert/normalise.h"
#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

class PieceReader : public RangeReader {
 public:
  PieceReader(const Memory& memory, const Fold* it) : memory_(memory), it_(it) {}

 protected:
  Range OfLoad(const ExprNode& load) override { return memory_.RangeOf(memory_.Root(load.buffer)); }
  Range OfValue(const ExprNode& value) override {
    if (!it_ || value.value != kIt) return RangeReader::OfValue(value);
    return OfReduce(Reduce(it_->op, it_->over, it_->body));
  }

 private:
  const Memory& memory_;
  const Fold* it_;
};

// What `e` wraps around, and to how many bits; nothing if it is no wrap.
struct Wrap {
  Expr of;
  int bits = 0;
};
Wrap WrapOf(const Expr& e) {
  const bool is_signed = IsBinary(e, BinaryOp::kSub) && e->type == ScalarType::kInt;
  const Expr& mod = is_signed ? e->operands[0] : e;
  if (!IsBinary(mod, BinaryOp::kFloorMod) || mod->type != ScalarType::kInt) return {};
  const Expr& by = mod->operands[1];
  for (const int bits : {8, 16, 32}) {
    const std::int64_t count = std::int64_t{1} << bits;
    if (ConstantNumber(by) != static_cast<double>(count)) continue;
    if (!is_signed) return {mod->operands[0], bits};
    const Expr &shifted = mod->operands[0], &back = e->operands[1];
    const bool wraps = ConstantNumber(back) == static_cast<double>(count / 2) && IsBinary(shifted, BinaryOp::kAdd) &&
                       SameExpr(shifted->operands[1], back);
    return wraps ? Wrap{shifted->operands[0], bits} : Wrap{};
  }
  return {};
}

// Without wraps to at least so many bits, of which only the lowest count.
Expr WithLowBits(const Expr& e, int bits) {
  if (const Wrap wrap = WrapOf(e); wrap.of && wrap.bits >= bits) return WithLowBits(wrap.of, bits);
  if (e->type != ScalarType::kInt) return e;
  const auto with_all = [&](std::size_t first) {
    std::vector<Expr> operands = e->operands;
    for (std::size_t i = first; i < operands.size(); ++i) operands[i] = WithLowBits(operands[i], bits);
    return WithOperands(e, std::move(operands));
  };
  switch (e->kind) {
    case Expr::Kind::kSelect: return with_all(1);
    case Expr::Kind::kUnary: return e->unary == UnaryOp::kNeg || e->unary == UnaryOp::kNot ? with_all(0) : e;
    case Expr::Kind::kBinary:
      switch (e->binary) {
        case BinaryOp::kAdd:
        case BinaryOp::kSub:
        case BinaryOp::kMul:
        case BinaryOp::kAnd:
        case BinaryOp::kOr:
        case BinaryOp::kXor: return with_all(0);
        default: return e;
      }
    default: return e;
  }
}

// Of what a mask leaves only the lowest bits of, those alone; nothing if it is that already.
Expr WithMaskedBits(const Expr& e) {
  if (!IsBinary(e, BinaryOp::kAnd) || e->type != ScalarType::kInt) return {};
  for (const std::size_t mask : {0u, 1u}) {
    const Expr& of = e->operands[1 - mask];
    const auto number = ConstantNumber(e->operands[mask]);
    if (!number || *number < 0 || *number >= std::exp2(32)) continue;
    const Expr low = WithLowBits(of, std::bit_width(static_cast<std::uint64_t>(*number)));
    if (!SameExpr(low, of)) return Apply(BinaryOp::kAnd, low, e->operands[mask]);
  }
  return {};
}

}  // namespace

Expr AsKept(const Memory& memory, int buffer, const Expr& value, const Fold* it) {
  if (buffer < 0) return value;  // of a piece that is asked about, and made nowhere
  const DType type = memory.graph().buffers()[static_cast<std::size_t>(buffer)].dtype;
  const bool real = value->type == ScalarType::kReal;
  // A truth value is one already, and what a conversion to whole numbers of many bits makes of reals beyond them is
  // nobody's to say.
  if (real != IsFloat(type) || type == DType::kBool || type == DType::kI64 || (real && RowOf(type).infinity))
    return value;
  if (value->kind == Expr::Kind::kCast && value->operands[0]->type == ScalarType::kReal && Bytes(type) > 2)
    return value;
  const Range kept = RangeOfType(type);
  if (PieceReader(memory, it).Of(value).within(kept.low, kept.high)) return value;
  return real ? Min(Max(value, kept.low), kept.high) : Held(value, type);
}

Expr WithoutWraps(const Memory& memory, const Expr& expr) {
  return Rewrite(expr, [&](const Expr& e) -> Expr {
    if (const Expr masked = WithMaskedBits(e)) return masked;
    const Wrap wrap = WrapOf(e);
    if (!wrap.of) return {};
    const double count = std::exp2(wrap.bits), below = e->binary == BinaryOp::kSub ? count / 2 : 0;
    return PieceReader(memory, nullptr).Of(wrap.of).within(-below, count - below - 1) ? wrap.of : Expr();
  });
}

Expr WithoutInnerWraps(const Expr& expr, DType stored) {
  if (IsFloat(stored) || stored == DType::kBool) return expr;
  return WithLowBits(expr, static_cast<int>(8 * Bytes(stored)));
}

}  // namespace hone::expert
