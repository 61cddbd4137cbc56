#include "graph/random.h"

#include <cmath>

namespace hone {
namespace {

constexpr std::int64_t kWords = std::int64_t{1} << 32;

Expr Word(const Expr& x) { return Apply(BinaryOp::kFloorMod, x, kWords); }

Expr ShiftXor(const Expr& x, int bits) {
  return Apply(BinaryOp::kXor, x, Apply(BinaryOp::kFloorDiv, x, std::int64_t{1} << bits));
}

Expr Mixed(const Expr& word) {
  // 0x846ca68b as the negative number of the same residue: so a product with 32 bits stays in 64.
  constexpr std::int64_t kSecond = 0x846ca68bLL - kWords;
  const Expr once = Word(ShiftXor(word, 16) * std::int64_t{0x7feb352d});
  return ShiftXor(Word(ShiftXor(once, 15) * kSecond), 16);
}

}  // namespace

Expr DrawnBits(const OpCall& call, const Expr& flat, int which) {
  const std::int64_t stream = (std::int64_t{call.node_index()} * 4 + which) % kWords * 0x9e3779b9LL % kWords;
  return Mixed(Word(Mixed(Word(flat)) + stream));
}

Expr DrawnUniform(const OpCall& call, const Expr& flat) {
  return Cast(DrawnBits(call, flat), ScalarType::kReal) * 0x1p-32;
}

Expr DrawnNormal(const OpCall& call, const Expr& flat) {
  const Expr radius = Cast(DrawnBits(call, flat, 1) + 1, ScalarType::kReal) * 0x1p-32;  // not 0: it has a logarithm
  const Expr angle = DrawnUniform(call, flat) * (2 * M_PI);
  return Sqrt(Expr(-2.0) * Log(radius)) * Apply(UnaryOp::kCos, angle);
}

Expr DrawnTruth(const OpCall& call, const Expr& flat, double p) {
  return Less(DrawnBits(call, flat), static_cast<std::int64_t>(std::ceil(p * 0x1p32)));
}

void DefineDropout(OpCall& call, bool training, bool by_channel, bool with_mask) {
  const Operand x = call.Tensor("input");
  const double p = call.Real("p");
  if (p < 0 || p > 1) return call.Fail("p has to be from 0 to 1");
  if (by_channel && x.rank() < 2) return call.Fail("needs input [n, c, ...]");
  if (!training) {
    call.Output(x);
    if (with_mask) call.Output(x.shape(), DType::kBool, [](Indices) { return Expr::Bool(true); });
    return;
  }
  const auto kept = [&](Indices at) {
    return DrawnTruth(call, by_channel ? at[0] * x.dim(1) + at[1] : Flatten(at, x.shape()), 1 - p);
  };
  const Expr none = Cast(0.0, ScalarTypeOf(x.dtype()));
  call.Output(x.shape(), x.dtype(),
              [&](Indices at) { return p == 1 ? none : Select(kept(at), x(at) * Expr(1 / (1 - p)), none); });
  if (with_mask) call.Output(x.shape(), DType::kBool, kept);
}

}  // namespace hone
