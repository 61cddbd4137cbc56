// Statistics over axes and every element computed with them: norm.
#include <algorithm>
#include <utility>
#include <vector>

#include "propose/expert/recognise/recognise.h"
#include "propose/expert/sides.h"

namespace hone::expert::recogniser_norm {
namespace {

// The expression with `element` as `it`.
Expr WithIt(const Expr& expr, const Expr& element) {
  return Rewrite(expr, [&](const Expr& e) { return SameExpr(e, element) ? Value(kIt, element->type) : Expr(); });
}

// Whether what is folded is made of the elements that are stored, which are more than a load.
bool FoldsElements(const Piece& piece) {
  return piece.value->kind != Expr::Kind::kLoad && std::ranges::all_of(piece.statistics, [&](const Piece& statistic) {
           return UsesValue(WithIt(statistic.fold->body, piece.value), kIt);
         });
}

// Whether an expression reads more than statistics.
bool ReadsTensors(const Piece& piece, const Expr& expr) {
  bool reads = false;
  Visit(expr, [&](const ExprNode& node) {
    reads |= node.kind == Expr::Kind::kLoad &&
             std::ranges::find(piece.statistics, node.buffer, &Piece::buffer) == piece.statistics.end();
  });
  return reads;
}

std::optional<dsl::Statement> RecogniseNorm(Names& names, const Piece& piece) {
  if (piece.statistics.empty() || piece.fold) return std::nullopt;
  dsl::Statement statement;
  statement.family = "norm";
  statement.axes = piece.axes;
  statement.target_shape = Extents(piece.space);
  Names::Known known;
  if (UsesValue(piece.value, kSign)) known.values[kSign] = dsl::Name(names.Signs());
  // The operand is what is normalised: the element itself where rows of it are folded as it is written, else the
  // largest load of the first statistic.
  std::vector<Piece> statistics = piece.statistics;
  if (FoldsElements(piece)) {
    auto element = names.Term(piece.value, piece.space, known);
    if (!element) return std::nullopt;
    statement.operands.push_back(std::move(*element));
    known.values[kIt] = dsl::It();
    for (Piece& statistic : statistics) statistic.fold->body = WithIt(statistic.fold->body, piece.value);
  } else {
    const auto loads = names.memory().Loads(piece.statistics[0].fold->body);
    const auto main = std::find_if(loads.begin(), loads.end(), [&](const FlatLoad& load) {
      return std::all_of(piece.space.begin(), piece.space.end(),
                         [&](const IndexVar& var) { return load.position->of(var) != 0; });
    });
    if (main == loads.end()) return std::nullopt;
    const auto operand = names.Operand(main->buffer, *main->position, piece.space);
    if (!operand) return std::nullopt;
    statement.operands.push_back(dsl::Name(*operand));
  }
  for (Piece& statistic : statistics) {
    // A let ends with numbers: what else is made of it is made where it is read.
    const bool reads = ReadsTensors(piece, statistic.fold->finish);
    const ScalarType type = statistic.fold->body->type;
    const Expr end = reads ? std::exchange(statistic.fold->finish, Value(kIt, type)) : Expr();
    auto let = LetOf(names, statistic, piece.space, known);
    if (!let) return std::nullopt;
    if (reads) {
      Names::Known inside = known;
      inside.values[kIt] = dsl::Name(let->name);
      auto made = names.Term(end, piece.space, inside);
      if (!made || statistic.buffer < 0) return std::nullopt;
      known.lets[statistic.buffer] = std::move(*made);
    }
    statement.lets.push_back(std::move(*let));
  }
  if (!FoldsElements(piece)) {
    auto element = names.Term(piece.value, piece.space, known);
    if (!element) return std::nullopt;
    statement.epilogue.push_back(std::move(*element));
  }
  for (const auto& one : piece.also) {
    auto value = names.Term(one.value, piece.space, known);
    if (!value) return std::nullopt;
    AddAlso(statement, std::move(*value));
    if (!IsOfRow(piece, one)) continue;
    statement.also.back().target_shape = Extents(one.space);
    statement.also.back().has_target_shape = true;
  }
  return statement;
}

}  // namespace

HONE_ROW(Recogniser){.name = "norm", .form = Form::kMerged, .place = 50, .recognise = RecogniseNorm};

}  // namespace hone::expert::recogniser_norm
