// Products and what one kernel makes with them: a fold, another product, groups of rows.
#include <algorithm>
#include <map>

#include "expr/ranked_fold.h"
#include "propose/expert/broadcast_product.h"
#include "propose/expert/fuser.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {

void Fuser::FindPicks() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!IsProduct(pieces_[i]) || !OfHalves(pieces_[i])) continue;
    Scores scores = ScoresOf(memory_, pieces_, i, [&](int buffer) { return Readers(buffer); });
    scores_.merge(scores.maps);
    picks_.merge(scores.picks);
  }
}

// Maps of scores that nobody wants but sums of rows and who picks few of them. As logarithms of probabilities they are
// scores and what is the same for a row.
bool Fuser::IsTakenApart(std::size_t scores) const {
  return scores_.count(scores) > 0 && std::ranges::all_of(Readers(pieces_[scores].buffer), [&](std::size_t reader) {
           const auto& fold = pieces_[reader].fold;
           return picks_.count(reader) > 0 ||
                  (fold && fold->op == ReduceOp::kSum && fold->body->kind == Expr::Kind::kLoad);
         });
}

// One of f32 that no piece makes any more, for what has none of its own.
std::optional<int> Fuser::BufferOfScores() const {
  for (const std::size_t scores : scores_) {
    const int buffer = pieces_[scores].buffer;
    if (!known_[scores].alive && maker_[Id(buffer)] < 0 && readers_[Id(buffer)].empty() &&
        memory_.graph().buffers()[Id(buffer)].dtype == DType::kF32 && memory_.KeptAs(buffer) == DType::kF32)
      return buffer;
  }
  return std::nullopt;
}

// A product is inside of the logarithms that read it, of all rows or of some each, and made again for those few
// elements. One sum of each row is a product of its own with the sum of the columns.
void Fuser::GroupLogSums() {
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    const Piece& product = pieces_[p];
    if (!known_[p].alive || !IsProduct(product) || !product.inside.empty() || !OfHalves(product) ||
        memory_.IsOutput(product.buffer))
      continue;
    std::map<std::size_t, Piece> changed;
    std::optional<Piece> columns;
    const std::int64_t elements = ElementCount(Extents(product.space));
    std::int64_t folded = 0;
    for (const std::size_t reader : Readers(product.buffer)) {
      const Piece& read_by = pieces_[reader];
      std::optional<Piece> made;
      if (!read_by.fold) {
        if (picks_.count(reader) > 0) made = Picked(memory_, read_by, product);
      } else if (read_by.inside.empty() && !LoadsBuffer(read_by.fold->finish, product.buffer)) {
        made = AroundProduct(product, read_by);
        const auto buffer = made && !columns && !EndOfLogSum(read_by) ? BufferOfScores() : std::nullopt;
        if (buffer) {
          auto summed = SumOfProduct(memory_, *made, *buffer);
          if (summed) columns = std::move(summed->columns);
          made = summed ? std::optional(std::move(summed->rows)) : std::nullopt;
        } else if (EndOfLogSum(read_by)) {
          folded += known_[reader].count;
        } else {
          made.reset();
        }
      }
      if (!made) break;
      changed.emplace(reader, std::move(*made));
    }
    if (changed.size() < Readers(product.buffer).size() || folded == 0 || folded > elements) continue;
    Kill(p);
    if (columns) {
      maker_[Id(columns->buffer)] = static_cast<int>(p);
      pieces_[p] = std::move(*columns);
      known_[p].alive = true;
      Learn(p);
    }
    for (auto& [reader, made] : changed) {
      pieces_[reader] = std::move(made);
      Learn(reader);
    }
  }
}

// A product of halves that a kernel makes with another one: with what is inside of it, if anything, it says which of
// several right operands each row has (GroupRows).
bool Fuser::GoesTogether(std::size_t at) const {
  const Piece& product = pieces_[at];
  if (!known_[at].alive || !IsProduct(product)) return false;
  bool halves = true;
  VisitValues(product.fold->body, [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kLoad) halves &= IsHalf(memory_.KeptAs(memory_.Root(node.buffer)));
  });
  const bool of_groups = product.inside.size() == 1 && !IsProduct(product.inside[0]);
  return halves && (of_groups || (product.inside.empty() && (known_[at].plain || !product.looked_up.empty())));
}

// Such a product and the one map that reads it, in slices.
void Fuser::GroupSlices(std::optional<Piece> (*of_slices)(const Memory&, const Piece&, const Piece&)) {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!GoesTogether(i) || memory_.IsOutput(pieces_[i].buffer)) continue;
    const auto readers = Readers(pieces_[i].buffer);
    if (readers.size() != 1 || !IsSimpleMap(readers[0]) || !known_[readers[0]].plain) continue;
    auto made = of_slices(memory_, pieces_[i], pieces_[readers[0]]);
    if (!made) continue;
    pieces_[readers[0]] = std::move(*made);
    Kill(i);
    Learn(readers[0]);
  }
}

// A product whose end reads, at its own place, another product of the same size that nobody else reads. Whether they
// share an operand is for the recogniser to see; only in 16 bits is there a kernel that makes both.
void Fuser::GroupProducts() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!GoesTogether(i)) continue;
    const Affine own = OwnPosition(pieces_[i].space);
    for (const auto& load : memory_.Loads(pieces_[i].fold->finish)) {
      const int maker = maker_[Id(load.buffer)];
      if (maker < 0 || load.position != own || memory_.IsOutput(load.buffer) ||
          Readers(load.buffer) != std::vector<std::size_t>{i} || LoadsBuffer(pieces_[i].fold->body, load.buffer))
        continue;
      const auto other = static_cast<std::size_t>(maker);
      if (!GoesTogether(other) || pieces_[other].inside.size() != pieces_[i].inside.size() ||
          pieces_[other].looked_up.size() != pieces_[i].looked_up.size() ||
          ElementCount(Extents(pieces_[i].space)) != ElementCount(Extents(pieces_[other].space)))
        continue;
      pieces_[i].inside.push_back(pieces_[other]);
      Kill(other);
      Learn(i);
      break;
    }
  }
}

// Products that are the same along some of their dimensions have those no more, where all that read them are maps and
// products, which do.
void Fuser::MakeProductsOnce() {
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    if (!known_[p].alive || !IsProduct(pieces_[p]) || memory_.IsOutput(pieces_[p].buffer)) continue;
    const auto once = BroadcastProductOf(memory_, pieces_[p]);
    if (!once || once->map.value->kind != Expr::Kind::kLoad) continue;
    const auto reads = [&](std::size_t reader) { return IsSimpleMap(reader) || IsProduct(pieces_[reader]); };
    if (!std::ranges::all_of(Readers(pieces_[p].buffer), reads) || !ReadElsewhere(once->map)) continue;
    pieces_[p] = once->product;
    Learn(p);
  }
}

// A product of halves of which one map alone turns pairs of columns. Where several read it, which heads are turned is
// for the writer to see (rotated_heads.h).
void Fuser::RotateProducts() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& product = pieces_[i];
    if (!known_[i].alive || !IsProduct(product) || !product.inside.empty() || !product.looked_up.empty() ||
        !OfHalves(product) || memory_.IsOutput(product.buffer))
      continue;
    const auto readers = Readers(product.buffer);
    pieces_[i].may_rotate = readers.size() > 1;
    if (readers.size() != 1 || !IsSimpleMap(readers[0])) continue;
    Piece& map = pieces_[readers[0]];
    if (!map.inside.empty() || !map.also.empty() || !RotatedProduct(memory_, product, map)) continue;
    map.inside.push_back(product);
    Kill(i);
    Learn(readers[0]);
  }
}

// A product that looks up, in a fold that nobody else reads, which of several right operands each row has. Whether
// that counts the ends of groups is for the recogniser to see.
void Fuser::GroupRows() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || !IsProduct(pieces_[i]) || !pieces_[i].inside.empty()) continue;
    for (const int read : std::vector<int>(known_[i].reads)) {
      const int maker = maker_[Id(read)];
      if (maker < 0 || memory_.IsOutput(read) || Readers(read) != std::vector<std::size_t>{i} ||
          LoadsBuffer(pieces_[i].fold->finish, read))
        continue;
      const auto group = static_cast<std::size_t>(maker);
      if (!pieces_[group].fold || !pieces_[group].inside.empty() || pieces_[group].space.size() != 1 ||
          memory_.graph().buffers()[Id(read)].dtype != DType::kI64)
        continue;
      pieces_[i].inside = {pieces_[group]};
      Kill(group);
      Learn(i);
      break;
    }
  }
}

// Whether the map looks up matrices that the other one multiplies, element by element, for long sums of that alone: a
// product that is spelled out, and chooses them (GroupChoices) once it is one.
bool Fuser::LooksUpFactors(std::size_t map_at, std::size_t reader_at) const {
  constexpr std::int64_t kLong = 64, kColumns = 16;
  const Expr &value = pieces_[map_at].value, &product = pieces_[reader_at].value;
  const auto readers = Readers(pieces_[reader_at].buffer);
  if (value->kind != Expr::Kind::kLoad || !pieces_[reader_at].is_map() || !IsBinary(product, BinaryOp::kMul) ||
      memory_.IsOutput(pieces_[reader_at].buffer) || readers.size() != 1)
    return false;
  const auto is_load = [](const Expr& factor) { return factor->kind == Expr::Kind::kLoad; };
  const auto& fold = pieces_[readers[0]].fold;
  if (!std::ranges::all_of(product->operands, is_load) || !fold || fold->op != ReduceOp::kSum || !is_load(fold->body))
    return false;
  std::vector<IndexVar> chosen_by;
  for (const Expr& place : value->operands) {
    Visit(place, [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad) return;
      for (const IndexVar& var : VarsIn(node)) {
        if (std::ranges::none_of(chosen_by, [&](const IndexVar& other) { return other.id == var.id; }))
          chosen_by.push_back(var);
      }
    });
  }
  const std::int64_t terms = ElementCount(Extents(fold->over));
  return terms >= kLong && known_[map_at].count >= ElementCount(Extents(chosen_by)) * terms * kColumns;
}

// A product and the map that looks one of its factors up, matrix by matrix, for it alone. Whether it does so is for the
// recogniser to see.
void Fuser::GroupChoices() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || !IsProduct(pieces_[i]) || !known_[i].plain || !pieces_[i].looked_up.empty()) continue;
    for (const int read : std::vector<int>(known_[i].reads)) {
      const int maker = maker_[Id(read)];
      if (maker < 0 || memory_.IsOutput(read) || !IsSimpleMap(Id(maker)) || known_[Id(maker)].plain ||
          pieces_[Id(maker)].value->kind != Expr::Kind::kLoad || !pieces_[Id(maker)].also.empty() ||
          Readers(read) != std::vector<std::size_t>{i} || LoadsBuffer(pieces_[i].fold->finish, read))
        continue;
      pieces_[i].looked_up = {pieces_[Id(maker)]};
      Kill(Id(maker));
      Learn(i);
      break;
    }
  }
}

// Products of f32 are packed before they are multiplied on the tensor cores: only scores that would take longer to be
// written and read are worth it.
bool Fuser::IsWorthFolding(const Piece& product, const Fold& fold) const {
  constexpr std::int64_t kManyScores = 1 << 22;
  if (OfHalves(product)) return true;
  return (fold.op != ReduceOp::kSum && fold.op != ReduceOp::kProd) &&
         memory_.graph().buffers()[Id(product.buffer)].dtype == DType::kF32 &&
         ElementCount(Extents(product.space)) >= kManyScores;
}

// The fold that finds an extreme goes beside the one that finds its place, if both are of the same elements: where that
// is then, nothing if they are not.
std::optional<std::size_t> Fuser::JoinExtreme(std::size_t place, std::size_t extreme) {
  Piece both = pieces_[place], one = pieces_[extreme];
  if (!one.fold || !one.inside.empty() || !one.statistics.empty() || Extents(one.space) != Extents(both.space) ||
      Extents(one.fold->over) != Extents(both.fold->over) ||
      one.fold->op != (both.fold->op == ReduceOp::kArgMax ? ReduceOp::kMax : ReduceOp::kMin))
    return std::nullopt;
  std::vector<IndexVar> from = one.space, to = both.space;
  from.insert(from.end(), one.fold->over.begin(), one.fold->over.end());
  to.insert(to.end(), both.fold->over.begin(), both.fold->over.end());
  one.fold->body = InIndices(one.fold->body, from, to);
  one.fold->finish = InIndices(one.fold->finish, from, to);
  const auto at = SameExpr(memory_.Flat(one.fold->body), memory_.Flat(both.fold->body)) ? PlaceOfBoth(place, extreme)
                                                                                        : std::nullopt;
  if (!at) return std::nullopt;
  one.space = both.space;
  one.fold->over = both.fold->over;
  Kill(place);
  Kill(extreme);
  maker_[Id(one.buffer)] = maker_[Id(both.buffer)] = static_cast<int>(*at);
  both.also = {std::move(one)};
  pieces_[*at] = std::move(both);
  known_[*at].alive = true;
  Learn(*at);
  return at;
}

// A product and the one fold over one dimension that reads it, in that fold's indices; or the two that find an extreme
// and its place. What its end reads may go into it then. Whether rows or columns are folded is for the recogniser to
// see.
void Fuser::GroupFoldedProducts() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    Piece& piece = pieces_[i];
    if (!known_[i].alive || !piece.fold || IsProduct(piece) || !piece.inside.empty() || !piece.statistics.empty() ||
        piece.fold->over.size() != 1)
      continue;
    for (const int read : std::vector<int>(known_[i].reads)) {
      const int maker = maker_[Id(read)];
      if (maker < 0 || memory_.IsOutput(read)) continue;
      const auto product = static_cast<std::size_t>(maker);
      if (!IsProduct(pieces_[product]) || !pieces_[product].inside.empty() ||
          !IsWorthFolding(pieces_[product], *piece.fold) || LoadsBuffer(piece.fold->finish, read))
        continue;
      auto folded = AroundProduct(pieces_[product], piece);
      if (!folded) continue;
      std::vector<std::size_t> readers = Readers(read);
      std::erase(readers, i);
      if (readers.size() > 1 || (readers.size() == 1 && !IsArg(piece.fold->op))) continue;
      std::size_t at = i;
      if (readers.empty()) {
        piece = std::move(*folded);
      } else {
        auto as_read = AsRead(pieces_[product], piece);
        const auto joined = as_read ? JoinExtreme(i, readers[0]) : std::nullopt;
        if (!joined) continue;
        at = *joined;
        pieces_[at].inside = {std::move(*as_read)};
      }
      Kill(product);
      Learn(at);
      break;
    }
  }
  InlineWhere([&](std::size_t map, std::size_t reader) {
    const Piece& piece = pieces_[reader];
    if (!piece.fold || piece.inside.size() != 1) return false;
    const auto& inner = piece.inside[0].fold;
    // What was rounded for the product inside stays so, as it does for any other.
    if (rounded_ && RoundsToHalves(map) && inner && LoadsBuffer(inner->body, pieces_[map].buffer)) return false;
    return IsWorth(map, reader);
  });
}

// A fold that looks for what has a place in order, and the places, which nobody else reads. Whether it says where
// that is is for the recogniser to see.
void Fuser::GroupOrders() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || !pieces_[i].fold || !pieces_[i].inside.empty()) continue;
    for (const int read : std::vector<int>(known_[i].reads)) {
      const int maker = maker_[Id(read)];
      if (maker < 0 || memory_.IsOutput(read) || Readers(read) != std::vector<std::size_t>{i} ||
          LoadsBuffer(pieces_[i].fold->finish, read))
        continue;
      const auto ranks = static_cast<std::size_t>(maker);
      const auto& fold = pieces_[ranks].fold;
      if (!fold || !pieces_[ranks].inside.empty() || !RankedFoldOf(*Reduce(fold->op, fold->over, fold->body))) continue;
      pieces_[i].inside = {pieces_[ranks]};
      Kill(ranks);
      Learn(i);
      break;
    }
  }
}

// The fold with the product that it reads inside, as several rows where it has those of the product as one.
std::optional<Piece> Fuser::AroundProduct(const Piece& product, const Piece& fold) const {
  Piece around = fold;
  auto inside = AsRead(product, fold);
  if (!inside) {
    auto apart = WithDimensionsOf(memory_, product, fold);
    if (!apart) return std::nullopt;
    around = std::move(*apart);
    inside = AsRead(product, around);
  }
  if (!inside) return std::nullopt;
  around.inside = {std::move(*inside)};
  return around;
}

// The product over the dimensions of the fold that reads it, in the order in which it lies in memory: all of it, or the
// rows that the fold reads.
std::optional<Piece> Fuser::AsRead(const Piece& product, const Piece& fold) const {
  std::optional<Affine> read;
  for (const auto& load : memory_.Loads(fold.fold->body)) {
    if (load.buffer != product.buffer) continue;
    if (!load.position || (read && *read != *load.position)) return std::nullopt;
    read = load.position;
  }
  std::vector<IndexVar> space = fold.space;
  space.push_back(fold.fold->over[0]);
  if (!read) return std::nullopt;
  std::stable_sort(space.begin(), space.end(),
                   [&](const IndexVar& a, const IndexVar& b) { return read->of(a) > read->of(b); });
  const bool each_once =
      std::all_of(space.begin(), space.end(), [&](const IndexVar& var) { return read->of(var) > 0; });
  return each_once ? ReadAt(product, *read, space) : std::nullopt;
}

}  // namespace hone::expert
