// Statistics over axes and every element computed with them: norm.
#include <algorithm>

#include "propose/expert/recognise/recognise.h"

namespace hone::expert::recogniser_norm {
namespace {

std::optional<dsl::Statement> RecogniseNorm(Names& names, const Piece& piece) {
  if (piece.statistics.empty() || piece.fold) return std::nullopt;
  dsl::Statement statement;
  statement.family = "norm";
  statement.axes = piece.axes;
  statement.target_shape = Extents(piece.space);
  Names::Known known;
  // The operand is what is normalised: the largest load of the first statistic.
  const auto loads = names.memory().Loads(piece.statistics[0].fold->body);
  const auto main = std::find_if(loads.begin(), loads.end(), [&](const FlatLoad& load) {
    return std::all_of(piece.space.begin(), piece.space.end(),
                       [&](const IndexVar& var) { return load.position->of(var) != 0; });
  });
  if (main == loads.end()) return std::nullopt;
  const auto operand = names.Operand(main->buffer, *main->position, piece.space);
  if (!operand) return std::nullopt;
  statement.operands.push_back(dsl::Name(*operand));
  for (const auto& statistic : piece.statistics) {
    auto let = LetOf(names, statistic, piece.space, known);
    if (!let) return std::nullopt;
    statement.lets.push_back(std::move(*let));
  }
  auto element = names.Term(piece.value, piece.space, known);
  if (!element) return std::nullopt;
  statement.epilogue.push_back(std::move(*element));
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
