// Products with rows that are all 0 but for a 1 where a number says, as classes are written and as a codebook's nearest
// code is taken: such a row times a matrix is one row of the matrix, which is looked up.
#include <algorithm>

#include "propose/expert/fuser.h"
#include "propose/expert/normalise.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

Expr Uncast(const Expr& e) { return e->kind == Expr::Kind::kCast ? Uncast(e->operands[0]) : e; }

// The condition under which a factor is 1; it is 0 otherwise. Null if it is another factor.
Expr ConditionOf(const Expr& factor) {
  const Expr plain = Uncast(factor);
  if (plain->type == ScalarType::kBool) return IsBinary(plain, BinaryOp::kEqual) ? plain : Expr();
  if (plain->kind != Expr::Kind::kSelect || ConstantNumber(plain->operands[1]) != 1 ||
      ConstantNumber(plain->operands[2]) != 0)
    return {};
  const Expr& condition = plain->operands[0];
  return IsBinary(condition, BinaryOp::kEqual) ? condition : Expr();
}

// What the index has to be for the condition to hold, of numbers that are no index of the fold. Null if it is not
// known.
Expr PlaceWhere(const Expr& condition, const IndexVar& index) {
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const Expr own = Uncast(condition->operands[side]), place = condition->operands[1 - side];
    if (own->kind == Expr::Kind::kIndex && own->index.id == index.id && place->type == ScalarType::kInt &&
        !UsesIndex(place, index.id) && !HasReduce(place))
      return place;
  }
  return {};
}

// The row that is looked up, where the fold is a product with such rows.
Expr RowLookedUp(const Fold& fold) {
  if (fold.op != ReduceOp::kSum || fold.over.size() != 1 || !IsBinary(fold.body, BinaryOp::kMul)) return {};
  const IndexVar& index = fold.over[0];
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const Expr condition = ConditionOf(fold.body->operands[side]);
    const Expr place = condition ? PlaceWhere(condition, index) : Expr();
    if (!place) continue;
    const Expr row = Substitute(fold.body->operands[1 - side],
                                [&](const IndexVar& var) { return var.id == index.id ? place : Expr(); });
    const Expr nothing = row->type == ScalarType::kInt ? Expr(0) : Expr(0.0);
    return Select(And(LessEqual(Expr(0), place), Less(place, Expr(index.extent))), row, nothing);
  }
  return {};
}

}  // namespace

// Whether maps that do nothing else but compare whole numbers, and convert what comes of it, make what is read.
bool Fuser::MayBeOneHot(const Expr& e, int depth) const {
  const Expr plain = Uncast(e);
  if (depth == 0 || plain->kind != Expr::Kind::kLoad) return static_cast<bool>(ConditionOf(e));
  const int maker = maker_[Id(memory_.Root(plain->buffer))];
  return maker >= 0 && IsSimpleMap(static_cast<std::size_t>(maker)) &&
         MayBeOneHot(pieces_[static_cast<std::size_t>(maker)].value, depth - 1);
}

void Fuser::LookUpOneHotRows() {
  constexpr int kMostMaps = 4;  // a comparison, to whole numbers, to reals, to 16 bits
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || !pieces_[i].fold || !pieces_[i].inside.empty() || !pieces_[i].statistics.empty() ||
        !IsBinary(pieces_[i].fold->body, BinaryOp::kMul))
      continue;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      if (!MayBeOneHot(pieces_[i].fold->body->operands[side], kMostMaps)) continue;
      Piece product = pieces_[i];
      Expr row = RowLookedUp(*product.fold);
      for (int step = 0; step <= kMostMaps && !row; ++step) {
        // The maps of this factor, with the places that its comparison reads.
        for (const auto& load : memory_.Loads(product.fold->body->operands[side])) {
          const int maker = maker_[Id(load.buffer)];
          if (maker < 0 || !IsSimpleMap(static_cast<std::size_t>(maker))) continue;
          auto with = Inlined(pieces_[static_cast<std::size_t>(maker)], product);
          if (!with || !IsBinary(with->fold->body, BinaryOp::kMul)) continue;
          product = std::move(*with);
          break;
        }
        row = RowLookedUp(*product.fold);
      }
      if (!row) continue;
      product.value = Simplify(ReplaceValue(product.fold->finish, kIt, row));
      product.fold.reset();
      pieces_[i] = std::move(product);
      Learn(i);
      break;
    }
  }
}

}  // namespace hone::expert
