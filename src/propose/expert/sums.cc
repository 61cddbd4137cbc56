// The sum of a row of scores, as a loss that smooths its labels has it beside their logarithm: a product of the row
// with the sum of the columns. Once through the columns, instead of another product of them all.
//
//   sum_n (a * (sum_k x[k] * w[k, n]) + b) = a * (sum_k x[k] * (sum_n w[k, n])) + b * (how many n)
#include <algorithm>
#include <functional>

#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

// An expression as slope * it + rest; either may be missing, as a 0.
struct Line {
  Expr slope, rest;
};

bool HasIt(const Expr& e) {
  bool has = false;
  Visit(e, [&](const ExprNode& node) { has |= node.kind == Expr::Kind::kValue && node.value == kIt; });
  return has;
}

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

bool Varies(const Expr& e, const std::vector<IndexVar>& with) {
  const auto vars = VarsOf(e);
  return std::ranges::any_of(vars, [&](const IndexVar& var) {
    return std::ranges::any_of(with, [&](const IndexVar& other) { return var.id == other.id; });
  });
}

}  // namespace

std::optional<SummedProduct> SumOfProduct(const Memory& memory, const Piece& sum, int buffer) {
  const Piece& product = sum.inside[0];
  if (!sum.fold || sum.fold->op != ReduceOp::kSum || sum.fold->over.size() != 1 || !sum.statistics.empty() ||
      product.fold->over.size() != 1 || product.fold->body->operands.size() != 2)
    return std::nullopt;
  const std::vector<IndexVar>& columns = sum.fold->over;
  const auto line = LineOf(ReplaceLoads(sum.fold->body, [&](const ExprNode& load) {
    return memory.Root(load.buffer) == product.buffer ? product.fold->finish : Expr();
  }));
  if (!line || !line->slope || Varies(line->slope, columns) || (line->rest && Varies(line->rest, columns)))
    return std::nullopt;
  Expr row = product.fold->body->operands[0], column = product.fold->body->operands[1];
  if (Varies(row, columns)) std::swap(row, column);
  if (row->kind != Expr::Kind::kLoad || column->kind != Expr::Kind::kLoad || Varies(row, columns) ||
      Varies(column, sum.space))
    return std::nullopt;

  SummedProduct made;
  const IndexVar k = NewIndex(product.fold->over[0].extent), n = NewIndex(columns[0].extent);
  made.columns.buffer = buffer;
  made.columns.space = {k};
  made.columns.fold = Fold{.over = {n},
                           .op = ReduceOp::kSum,
                           .body = InIndices(InIndices(column, product.fold->over, {k}), columns, {n}),
                           .finish = Value(kIt, ScalarType::kReal)};
  made.rows = sum;
  made.rows.inside.clear();
  const IndexVar along = NewIndex(k.extent);
  made.rows.fold->over = {along};
  made.rows.fold->body = InIndices(row, product.fold->over, {along}) * Load(buffer, {Expr(along)}, ScalarType::kReal);
  const Expr it = Value(kIt, ScalarType::kReal), count = static_cast<double>(n.extent);
  Expr total = ConstantNumber(line->slope) == 1 ? it : line->slope * it;
  if (line->rest) {
    const bool less = line->rest->kind == Expr::Kind::kUnary && line->rest->unary == UnaryOp::kNeg;
    total = less ? total - line->rest->operands[0] * count : total + line->rest * count;
  }
  made.rows.fold->finish = ReplaceValue(sum.fold->finish, kIt, total);
  return made;
}

}  // namespace hone::expert
