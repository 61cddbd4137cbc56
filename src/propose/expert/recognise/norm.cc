// Statistics over axes and every element computed with them: norm.
#include <algorithm>

#include "propose/expert/recognise/recognise.h"

namespace hone::expert {
namespace {

using dsl::TermPtr;

TermPtr ReplaceName(const TermPtr& term, const std::string& name, const TermPtr& with) {
  if (term->kind == dsl::Term::Kind::kName && term->name == name) return with;
  if (term->kind != dsl::Term::Kind::kCall) return term;
  std::vector<TermPtr> arguments;
  for (const auto& argument : term->arguments) arguments.push_back(ReplaceName(argument, name, with));
  return dsl::Call(term->name, std::move(arguments));
}

}  // namespace

std::optional<dsl::Let> LetOf(Names& names, const Piece& statistic, const std::vector<IndexVar>& space,
                              std::map<int, std::string>& lets) {
  const Fold& fold = *statistic.fold;
  auto body = names.Term(fold.body, space, lets);
  if (!body) return std::nullopt;
  const std::string word = fold.op == ReduceOp::kMax   ? "max_over"
                           : fold.op == ReduceOp::kMin ? "min_over"
                                                       : std::string(FoldWord(fold.op));
  const TermPtr folded = dsl::Call(word, {std::move(*body)});
  // The finish around it, with the fold's call where `it` is.
  const std::string placeholder = "it";
  std::map<int, std::string> inside = lets;
  inside[kIt] = placeholder;
  auto finish = names.Term(fold.finish, space, inside);
  if (!finish) return std::nullopt;
  dsl::Let let;
  const auto& buffers = names.memory().graph().buffers();
  let.name = names.Fresh(statistic.buffer < 0 ? word : buffers[static_cast<std::size_t>(statistic.buffer)].name);
  let.value = ReplaceName(*finish, placeholder, folded);
  lets[statistic.buffer] = let.name;
  return let;
}

std::optional<dsl::Statement> RecogniseNorm(Names& names, const Piece& piece) {
  if (piece.statistics.empty() || piece.fold) return std::nullopt;
  dsl::Statement statement;
  statement.family = "norm";
  statement.axes = piece.axes;
  statement.target_shape = Extents(piece.space);
  std::map<int, std::string> lets;
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
    auto let = LetOf(names, statistic, piece.space, lets);
    if (!let) return std::nullopt;
    statement.lets.push_back(std::move(*let));
  }
  auto element = names.Term(piece.value, piece.space, lets);
  if (!element) return std::nullopt;
  statement.epilogue.push_back(std::move(*element));
  return statement;
}

}  // namespace hone::expert
