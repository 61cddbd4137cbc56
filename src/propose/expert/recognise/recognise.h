// What a piece is in the language: one file a kind of statement, a row of a table that the build generates. Each sees
// it from the piece's expressions alone.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/row.h"
#include "propose/expert/names.h"
#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"
#include "propose/expert/rotated_heads.h"

namespace hone::expert {

// Which pieces are shown to it, and how.
enum class Form {
  kAround,  // with other pieces inside, of which it makes one statement; else they are written by themselves
  kMerged,  // plain, in as few dimensions as they have
  kAsItIs,
  kStep,  // the only one of a sequence
};

struct Recogniser {
  std::string_view name;  // the file's
  Form form = Form::kAsItIs;
  // Who is asked first: the lower one. kMerged and kAsItIs are asked in one order.
  int place = 0;
  // Gives the statement without its target; `target_shape` is the shape of the family's result. Nothing if the piece is
  // not of this kind. The writer asks the language's checker whether it takes the statement, and asks on if not.
  std::optional<dsl::Statement> (*recognise)(Names& names, const Piece& piece);
};

std::span<const Recogniser* const> AllRecognisers();  // sorted by name

// What others are made of.
std::optional<dsl::Statement> RecogniseMatmul(Names& names, const Piece& piece);
std::optional<dsl::Statement> RecogniseNest(Names& names, const Piece& piece);
// A product that turns some of its heads, whose numbers it reads, if `numbers` has a family, from what that makes.
std::optional<dsl::Statement> RecogniseRotatedHeads(Names& names, const RotatedHeads& made, dsl::Statement& numbers);
// Two products over the same dimensions, each a statement by `of_one`, of which the end of `last` reads `first`: the
// statement of `last`, with the other as a let. Nothing if they do not share all operands but the second.
using RecogniseProduct = std::function<std::optional<dsl::Statement>(Names& names, const Piece& piece)>;
std::optional<dsl::Statement> RecogniseTogether(Names& names, Piece last, Piece first, const RecogniseProduct& of_one);

// What expressions are looked at for: an index by itself.
inline bool IsIndex(const Expr& expr, const IndexVar& var) {
  return expr->kind == Expr::Kind::kIndex && expr->index.id == var.id;
}

// Adds a further result, of the statement's shape.
inline void AddAlso(dsl::Statement& statement, dsl::TermPtr value) {
  statement.also.push_back(
      {.target = {}, .target_type = {}, .target_shape = statement.target_shape, .value = std::move(value), .at = {}});
}
// Adds the end of a fold to the statement's chain; false if it has no form there. `known`: what it reads beside `it`.
bool AddEpilogue(Names& names, dsl::Statement& statement, const Expr& finish, const std::vector<IndexVar>& space,
                 Names::Known known = {});
// A piece's statistic as a let over `space`, which may read those that are known and is added to them. Nothing if it
// has no such form.
std::optional<dsl::Let> LetOf(Names& names, const Piece& statistic, const std::vector<IndexVar>& space,
                              Names::Known& known);

}  // namespace hone::expert
