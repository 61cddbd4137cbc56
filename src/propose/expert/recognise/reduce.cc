// One fold over some dimensions of an element expression: reduce.
#include <algorithm>

#include "propose/expert/recognise/recognise.h"

namespace hone::expert::recogniser_reduce {

namespace {

// The folded and kept dimensions in the order in which the largest operand has them in memory.
std::optional<dsl::Statement> RecogniseReduce(Names& names, const Piece& piece) {
  if (!piece.fold) return std::nullopt;
  const Fold& fold = *piece.fold;
  const FlatLoad* main = nullptr;
  const auto loads = names.memory().Loads(fold.body);
  std::int64_t most = -1;
  for (const auto& load : loads) {
    std::int64_t reach = 0;
    for (const auto* vars : {&piece.space, &fold.over}) {
      for (const auto& var : *vars) reach += load.position->of(var) != 0 ? var.extent : 0;
    }
    if (reach > most) {
      most = reach;
      main = &load;
    }
  }
  std::vector<IndexVar> over = fold.over;
  const auto stride = [&](const IndexVar& var) { return main ? main->position->of(var) : 0; };
  const bool ordered = fold.op == ReduceOp::kArgMax || fold.op == ReduceOp::kArgMin;  // the place counts in this order
  if (!ordered) {
    std::stable_sort(over.begin(), over.end(),
                     [&](const IndexVar& a, const IndexVar& b) { return stride(a) > stride(b); });
  }
  std::vector<IndexVar> space;
  std::vector<int> axes;
  std::size_t kept = 0, folded = 0;
  while (kept < piece.space.size() || folded < over.size()) {
    const bool take_kept =
        folded == over.size() || (kept < piece.space.size() && stride(piece.space[kept]) >= stride(over[folded]));
    if (!take_kept) axes.push_back(static_cast<int>(space.size()));
    space.push_back(take_kept ? piece.space[kept++] : over[folded++]);
  }
  if (axes.empty()) return std::nullopt;
  auto body = names.Term(fold.body, space, {});
  if (!body) return std::nullopt;
  // The space has to be the operands' broadcast shape: a dimension that no operand has would be lost.
  for (const auto& var : space) {
    if (std::none_of(loads.begin(), loads.end(), [&](const FlatLoad& load) { return load.position->of(var) != 0; }))
      return std::nullopt;
  }
  dsl::Statement statement;
  statement.family = "reduce";
  statement.variant = FoldWord(fold.op);
  statement.operands.push_back(std::move(*body));
  statement.axes = axes;
  statement.target_shape = Extents(piece.space);
  Names::Known known;
  for (const auto& statistic : piece.statistics) {
    auto let = LetOf(names, statistic, space, known);
    if (!let) return std::nullopt;
    statement.lets.push_back(std::move(*let));
  }
  if (!AddEpilogue(names, statement, fold.finish, piece.space, known)) return std::nullopt;
  return statement;
}

}  // namespace

HONE_ROW(Recogniser){.name = "reduce", .form = Form::kMerged, .place = 60, .recognise = RecogniseReduce};

}  // namespace hone::expert::recogniser_reduce
