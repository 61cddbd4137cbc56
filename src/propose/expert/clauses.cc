// The clauses that statements of several kinds have.
#include "propose/expert/recognise/recognise.h"

namespace hone::expert {

bool AddEpilogue(Names& names, dsl::Statement& statement, const Expr& finish, const std::vector<IndexVar>& space,
                 Names::Known known) {
  if (IsValue(finish, kIt)) return true;
  known.values[kIt] = dsl::It();
  auto term = names.Term(finish, space, known);
  if (term) statement.epilogue.push_back(std::move(*term));
  return term.has_value();
}

std::optional<dsl::Let> LetOf(Names& names, const Piece& statistic, const std::vector<IndexVar>& space,
                              Names::Known& known) {
  const Fold& fold = *statistic.fold;
  auto body = names.Term(fold.body, space, known);
  if (!body) return std::nullopt;
  const std::string word = fold.op == ReduceOp::kMax   ? "max_over"
                           : fold.op == ReduceOp::kMin ? "min_over"
                                                       : std::string(FoldWord(fold.op));
  // The finish, with the fold's call where `it` is.
  Names::Known inside = known;
  inside.values[kIt] = dsl::Call(word, {std::move(*body)});
  auto finish = names.Term(fold.finish, space, inside);
  if (!finish) return std::nullopt;
  dsl::Let let;
  const auto& buffers = names.memory().graph().buffers();
  const bool alone = statistic.buffer >= 0;
  let.name = names.Fresh(alone ? buffers[static_cast<std::size_t>(statistic.buffer)].name : word);
  let.value = std::move(*finish);
  (alone ? known.lets[statistic.buffer] : known.values[{NamedValue::Kind::kInside, -1 - statistic.buffer}]) =
      dsl::Name(let.name);
  return let;
}

}  // namespace hone::expert
