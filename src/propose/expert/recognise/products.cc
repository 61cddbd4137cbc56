// Two products of one left operand, of which the end of one reads the other: one matmul with a let.
#include <string>

#include "propose/expert/recognise/recognise.h"

namespace hone::expert {

std::optional<dsl::Statement> RecogniseTogether(Names& names, Piece last, Piece first, const RecogniseProduct& of_one) {
  const Memory& memory = names.memory();
  if (Extents(last.space) != Extents(first.space)) return std::nullopt;
  const Expr end = last.fold->finish, first_end = InIndices(first.fold->finish, first.space, last.space);
  last.fold->finish = first.fold->finish = Value(kIt, ScalarType::kReal);
  auto statement = of_one(names, last);
  const auto other = of_one(names, first);
  if (!statement || !other) return std::nullopt;
  for (std::size_t o = 0; o < statement->operands.size(); ++o) {
    if (o != 1 && dsl::Print(statement->operands[o]) != dsl::Print(other->operands[o])) return std::nullopt;
  }
  const std::string name = names.Fresh(memory.graph().buffers()[static_cast<std::size_t>(first.buffer)].name);
  const auto value = names.Term(first_end, last.space, {.values = {{kIt, dsl::Name(name)}}, .lets = {}});
  if (!value) return std::nullopt;
  statement->lets.push_back({name, dsl::Call("product", {other->operands[1]}), {}});
  // By the same kernel, or it is no better than two.
  statement->settings["products"] = {"together"};
  const Names::Known known{.values = {}, .lets = {{first.buffer, *value}}};
  if (!AddEpilogue(names, *statement, end, last.space, known)) return std::nullopt;
  return statement;
}

}  // namespace hone::expert

namespace hone::expert::recogniser_products {

namespace {

std::optional<dsl::Statement> RecogniseProducts(Names& names, const Piece& piece) {
  const Memory& memory = names.memory();
  if (piece.inside.size() != 1 || !piece.fold || !piece.inside[0].fold) return std::nullopt;
  Piece last = piece, first = piece.inside[0];
  last.inside.clear();
  if (!IsPlain(memory, last) || !IsPlain(memory, first)) return std::nullopt;
  for (const FlatLoad& load : memory.Loads(last.fold->body)) {
    if (load.buffer == first.buffer) return std::nullopt;  // attention that no kernel takes
  }
  MergeDimensions(memory, last);
  MergeDimensions(memory, first);
  return RecogniseTogether(names, std::move(last), std::move(first), RecogniseMatmul);
}

}  // namespace

HONE_ROW(Recogniser){.name = "products", .form = Form::kAround, .place = 20, .recognise = RecogniseProducts};

}  // namespace hone::expert::recogniser_products
