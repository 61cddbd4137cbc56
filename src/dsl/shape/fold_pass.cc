#include "dsl/shape/fold_pass.h"

#include <algorithm>

#include "base/text.h"
#include "dsl/shape/loops.h"

namespace hone::dsl {
namespace {

// The pass in which each let can be folded, from 0.
std::vector<int> Levels(const Kernel& kernel) {
  std::vector<int> levels(kernel.lets.size(), 0);
  for (std::size_t i = 0; i < kernel.lets.size(); ++i) {
    const auto raise = [&](const Expr& expr, int by) {
      Visit(expr, [&](const ExprNode& node) {
        if (node.kind != Expr::Kind::kValue || node.value.kind != NamedValue::Kind::kLet) return;
        levels[i] = std::max(levels[i], levels[static_cast<std::size_t>(node.value.number)] + by);
      });
    };
    raise(kernel.lets[i].body, 1);
    raise(kernel.lets[i].finish, 0);
  }
  return levels;
}

}  // namespace

ReduceOp FoldOfVariant(std::string_view variant) {
  return variant == "prod"  ? ReduceOp::kProd
         : variant == "max" ? ReduceOp::kMax
         : variant == "min" ? ReduceOp::kMin
                            : ReduceOp::kSum;
}

bool FoldsRows(const Kernel& kernel) {
  static const KernelProgram kNone;
  return Loops(kNone, kernel).dims.back().reduced;
}

bool FoldsOneRange(const Kernel& kernel) {
  static const KernelProgram kNone;
  const Loops loops(kNone, kernel);
  return std::count_if(loops.dims.begin(), loops.dims.end(), [](const LoopDim& dim) { return dim.reduced; }) <= 1;
}

std::vector<FoldPass> LetPasses(const Kernel& kernel) {
  if (kernel.lets.empty()) return {};
  const std::vector<int> levels = Levels(kernel);
  std::vector<FoldPass> passes(static_cast<std::size_t>(*std::max_element(levels.begin(), levels.end())) + 1);
  for (std::size_t i = 0; i < kernel.lets.size(); ++i) {
    const KernelLet& let = kernel.lets[i];
    passes[static_cast<std::size_t>(levels[i])].items.push_back({.let = static_cast<int>(i),
                                                                 .fold = let.fold,
                                                                 .body = let.body,
                                                                 .finish = let.finish,
                                                                 .name = Spelled(let.name)});
  }
  return passes;
}

bool IsVariance(const FoldPass::Item& squares, const FoldPass::Item& sum, std::int64_t count) {
  if (sum.fold != ReduceOp::kSum || squares.fold != ReduceOp::kSum) return false;
  if (sum.body->type != ScalarType::kReal || squares.body->type != ScalarType::kReal) return false;
  const auto is = [](const Expr& e, BinaryOp op) { return e->kind == Expr::Kind::kBinary && e->binary == op; };
  const auto is_number = [](const Expr& e, double number) {
    return e->kind == Expr::Kind::kConst && e->type == ScalarType::kReal && e->real == number;
  };
  const auto n = static_cast<double>(count);
  const Expr& mean = sum.finish;
  const bool divides = is(mean, BinaryOp::kDiv) && IsValue(mean->operands[0], kIt) && is_number(mean->operands[1], n);
  const bool times = is(mean, BinaryOp::kMul) && IsValue(mean->operands[0], kIt) && is_number(mean->operands[1], 1 / n);
  if (!divides && !times) return false;
  const Expr& square = squares.body;
  const bool power = is(square, BinaryOp::kPow) && is_number(square->operands[1], 2);
  const bool product = is(square, BinaryOp::kMul) && SameExpr(square->operands[0], square->operands[1]);
  if (!power && !product) return false;
  const Expr& distance = square->operands[0];
  return is(distance, BinaryOp::kSub) && SameExpr(distance->operands[0], sum.body) &&
         IsValue(distance->operands[1], LetValue(sum.let));
}

}  // namespace hone::dsl
