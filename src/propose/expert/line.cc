#include "propose/expert/line.h"

#include <algorithm>
#include <functional>

#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

bool HasIt(const Expr& e) {
  bool has = false;
  Visit(e, [&](const ExprNode& node) { has |= node.kind == Expr::Kind::kValue && node.value == kIt; });
  return has;
}

}  // namespace

std::optional<Line> LineOf(const Expr& e) {
  if (!HasIt(e)) return Line{.slope = {}, .rest = e};
  if (IsValue(e, kIt)) return Line{.slope = Expr(1.0), .rest = {}};
  const auto each = [](const Line& line, const std::function<Expr(const Expr&)>& of) {
    return Line{.slope = line.slope ? of(line.slope) : Expr(), .rest = line.rest ? of(line.rest) : Expr()};
  };
  if (e->kind == Expr::Kind::kUnary && e->unary == UnaryOp::kNeg) {
    const auto line = LineOf(e->operands[0]);
    return line ? std::optional(each(*line, [](const Expr& part) { return -part; })) : std::nullopt;
  }
  if (e->kind != Expr::Kind::kBinary) return std::nullopt;
  const auto a = LineOf(e->operands[0]), b = LineOf(e->operands[1]);
  if (!a || !b) return std::nullopt;
  const auto scaled = [&](const Line& line, const Expr& by) {
    return each(line, [&](const Expr& part) {
      return e->binary == BinaryOp::kMul && ConstantNumber(part) == 1 ? by : Apply(e->binary, part, by);
    });
  };
  const auto joined = [&](const Expr& x, const Expr& y) {
    if (x && y) return Apply(e->binary, x, y);
    return x || e->binary == BinaryOp::kAdd || !y ? (x ? x : y) : -y;
  };
  switch (e->binary) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub: return Line{.slope = joined(a->slope, b->slope), .rest = joined(a->rest, b->rest)};
    case BinaryOp::kMul:
      if (!a->slope) return scaled(*b, e->operands[0]);
      return b->slope ? std::nullopt : std::optional(scaled(*a, e->operands[1]));
    case BinaryOp::kDiv: return b->slope ? std::nullopt : std::optional(scaled(*a, e->operands[1]));
    default: return std::nullopt;
  }
}

Expr SumOf(const Line& line, std::int64_t count) {
  const Expr it = Value(kIt, ScalarType::kReal), number = static_cast<double>(count);
  Expr total = ConstantNumber(line.slope) == 1 ? it : line.slope * it;
  if (!line.rest) return total;
  const bool less = line.rest->kind == Expr::Kind::kUnary && line.rest->unary == UnaryOp::kNeg;
  return less ? total - line.rest->operands[0] * number : total + line.rest * number;
}

bool Varies(const Expr& e, const std::vector<IndexVar>& with) {
  const auto vars = VarsOf(e);
  return std::ranges::any_of(vars, [&](const IndexVar& var) {
    return std::ranges::any_of(with, [&](const IndexVar& other) { return var.id == other.id; });
  });
}

}  // namespace hone::expert
