#include "dsl/shape/still_parts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "dsl/knobs.h"

namespace hone::dsl {
namespace {

constexpr double kMuch = 20;  // operations: a function that is no instruction

bool StandsStill(const Kernel& kernel, const Expr& e) {
  if (e->kind == Expr::Kind::kLoad) {
    const auto& strides = kernel.operands[static_cast<std::size_t>(e->buffer)].strides;
    return std::ranges::all_of(kernel.axes, [&](int axis) { return strides[static_cast<std::size_t>(axis)] == 0; });
  }
  if (e->kind == Expr::Kind::kValue || e->kind == Expr::Kind::kIndex || e->kind == Expr::Kind::kReduce) return false;
  return std::ranges::all_of(e->operands, [&](const Expr& operand) { return StandsStill(kernel, operand); });
}

}  // namespace

Expr WithStillParts(const Kernel& kernel, const Expr& expr, const std::function<Expr(const Expr& part)>& with) {
  if (OperationsPerElement(expr) < kMuch) return expr;
  if (expr->type == ScalarType::kReal && StandsStill(kernel, expr)) return with(expr);
  if (expr->kind == Expr::Kind::kLoad || expr->kind == Expr::Kind::kReduce) return expr;
  std::vector<Expr> operands;
  for (const Expr& operand : expr->operands) operands.push_back(WithStillParts(kernel, operand, with));
  return WithOperands(expr, std::move(operands));
}

}  // namespace hone::dsl
