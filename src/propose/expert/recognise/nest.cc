// Anything: an element written out over named indices.
#include <algorithm>

#include "propose/expert/recognise/recognise.h"

namespace hone::expert {
namespace {

// Whether every load has the two side by side, in whole dimensions, or none of them, and they are nothing else: longer
// inner loops.
bool AreOne(const Memory& memory, const Expr& value, const IndexVar& outer, const IndexVar& inner) {
  bool one = true;
  const auto is = [](const Expr& e, const IndexVar& var) {
    return e->kind == Expr::Kind::kIndex && e->index.id == var.id;
  };
  const std::function<void(const Expr&)> look = [&](const Expr& e) {
    if (!one) return;
    one = !is(e, outer) && !is(e, inner);
    if (e->kind != Expr::Kind::kLoad) {
      for (const auto& operand : e->operands) look(operand);
      return;
    }
    const Shape& shape = memory.shape(e->buffer);
    const auto& at = e->operands;
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (at.size() == shape.size() && d + 1 < at.size() && is(at[d], outer) && is(at[d + 1], inner) &&
          shape[d] == outer.extent && shape[d + 1] == inner.extent) {
        ++d;
      } else {
        look(at[d]);
      }
    }
  };
  look(value);
  return one;
}

}  // namespace

std::optional<dsl::Statement> RecogniseNest(Names& names, const Piece& piece) {
  if (!piece.statistics.empty()) return std::nullopt;
  Expr value = piece.value;
  if (piece.fold) {
    const Expr folded = Reduce(piece.fold->op, piece.fold->over, piece.fold->body);
    value = ReplaceValue(piece.fold->finish, kIt, folded);
  }
  std::vector<IndexVar> space = piece.space;
  if (space.empty()) space.push_back(NewIndex(1));  // a nest has an index
  dsl::Statement statement;
  statement.family = "nest";
  const auto words = names.IndexNames(space.size(), {});
  Names::Indices indices;
  std::int64_t extent = 1;
  for (std::size_t d = 0; d < space.size(); ++d) {
    extent *= space[d].extent;
    // The steps of a sequence keep the dimensions by which others of it read them.
    if (piece.sequence < 0 && d + 1 < space.size() && AreOne(names.memory(), value, space[d], space[d + 1])) {
      indices.joined[space[d].id] = space[d + 1].id;
      continue;
    }
    const std::string& word = words[statement.loops.size()];
    indices.names[space[d].id] = word;
    statement.loops.push_back({word, extent});
    extent = 1;
  }
  for (const auto& loop : statement.loops) statement.target_shape.push_back(loop.extent);
  auto term = names.Nested(value, indices);
  if (!term) return std::nullopt;
  statement.operands.push_back(std::move(*term));
  if (piece.sequence >= 0) {
    statement.attributes["sequence"] = {piece.sequence};
    statement.attributes["along"] = {piece.along};
    statement.attributes["reversed"] = {piece.reversed ? 1 : 0};
  }
  return statement;
}

}  // namespace hone::expert

namespace hone::expert::recogniser_nest {

HONE_ROW(Recogniser){.name = "nest", .form = Form::kAsItIs, .place = 80, .recognise = RecogniseNest};

}  // namespace hone::expert::recogniser_nest
