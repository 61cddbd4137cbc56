// Scans: a step that combines the one before with an element, and what it becomes behind a map that only moves it.
#include <algorithm>

#include "propose/expert/normalise.h"
#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

struct Combination {
  BinaryOp op;
  ReduceOp fold;
};
constexpr Combination kCombinations[] = {{BinaryOp::kAdd, ReduceOp::kSum},
                                         {BinaryOp::kMul, ReduceOp::kProd},
                                         {BinaryOp::kMax, ReduceOp::kMax},
                                         {BinaryOp::kMin, ReduceOp::kMin}};

bool IsNumber(const Expr& e, double number) { return ConstantNumber(e) == number; }

const IndexVar& Along(const Piece& step) { return step.space[static_cast<std::size_t>(step.along)]; }

Expr IsFirst(const Piece& step) {
  const IndexVar& t = Along(step);
  return Equal(Expr(t), step.reversed ? Expr(t.extent - 1) : Expr(0));
}

// self[.., t - 1, ..], or t + 1 of a reversed one
bool IsStepBefore(const Expr& load, const Piece& step) {
  if (load->kind != Expr::Kind::kLoad || load->buffer != step.buffer || load->operands.size() != step.space.size())
    return false;
  for (std::size_t d = 0; d < step.space.size(); ++d) {
    const IndexVar& var = step.space[d];
    Affine want;
    if (var.extent > 1) want.coefficient[var.id] = 1;
    if (var.id == Along(step).id) want.constant = step.reversed ? 1 : -1;
    if (AffineOf(load->operands[d]) != want) return false;
  }
  return true;
}

// select(t == first, identity, self[.., t - 1, ..])
bool IsBefore(const Expr& e, const Piece& step, double identity) {
  return e->kind == Expr::Kind::kSelect && IsNumber(e->operands[1], identity) &&
         SameExpr(e->operands[0], IsFirst(step)) && IsStepBefore(e->operands[2], step);
}

Expr StepBefore(const Piece& step, ScalarType type) {
  std::vector<Expr> indices;
  for (const auto& var : step.space)
    indices.push_back(var.id == Along(step).id ? Expr(var) + (step.reversed ? 1 : -1) : Expr(var));
  return Load(step.buffer, std::move(indices), type);
}

Expr Moved(const Expr& expr, const IndexVar& index, const Expr& to) {
  return Substitute(expr, [&](const IndexVar& var) { return var.id == index.id ? to : Expr(); });
}

}  // namespace

std::optional<Scan> ScanOf(const Piece& step) {
  if (step.sequence < 0) return std::nullopt;
  const Expr& value = step.value;
  for (const auto& [op, fold] : kCombinations) {
    Scan scan{.op = op, .word = Name(fold), .identity = IdentityOf(fold), .element = {}};
    if (value->kind == Expr::Kind::kBinary && value->binary == op) {
      for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
        if (!IsBefore(value->operands[first], step, scan.identity)) continue;
        scan.element = value->operands[1 - first];
        return scan;
      }
    }
    // select(t == first, identity, self[.., t - 1, ..] + element at t - 1)
    if (value->kind != Expr::Kind::kSelect || !IsNumber(value->operands[1], scan.identity) ||
        !SameExpr(value->operands[0], IsFirst(step)))
      continue;
    const Expr& both = value->operands[2];
    if (both->kind != Expr::Kind::kBinary || both->binary != op || !IsStepBefore(both->operands[0], step)) continue;
    scan.exclusive = true;
    scan.element = Simplify(Moved(both->operands[1], Along(step), Expr(Along(step)) + (step.reversed ? -1 : 1)));
    return scan;
  }
  return std::nullopt;
}

std::optional<Piece> ScanThrough(const Memory& memory, const Piece& step, const Piece& map) {
  const auto scan = ScanOf(step);
  if (!scan || scan->exclusive || !map.is_map()) return std::nullopt;
  Expr load = map.value;
  const bool later = load->kind == Expr::Kind::kSelect;
  if (later) load = load->operands[1];
  if (load->kind != Expr::Kind::kLoad || memory.Root(load->buffer) != step.buffer) return std::nullopt;
  const auto position = memory.Position(*load);
  if (!position) return std::nullopt;
  const ScalarType type = load->type;

  Piece made = step;
  made.buffer = map.buffer;
  IndexVar& t = made.space[static_cast<std::size_t>(step.along)];
  if (later) t = NewIndex(t.extent + 1);
  if (memory.shape(map.buffer) != Extents(made.space)) return std::nullopt;
  // The map's own indices, where it has any: it knows no dimensions of one element.
  const auto strides = DenseStrides(Extents(step.space));
  Affine want;
  std::size_t next = 0;
  std::optional<IndexVar> along;
  for (std::size_t d = 0; d < made.space.size(); ++d) {
    if (made.space[d].extent == 1) continue;
    if (next == map.space.size() || map.space[next].extent != made.space[d].extent) return std::nullopt;
    const IndexVar& var = map.space[next++];
    const bool here = made.space[d].id == t.id;
    if (here) along = var;
    want.coefficient[var.id] = here && !later ? -strides[d] : strides[d];
    if (here) want.constant = later ? -strides[d] : (t.extent - 1) * strides[d];
  }
  if (!along || next != map.space.size() || *position != want) return std::nullopt;
  if (!later) {
    made.reversed = !step.reversed;
    made.value =
        Apply(scan->op,
              Select(IsFirst(made),
                     step.value->operands[0]->kind == Expr::Kind::kSelect ? step.value->operands[0]->operands[1]
                                                                          : step.value->operands[1]->operands[1],
                     StepBefore(made, type)),
              Simplify(Moved(scan->element, t, Expr(t.extent - 1) - Expr(t))));
    return made;
  }
  if (step.reversed || !IsNumber(map.value->operands[2], scan->identity) ||
      !SameExpr(map.value->operands[0], LessEqual(1, Expr(*along))))
    return std::nullopt;
  made.value =
      Select(IsFirst(made), map.value->operands[2],
             Apply(scan->op, StepBefore(made, type), Simplify(Moved(scan->element, Along(step), Expr(t) - 1))));
  return made;
}

}  // namespace hone::expert
