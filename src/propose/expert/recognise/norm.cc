// Statistics over axes and every element computed with them: norm.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "propose/expert/recognise/recognise.h"

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

// Whether nothing reads a statistic but what is stored of it for each row.
bool IsForRowAlone(const Piece& piece, int buffer) {
  bool alone = true;
  const auto look = [&](const Expr& expr) {
    Visit(expr, [&](const ExprNode& node) { alone &= node.kind != Expr::Kind::kLoad || node.buffer != buffer; });
  };
  look(piece.value);
  for (const Piece& statistic : piece.statistics) EachExpr(statistic, look);
  bool stored = false;
  for (const Piece& one : piece.also) {
    if (one.buffer == buffer && IsOfRow(piece, one)) {
      stored = one.value->kind == Expr::Kind::kLoad && one.value->buffer == buffer;
    } else {
      look(one.value);
    }
  }
  return alone && stored;
}

std::optional<dsl::Statement> RecogniseNorm(Names& names, const Piece& piece) {
  if (piece.statistics.empty() || piece.fold) return std::nullopt;
  dsl::Statement statement;
  statement.family = "norm";
  statement.axes = piece.axes;
  statement.target_shape = Extents(piece.space);
  Names::Known known;
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
  // What ends a statistic with more than numbers is the end of what is stored of it.
  std::map<int, Expr> ends;
  for (Piece& statistic : statistics) {
    if (ReadsTensors(piece, statistic.fold->finish) && IsForRowAlone(piece, statistic.buffer))
      ends[statistic.buffer] = std::exchange(statistic.fold->finish, Value(kIt, statistic.fold->body->type));
    auto let = LetOf(names, statistic, piece.space, known);
    if (!let) return std::nullopt;
    statement.lets.push_back(std::move(*let));
  }
  if (!FoldsElements(piece)) {
    auto element = names.Term(piece.value, piece.space, known);
    if (!element) return std::nullopt;
    statement.epilogue.push_back(std::move(*element));
  }
  for (const auto& one : piece.also) {
    const auto end = ends.find(one.buffer);
    const Expr made = end == ends.end() ? one.value : ReplaceValue(end->second, kIt, one.value);
    auto value = names.Term(made, piece.space, known);
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
