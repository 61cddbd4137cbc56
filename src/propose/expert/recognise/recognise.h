// What a piece is in the language: one file a kind of statement, each sees it from the piece's expressions alone.
#pragma once

#include <optional>
#include <string>

#include "propose/expert/names.h"
#include "propose/expert/pieces.h"

namespace hone::expert {

// Gives the statement without its target; `target_shape` is the shape of the family's result. Nothing if the piece is
// not of this kind. The writer asks the language's checker whether it takes the statement, and asks on if not.
using Recogniser = std::optional<dsl::Statement>(Names& names, const Piece& piece);

// Of plain pieces, in as few dimensions as they have.
Recogniser RecogniseMap, RecogniseMatmul, RecogniseNorm, RecogniseReduce, RecogniseSoftmax;
// Of pieces as they come.
Recogniser RecogniseAttention, RecogniseConv, RecogniseFoldedProduct, RecogniseGroupedProduct, RecogniseNest,
    RecognisePool, RecogniseProducts, RecogniseScan;

// Adds the end of a fold to the statement's chain; false if it has no form there. `known`: what it reads beside `it`.
bool AddEpilogue(Names& names, dsl::Statement& statement, const Expr& finish, const std::vector<IndexVar>& space,
                 Names::Known known = {});
// A piece's statistic as a let over `space`, which may read those that are known and is added to them. Nothing if it
// has no such form.
std::optional<dsl::Let> LetOf(Names& names, const Piece& statistic, const std::vector<IndexVar>& space,
                              Names::Known& known);

}  // namespace hone::expert
