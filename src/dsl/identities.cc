#include "dsl/identities.h"

namespace hone::dsl {
namespace {

using Kind = Expr::Kind;

bool Is(const Expr& e, UnaryOp op) { return e->kind == Kind::kUnary && e->unary == op; }
bool Is(const Expr& e, BinaryOp op) { return e->kind == Kind::kBinary && e->binary == op; }
bool IsZero(const Expr& e) { return e->kind == Kind::kConst && e->type == ScalarType::kReal && e->real == 0; }

// log1p(exp(x)): x, else nothing.
Expr Log1pExp(const Expr& e) {
  if (!Is(e, UnaryOp::kLog1p) || !Is(e->operands[0], UnaryOp::kExp)) return {};
  return e->operands[0]->operands[0];
}

// From here on tanh rounds to 1 in single precision.
constexpr double kTanhIsOne = 9.02;

// What tanh's argument is the softplus of, in one of the ways of writing it; nothing if it is none. PyTorch's returns x
// itself above a threshold: where tanh of both is 1 that makes no difference.
Expr SoftplusOf(const Expr& e) {
  if (const Expr x = Log1pExp(e)) return x;
  if (e->kind == Kind::kSelect) {
    const Expr &above = e->operands[0], &x = e->operands[1];
    if (!Is(above, BinaryOp::kLess) && !Is(above, BinaryOp::kLessEqual)) return {};
    const Expr& threshold = above->operands[0];
    const Expr inner = Log1pExp(e->operands[2]);
    const bool far = threshold->kind == Kind::kConst && threshold->real >= kTanhIsOne;
    return inner && far && SameExpr(inner, x) && SameExpr(above->operands[1], x) ? x : Expr();
  }
  if (!Is(e, BinaryOp::kAdd)) return {};
  for (const std::size_t i : {0, 1}) {  // log1p(exp(-abs(x))) + max(x, 0), without overflow
    const Expr inner = Log1pExp(e->operands[i]), &most = e->operands[1 - i];
    if (!inner || !Is(inner, UnaryOp::kNeg) || !Is(inner->operands[0], UnaryOp::kAbs)) continue;
    const Expr& x = inner->operands[0]->operands[0];
    if (!Is(most, BinaryOp::kMax)) continue;
    for (const std::size_t j : {0, 1}) {
      if (IsZero(most->operands[j]) && SameExpr(most->operands[1 - j], x)) return x;
    }
  }
  return {};
}

}  // namespace

Expr SparedFunction(const Expr& node) {
  if (!Is(node, UnaryOp::kTanh)) return {};
  const Expr x = SoftplusOf(node->operands[0]);
  if (!x) return {};
  const Expr power = Exp(Min(x, 20.0)), n = power * (power + 2.0);
  return n / (n + 2.0);
}

Expr SpareFunctions(const Expr& expr) {
  if (const Expr spared = SparedFunction(expr)) return SpareFunctions(spared);
  if (expr->kind == Kind::kLoad) return expr;  // addresses stay as they are
  ExprNode node = *expr;
  bool changed = false;
  for (auto& operand : node.operands) {
    Expr spared = SpareFunctions(operand);
    changed |= spared.get() != operand.get();
    operand = std::move(spared);
  }
  return changed ? Expr(std::make_shared<const ExprNode>(std::move(node))) : expr;
}

}  // namespace hone::dsl
