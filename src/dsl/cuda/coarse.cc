// What DeviceExpr writes of values that are rounded to 16 bits: the instructions of the units for functions, where an
// exact result takes many.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dsl/cuda/expr.h"
#include "dsl/knobs.h"

namespace hone::dsl {
namespace {

using Kind = Expr::Kind;

bool Jumps(const ExprNode& node) {
  switch (node.kind) {
    case Kind::kReduce: return IsArg(node.reduce);
    case Kind::kCast: return node.type != ScalarType::kReal && node.operands[0]->type == ScalarType::kReal;
    case Kind::kUnary:
      return node.unary == UnaryOp::kFloor || node.unary == UnaryOp::kCeil || node.unary == UnaryOp::kTrunc ||
             node.unary == UnaryOp::kRound || node.unary == UnaryOp::kSign || node.unary == UnaryOp::kIsNan;
    case Kind::kBinary:
      return node.binary == BinaryOp::kFloorDiv || node.binary == BinaryOp::kFloorMod ||
             node.binary == BinaryOp::kFmod || node.type == ScalarType::kBool;
    default: return false;
  }
}

bool HasCoarseForm(const Expr& expr) {
  bool has = false;
  Visit(expr, [&](const ExprNode& node) {
    has |= node.kind == Kind::kUnary && (node.unary == UnaryOp::kExp || node.unary == UnaryOp::kReciprocal ||
                                         node.unary == UnaryOp::kErf || node.unary == UnaryOp::kTanh);
    has |= node.kind == Kind::kBinary && node.binary == BinaryOp::kDiv;
  });
  return has;
}

}  // namespace

void DeviceExpr::BeCoarseWhereRounded(const std::vector<Expr>& exprs, const std::vector<DType>& types) {
  coarse_ = std::ranges::all_of(types, [](DType type) { return IsFloat(type) && Bytes(type) <= 2; }) &&
            std::ranges::none_of(exprs, [](const Expr& expr) {
              bool jumps = false;
              Visit(expr, [&](const ExprNode& node) {
                jumps |= Jumps(node) && std::ranges::any_of(node.operands, HasCoarseForm);
              });
              return jumps;
            });
}

// Whether it is 1 + e^x in f32, of which the unit for inverses needs no help.
bool DeviceExpr::IsAboveOne(const Expr& e) const {
  const auto is_one = [](const Expr& x) { return x->kind == Kind::kConst && NumberOf(*x) == 1; };
  const auto is_power = [](const Expr& x) { return x->kind == Kind::kUnary && x->unary == UnaryOp::kExp; };
  if (writer_.wide() || e->kind != Kind::kBinary || e->binary != BinaryOp::kAdd) return false;
  const Expr &a = e->operands[0], &b = e->operands[1];
  return (is_one(a) && is_power(b)) || (is_one(b) && is_power(a));
}

// 1 + erf(x) and 1 + tanh(x), where they need not be exact; empty for other sums.
std::string DeviceExpr::OnePlus(const ExprNode& sum) {
  if (!coarse_ || writer_.wide()) return "";
  for (const std::size_t one : {0, 1}) {
    const Expr &number = sum.operands[one], &function = sum.operands[1 - one];
    if (number->kind != Kind::kConst || NumberOf(*number) != 1 || function->kind != Kind::kUnary) continue;
    const UnaryOp op = function->unary;
    if (op != UnaryOp::kErf && op != UnaryOp::kTanh) continue;
    return fmt::format("{}({})", writer_.Helper(op == UnaryOp::kErf ? "OnePlusErf" : "OnePlusTanh"),
                       Text(function->operands[0]));
  }
  return "";
}

std::string InverseText(const DeviceWriter& out, const Expr& divisor) {
  const auto number = ConstantNumber(divisor);
  const bool has = number && std::isnormal(*number) && std::isnormal(static_cast<float>(1 / *number));
  return has ? out.Number(1 / *number) : std::string();
}

}  // namespace hone::dsl
