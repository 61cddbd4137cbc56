// Where the elements are whose places in their row's order are 0, 1, 2 ..., and what they are: order.
#include "expr/ranked_fold.h"
#include "propose/expert/recognise/recognise.h"

namespace hone::expert::recogniser_order {
namespace {

bool IsZero(const Expr& expr) { return ConstantNumber(expr) == 0; }

// sum over k of (place(k) == j ? k : 0), where nobody asks for more than one place without j: the load of the places.
Expr PlacesOf(const Fold& fold, const std::optional<IndexVar>& j) {
  if (fold.op != ReduceOp::kSum || fold.over.size() != 1 || fold.body->kind != Expr::Kind::kSelect) return {};
  const Expr &condition = fold.body->operands[0], &then = WithoutWholeCasts(fold.body->operands[1]);
  if (!IsIndex(then, fold.over[0]) || !IsZero(fold.body->operands[2]) || condition->kind != Expr::Kind::kBinary ||
      condition->binary != BinaryOp::kEqual)
    return {};
  Expr place = condition->operands[0], wanted = condition->operands[1];
  if (place->kind != Expr::Kind::kLoad) std::swap(place, wanted);
  const bool is_wanted = j ? IsIndex(wanted, *j) : IsZero(wanted);
  return place->kind == Expr::Kind::kLoad && is_wanted ? place : Expr();
}

std::optional<dsl::Statement> RecogniseOrder(Names& names, const Piece& piece) {
  if (piece.inside.size() != 1 || !piece.fold || !piece.inside[0].fold || piece.fold->over.size() != 1)
    return std::nullopt;
  const Piece& ranks = piece.inside[0];
  if (!IsValue(ranks.fold->finish, kIt)) return std::nullopt;
  const auto ranked = RankedFoldOf(*Reduce(ranks.fold->op, ranks.fold->over, ranks.fold->body));
  if (!ranked) return std::nullopt;
  std::size_t axis = 0;
  while (axis < ranks.space.size() && ranks.space[axis].id != ranked->along.id) ++axis;
  if (axis == ranks.space.size()) return std::nullopt;
  // The result's dimensions are the row's, of which that along it is gone where one element is wanted.
  std::vector<IndexVar> result = piece.space;
  const bool one = result.size() + 1 == ranks.space.size();
  if (one) result.insert(result.begin() + static_cast<std::ptrdiff_t>(axis), NewIndex(1));
  if (result.size() != ranks.space.size()) return std::nullopt;
  const Expr places = PlacesOf(*piece.fold, one ? std::nullopt : std::optional(result[axis]));
  if (!places || names.memory().Root(places->buffer) != ranks.buffer) return std::nullopt;
  std::vector<IndexVar> read = result;
  read[axis] = piece.fold->over[0];
  if (Extents(read) != Extents(ranks.space) || names.memory().Position(*places) != OwnPosition(read))
    return std::nullopt;

  Shape reached(ranks.space.size(), 1);
  for (const auto& load : names.memory().Loads(ranked->element)) {
    if (!load.position) return std::nullopt;
    for (std::size_t d = 0; d < reached.size(); ++d) {
      if (load.position->of(ranks.space[d]) != 0) reached[d] = ranks.space[d].extent;
    }
  }
  if (reached != Extents(ranks.space)) return std::nullopt;
  auto term = names.Term(ranked->element, ranks.space, {});
  if (!term) return std::nullopt;
  dsl::Statement statement;
  statement.family = "order";
  statement.variant = ranked->descending ? "descending" : "ascending";
  statement.operands.push_back(std::move(*term));
  statement.axes = {static_cast<int>(axis)};
  statement.attributes["count"] = {result[axis].extent};
  statement.target_shape = Extents(result);
  if (!AddEpilogue(names, statement, piece.fold->finish, result)) return std::nullopt;
  for (const Piece& one : piece.also) {
    const auto made = OfOrdered(names.memory(), one, piece);
    if (!made) return std::nullopt;
    auto value = names.Term(*made, result, {.values = {{kIt, dsl::It()}}});
    if (!value) return std::nullopt;
    AddAlso(statement, std::move(*value));
  }
  return statement;
}

}  // namespace

HONE_ROW(Recogniser){.name = "order", .form = Form::kAround, .place = 50, .recognise = RecogniseOrder};

}  // namespace hone::expert::recogniser_order
