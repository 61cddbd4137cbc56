// A step that combines the one before with an element: scan.
#include <algorithm>
#include <limits>

#include "propose/expert/recognise/recognise.h"

namespace hone::expert {
namespace {

struct Combination {
  BinaryOp op;
  std::string_view word;
  double identity;
};
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr Combination kCombinations[] = {{BinaryOp::kAdd, "sum", 0},
                                         {BinaryOp::kMul, "prod", 1},
                                         {BinaryOp::kMax, "max", -kInfinite},
                                         {BinaryOp::kMin, "min", kInfinite}};

// select(t == first, identity, self[.., t - 1, ..])
bool IsBefore(const Expr& e, const Piece& step, double identity) {
  if (e->kind != Expr::Kind::kSelect) return false;
  const Expr &first = e->operands[0], &initial = e->operands[1], &load = e->operands[2];
  const IndexVar& t = step.space[static_cast<std::size_t>(step.along)];
  if (initial->kind != Expr::Kind::kConst || load->kind != Expr::Kind::kLoad || load->buffer != step.buffer ||
      load->operands.size() != step.space.size() ||
      (initial->type == ScalarType::kReal ? initial->real : static_cast<double>(initial->whole)) != identity)
    return false;
  if (!SameExpr(first, Equal(Expr(t), step.reversed ? Expr(t.extent - 1) : Expr(0)))) return false;
  for (std::size_t d = 0; d < step.space.size(); ++d) {
    const IndexVar& var = step.space[d];
    Affine want;
    if (var.extent > 1) want.coefficient[var.id] = 1;
    if (var.id == t.id) want.constant = step.reversed ? 1 : -1;
    if (AffineOf(load->operands[d]) != want) return false;
  }
  return true;
}

}  // namespace

std::optional<dsl::Statement> RecogniseScan(Names& names, const Piece& piece) {
  const Expr& value = piece.value;
  if (piece.sequence < 0 || value->kind != Expr::Kind::kBinary) return std::nullopt;
  for (const auto& combination : kCombinations) {
    if (value->binary != combination.op) continue;
    for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
      if (!IsBefore(value->operands[first], piece, combination.identity)) continue;
      const Expr& element = value->operands[1 - first];
      Shape reached(piece.space.size(), 1);
      for (const auto& load : names.memory().Loads(element)) {
        if (load.buffer == piece.buffer || !load.position) return std::nullopt;
        for (std::size_t d = 0; d < reached.size(); ++d) {
          if (load.position->of(piece.space[d]) != 0) reached[d] = piece.space[d].extent;
        }
      }
      if (reached != Extents(piece.space)) return std::nullopt;
      auto term = names.Term(element, piece.space, {});
      if (!term) return std::nullopt;
      dsl::Statement statement;
      statement.family = "scan";
      statement.variant = combination.word;
      statement.operands.push_back(std::move(*term));
      statement.axes = {piece.along};
      if (piece.reversed) statement.attributes["reverse"] = {1};
      statement.target_shape = Extents(piece.space);
      return statement;
    }
  }
  return std::nullopt;
}

}  // namespace hone::expert
