// Maps into their readers, and maps behind what they read.
#include <algorithm>
#include <iterator>

#include "expr/ranged_fold.h"
#include "propose/expert/fuser.h"
#include "propose/expert/keyed_pieces.h"
#include "propose/expert/normalise.h"
#include "propose/expert/one_place.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
// What is stored without a sign is not below zero, as places that count from the end are.
Expr Fuser::WithSigns(const Expr& expr) const {
  return Rewrite(expr, [&](const Expr& e) -> Expr {
    if (e->kind != Expr::Kind::kBinary || e->binary != BinaryOp::kLess) return {};
    const Expr &a = e->operands[0], &b = e->operands[1];
    const bool unsigned_load = a->kind == Expr::Kind::kLoad && a->type == ScalarType::kInt &&
                               memory_.graph().buffers()[Id(memory_.Root(a->buffer))].dtype == DType::kU8;
    return unsigned_load && b->kind == Expr::Kind::kConst && NumberOf(*b) <= 0 ? Expr::Bool(false) : Expr();
  });
}

// The reader with every load of the map's buffer replaced by the map's expression; all or nothing.
std::optional<Piece> Fuser::Inlined(const Piece& map, const Piece& reader) const {
  Piece changed = reader;
  bool fits = true;
  EachExpr(changed, [&](Expr& expr) {
    if (!fits) return;
    Expr after = ReplaceLoads(expr, [&](const ExprNode& load) -> Expr {
      if (memory_.Root(load.buffer) != map.buffer) return {};
      auto element = ElementAt(memory_, map, load);
      fits &= element.has_value();
      return element.value_or(Expr());
    });
    if (after.get() == expr.get()) return;
    fits &= TreeSize(after) <= kLongestExpression;
    if (fits) expr = WithChoicesMade(Simplify(WithoutWraps(memory_, WithSigns(after))));
  });
  if (fits && changed.is_map() && changed.buffer >= 0)
    changed.value = WithoutInnerWraps(changed.value, memory_.graph().buffers()[Id(changed.buffer)].dtype);
  return fits ? std::optional(std::move(changed)) : std::nullopt;
}

// Has all that read the map's buffer take the map's elements instead; false, and nothing changes, where one cannot.
bool Fuser::ReadElsewhere(const Piece& map) {
  std::vector<std::pair<std::size_t, Piece>> changed;
  for (const std::size_t reader : Readers(map.buffer)) {
    auto with = Inlined(map, pieces_[reader]);
    if (!with) return false;
    changed.emplace_back(reader, std::move(*with));
  }
  for (auto& [reader, with] : changed) {
    pieces_[reader] = std::move(with);
    Learn(reader);
  }
  return true;
}

bool Fuser::ReadsByPlaceAlone(const Piece& piece) const {
  bool reads = false;
  EachExpr(piece, [&](const Expr& expr) {
    Visit(expr, [&](const ExprNode& node) {
      reads |= node.kind == Expr::Kind::kLoad && node.operands.size() == 1 && memory_.shape(node.buffer).size() > 1;
    });
  });
  return reads;
}

bool Fuser::InlineInto(std::size_t map_at, std::size_t reader_at) {
  const Piece& reader = pieces_[reader_at];
  auto changed = Inlined(pieces_[map_at], reader);
  // Rows of scores that it has as one and the map as several, of sequences that are cut: as several it can read what
  // the map does, and says where, so that a place among the columns may depend on data.
  if (scores_.count(map_at) > 0 && (!changed || ReadsByPlaceAlone(*changed))) {
    const auto apart = WithDimensionsOf(memory_, pieces_[map_at], reader);
    if (auto other = apart ? Inlined(pieces_[map_at], *apart) : std::nullopt) changed = std::move(other);
  }
  if (!changed) return false;
  pieces_[reader_at] = std::move(*changed);
  Learn(reader_at);
  return true;
}

// Whether the map turns what another map makes for it alone, and a map that reads it has each element many times: then
// it is made as it is read, neighbours side by side, as biases of 49 x 49 places are that are looked up for 12 heads.
bool Fuser::TurnsTable(std::size_t map_at, std::size_t reader_at) const {
  constexpr std::int64_t kMany = 8;
  const Piece& map = pieces_[map_at];
  const int source = memory_.Root(map.value->buffer), maker = maker_[Id(source)];
  const auto position = memory_.Position(*map.value);
  if (maker < 0 || memory_.IsOutput(source) || !IsSimpleMap(Id(maker)) || !IsSimpleMap(reader_at) ||
      readers_[Id(source)].size() != 1 || !position || map.space.empty() ||
      known_[reader_at].count < kMany * known_[map_at].count)
    return false;
  const IndexVar& inner = map.space.back();
  return inner.extent > 1 && position->of(inner) > 1;
}

// Whether the map is nothing but the elements of what another piece makes for it alone, and some reader has to have
// them by themselves, as one that looks up rows has: read there by the others, they would be written twice. So the map
// ends that piece.
bool Fuser::EndsItsMaker(std::size_t map_at) const {
  const Piece& map = pieces_[map_at];
  const int source = memory_.Root(map.value->buffer);
  return maker_[Id(source)] >= 0 && !memory_.IsOutput(source) && readers_[Id(source)].size() == 1 &&
         memory_.Position(*map.value) == OwnPosition(map.space) &&
         std::ranges::any_of(Readers(map.buffer), [&](std::size_t reader) { return !Inlined(map, pieces_[reader]); });
}

// A map that only moves elements (transpose, expand, slice) is another way to index its source; a number is itself.
// Those that repeat elements come first: what a product's factors do not vary with is known then. `factors_of`: into
// what those products multiply alone.
void Fuser::InlineViews(const std::set<std::size_t>* factors_of) {
  const auto is_view = [&](std::size_t map) {
    return pieces_[map].is_map() && pieces_[map].value->kind == Expr::Kind::kLoad && known_[map].plain;
  };
  const auto is_asked = [&](std::size_t map, std::size_t reader) {
    return factors_of == nullptr ||
           (factors_of->contains(reader) && LoadsBuffer(pieces_[reader].fold->body, pieces_[map].buffer));
  };
  InlineWhere([&](std::size_t map, std::size_t reader) {
    if (!is_view(map) || !is_asked(map, reader)) return false;
    const auto position = memory_.Position(*pieces_[map].value);
    const auto& space = pieces_[map].space;
    return std::any_of(space.begin(), space.end(), [&](const IndexVar& var) { return position->of(var) == 0; });
  });
  const auto inline_views = [&](bool roundings) {
    InlineWhere([&](std::size_t map, std::size_t reader) {
      if (!is_asked(map, reader)) return false;
      if (rounded_ && RoundsToHalves(map) && (!roundings || IsProductOf(reader, pieces_[map].buffer))) return false;
      return (is_view(map) && !ScattersRows(map, reader) && !TurnsTable(map, reader) && !EndsItsMaker(map)) ||
             pieces_[map].value->kind == Expr::Kind::kConst;
    });
  };
  // What turns or cuts what was rounded goes first: then a product reads that itself.
  if (rounded_) inline_views(false);
  inline_views(true);
}

// As what a buffer's elements lie in memory.
DType Fuser::HeldAs(int buffer) const {
  return maker_[Id(buffer)] < 0 ? memory_.graph().buffers()[Id(buffer)].dtype : memory_.KeptAs(buffer);
}

// Whether a map is nothing but its operand's elements in 16 bits, which in memory have more.
bool Fuser::RoundsToHalves(std::size_t map_at) const {
  const Expr& value = pieces_[map_at].value;
  if (!value || value->kind != Expr::Kind::kLoad || memory_.IsOutput(pieces_[map_at].buffer)) return false;
  const DType from = HeldAs(memory_.Root(value->buffer)), to = HeldAs(pieces_[map_at].buffer);
  return IsHalf(to) && IsFloat(from) && Bytes(from) > Bytes(to);
}

// Whether a map makes numbers of 8 bits of something that is none.
bool Fuser::MakesEightBits(std::size_t map_at) const {
  const auto is_eight = [&](int buffer) {
    const DType type = memory_.graph().buffers()[Id(buffer)].dtype;
    return Bytes(type) == 1 && type != DType::kBool;
  };
  const Expr& value = pieces_[map_at].value;
  return value && is_eight(pieces_[map_at].buffer) &&
         !(value->kind == Expr::Kind::kLoad && is_eight(memory_.Root(value->buffer)));
}

// What is rounded more than once, for each product by itself, is rounded once.
void Fuser::JoinRoundings() {
  const auto is_copy = [&](std::size_t at) {
    return known_[at].alive && known_[at].plain && IsSimpleMap(at) && RoundsToHalves(at) &&
           memory_.Position(*pieces_[at].value) == OwnPosition(pieces_[at].space);
  };
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    for (std::size_t first = 0; first < i && is_copy(i); ++first) {
      const int other = pieces_[first].buffer, own = pieces_[i].buffer;
      if (!is_copy(first) || memory_.shape(other) != memory_.shape(own) || HeldAs(other) != HeldAs(own) ||
          memory_.Root(pieces_[first].value->buffer) != memory_.Root(pieces_[i].value->buffer))
        continue;
      for (const std::size_t reader : Readers(own)) {
        EachExpr(pieces_[reader], [&](Expr& expr) {
          expr = ReplaceLoads(expr, [&](const ExprNode& load) -> Expr {
            if (memory_.Root(load.buffer) != own) return {};
            if (load.buffer == own) return Load(other, load.operands, load.type);
            const auto position = memory_.Position(load);  // of the same elements in another shape
            std::vector<IndexVar> vars;
            for (const Expr& index : load.operands) std::ranges::copy(VarsOf(index), std::back_inserter(vars));
            return position ? Load(other, {ToExpr(*position, vars)}, load.type) : Expr();
          });
        });
        Learn(reader);
      }
      if (Readers(own).empty()) Kill(i);
    }
  }
}

// Whether a product's operands are all of the type that the buffer is of.
bool Fuser::IsProductOf(std::size_t at, int buffer) const {
  if (!IsProduct(pieces_[at]) || !LoadsBuffer(pieces_[at].fold->body, buffer)) return false;
  const auto loads = memory_.Loads(pieces_[at].fold->body);
  return std::ranges::all_of(loads, [&](const auto& load) { return HeldAs(load.buffer) == HeldAs(buffer); });
}

// Whether the many rows of a product, which lie one behind the other, would be in several dimensions if it read what
// the map does, few in the innermost: kernels have tiles of rows. 32768 x 384 x 128 in f32, as 16384 times 2 rows,
// takes 3.4 ms on an H200 (docs/measured/cuda_attention.md).
bool Fuser::ScattersRows(std::size_t map_at, std::size_t reader_at) const {
  constexpr std::int64_t kFew = 16, kMany = 1024;
  Piece before = pieces_[reader_at];
  if (!IsProduct(before) || IsWindow(before) || !known_[reader_at].plain) return false;
  auto after = Inlined(pieces_[map_at], pieces_[reader_at]);
  if (!after || !IsPlain(memory_, *after)) return false;
  MergeDimensions(memory_, before);
  MergeDimensions(memory_, *after);
  const std::size_t rank = after->space.size(), rank_before = before.space.size();
  if (after->fold->over.size() != 1 || rank < 3 || rank <= rank_before || rank_before < 2 ||
      after->space[rank - 2].extent >= kFew || before.space[rank_before - 2].extent < kMany)
    return false;
  // Rows are what one of the factors does not vary with.
  const auto loads = memory_.Loads(after->fold->body);
  return std::any_of(after->space.begin(), after->space.end() - 2, [&](const IndexVar& var) {
    return std::any_of(loads.begin(), loads.end(), [&](const FlatLoad& load) { return load.position->of(var) == 0; });
  });
}

// A fold by keys of which a map takes a part, and nobody else anything, makes that part: terms of what is left out,
// which often stand for none, are not added up anywhere.
void Fuser::CutKeyedFolds() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& whole = pieces_[i];
    if (!known_[i].alive || memory_.IsOutput(whole.buffer) || !KeyedFoldIn(whole)) continue;
    const auto readers = Readers(whole.buffer);
    if (readers.size() != 1 || !IsSimpleMap(readers[0])) continue;
    auto part = PartOfKeyedFold(memory_, whole, pieces_[readers[0]]);
    if (!part) continue;
    Kill(i);
    pieces_[readers[0]] = std::move(*part);
    Learn(readers[0]);
  }
}

// Where a fold by keys has its terms in one dimension, and a map that makes something of them has it in several, the
// fold has several, too: then that can be made where the term is taken.
void Fuser::SplitKeyedFolds() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || !KeyedFoldIn(pieces_[i])) continue;
    for (const int read : std::vector<int>(known_[i].reads)) {
      const int maker = maker_[Id(read)];
      if (maker < 0 || memory_.IsOutput(read)) continue;
      const auto map = static_cast<std::size_t>(maker);
      if (!IsSimpleMap(map) || known_[map].expensive || Inlined(pieces_[map], pieces_[i])) continue;
      for (const std::int64_t stride : DenseStrides(Extents(pieces_[map].space))) {
        auto split = WithRowsOfTerms(pieces_[i], stride);
        if (!split || !Inlined(pieces_[map], *split)) continue;
        pieces_[i] = std::move(*split);
        Learn(i);
        break;
      }
    }
  }
}

// A map is worth recomputing in each reader if that costs less than a trip through memory.
void Fuser::InlineMaps() {
  std::optional<std::size_t> of;
  std::set<std::size_t> stay;  // readers of that map, decided before any of them has it
  InlineWhere([&](std::size_t map, std::size_t reader) {
    if (of != map) stay = WhoReadForLess(map);
    of = map;
    return !stay.contains(reader) && IsWorth(map, reader);
  });
}

bool Fuser::IsWorth(std::size_t map_at, std::size_t reader_at) const {
  const Known &map = known_[map_at], &reader = known_[reader_at];
  const Piece& into = pieces_[reader_at];
  const bool only_reader = readers_[Id(pieces_[map_at].buffer)].size() == 1;
  // What only the end of a fold reads is read once an element.
  if (into.fold && map.plain && !map.expensive && !LoadsBuffer(into.fold->body, pieces_[map_at].buffer))
    return only_reader || !LosesItsNorm(map_at);
  // A fold by keys, or by segments, takes each term once, so that what is looked up for it is looked up there.
  if (into.fold && only_reader && !map.expensive && IsSimpleMap(map_at)) {
    const auto keyed = KeyedFoldIn(into);
    if (keyed && reader.count <= map.count * keyed->index.extent && LoadsOf(reader_at, pieces_[map_at].buffer) == 1)
      return true;
    if (RangedFoldOf(*Reduce(into.fold->op, into.fold->over, into.fold->body)) &&
        LoadsOf(reader_at, pieces_[map_at].buffer) == 1)
      return true;
  }
  // Numbers made of indices cost less than they do in memory, where the reader is a nest anyway.
  if (map.loads_nothing && !map.plain && !map.expensive && !reader.plain && IsSimpleMap(reader_at)) return true;
  // What is looked up for a fold, once, is looked up there, where there are folds enough to fill a device.
  if (into.fold && !map.plain && !map.loads_nothing && !map.expensive && only_reader && FillsADevice(into) &&
      reader.count <= map.count && LoadsOf(reader_at, pieces_[map_at].buffer) == 1)
    return true;
  if (IsNumberOfRows(map_at)) return true;
  if (FoldsWritten(map_at, reader_at)) return false;
  // Where something is written in place is best known where it is written.
  if (!map.plain && !map.expensive && IsSimpleMap(map_at) && WritesPlaces(reader_at)) return true;
  // A contraction or a window reads each element many times: only views go into it.
  if (IsProduct(into) || IsWindow(into) || reader.folds_inside) return false;
  if (into.fold && IsProductOfBlocks(memory_, *into.fold)) return false;
  if (into.fold && !reader.plain) return false;
  if (!map.plain) {
    if (LooksUpFactors(map_at, reader_at)) return false;
    // What is computed from indices, or gathered, makes a nest of its reader: worth it where the reader is a map of
    // its own, and the element is not computed more often than before.
    if (!IsSimpleMap(reader_at) || !only_reader || reader.count > map.count) return false;
    // What reads nothing else is then made of indices, too.
    if (map.loads_nothing && reader.plain) return reader.reads.size() == 1;
    for (const int buffer : reader.reads) {
      const int maker = maker_[Id(buffer)];
      // The reader may be what a fold ends with, unless the map reads that fold too: then it never is.
      const bool both = std::find(map.reads.begin(), map.reads.end(), buffer) != map.reads.end();
      if (maker >= 0 && pieces_[static_cast<std::size_t>(maker)].fold && buffer != pieces_[map_at].buffer && !both)
        return false;
    }
    return true;
  }
  if (IsWeightOfSoftmax(map_at) || IsWeightOfSink(map_at, reader_at) || IsTakenApart(map_at)) return true;
  if (!only_reader && LosesItsNorm(map_at)) return false;
  if (!map.expensive) return true;
  return only_reader && reader.count <= map.count && LoadsOf(reader_at, pieces_[map_at].buffer) == 1;
}

// The products that did.
std::set<std::size_t> Fuser::TakeIn(Taken take) {
  std::set<std::size_t> products;
  const std::function<const Piece*(int)> map = [&](int buffer) -> const Piece* {
    const int maker = maker_[Id(buffer)];
    const auto at = static_cast<std::size_t>(maker);
    // What is made of indices alone may be made for others as well.
    const bool own = maker >= 0 && !memory_.IsOutput(buffer) && IsSimpleMap(at) &&
                     (!known_[at].expensive || !IsExpensive(WithoutPowersOfTwo(pieces_[at].value))) &&
                     (readers_[Id(buffer)].size() == 1 || known_[at].loads_nothing);
    return own ? &pieces_[at] : nullptr;
  };
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || !IsProduct(pieces_[i]) || !known_[i].plain || !pieces_[i].inside.empty()) continue;
    auto with = take(memory_, pieces_[i], map);
    if (!with) continue;
    products.insert(i);
    pieces_[i] = std::move(with->piece);
    Learn(i);
    // Those that nobody reads any more; without them, others that they read.
    auto& maps = with->maps;
    while (std::erase_if(maps, [&](int buffer) {
             const bool unread = readers_[Id(buffer)].empty();
             if (unread) Kill(static_cast<std::size_t>(maker_[Id(buffer)]));
             return unread;
           }) > 0) {
    }
  }
  return products;
}

// The exponential of a sink over the largest of its row, which is added to the sum of the row's.
bool Fuser::IsWeightOfSink(std::size_t map_at, std::size_t reader_at) const {
  const Expr& weight = pieces_[map_at].value;
  const auto& sum = pieces_[reader_at].fold;
  if (!IsUnary(weight, UnaryOp::kExp) || !IsBinary(weight->operands[0], BinaryOp::kSub) || !sum ||
      sum->op != ReduceOp::kSum || !IsBinary(sum->finish, BinaryOp::kAdd) ||
      Readers(pieces_[map_at].buffer).size() != 1 || memory_.IsOutput(pieces_[map_at].buffer))
    return false;
  const Expr& largest = weight->operands[0]->operands[1];
  const int maker = largest->kind == Expr::Kind::kLoad ? maker_[Id(memory_.Root(largest->buffer))] : -1;
  return maker >= 0 && pieces_[Id(maker)].fold && pieces_[Id(maker)].fold->op == ReduceOp::kMax &&
         IsBinary(pieces_[Id(maker)].fold->finish, BinaryOp::kMax);
}

// An exponential of what is over the largest of its row, which the sum of the row and what divides by that read: made
// in both it is a softmax, as PyTorch's operator is.
bool Fuser::IsWeightOfSoftmax(std::size_t map_at) const {
  const Expr& weight = pieces_[map_at].value;
  if (weight->kind != Expr::Kind::kUnary || weight->unary != UnaryOp::kExp || memory_.IsOutput(pieces_[map_at].buffer))
    return false;
  const Expr& over = weight->operands[0];
  if (over->kind != Expr::Kind::kBinary || over->binary != BinaryOp::kSub ||
      over->operands[1]->kind != Expr::Kind::kLoad)
    return false;
  const auto is_fold = [&](std::size_t at, ReduceOp op, BinaryOp with_sink) {
    const auto& fold = pieces_[at].fold;
    return fold && fold->op == op && (IsValue(fold->finish, kIt) || IsBinary(fold->finish, with_sink));
  };
  const int largest = maker_[Id(memory_.Root(over->operands[1]->buffer))], buffer = pieces_[map_at].buffer;
  const auto readers = Readers(buffer);
  if (largest < 0 || !is_fold(Id(largest), ReduceOp::kMax, BinaryOp::kMax) || readers.size() != 2) return false;
  const std::size_t sum = readers[0], end = readers[1];
  return is_fold(sum, ReduceOp::kSum, BinaryOp::kAdd) && pieces_[sum].fold->body->kind == Expr::Kind::kLoad &&
         IsSimpleMap(end) && known_[end].count == known_[map_at].count && LoadsOf(end, buffer) == 1 &&
         LoadsOf(end, pieces_[sum].buffer) == 1;
}

bool Fuser::FillsADevice(const Piece& piece) {
  constexpr std::int64_t kResults = 1 << 16;
  return ElementCount(Extents(piece.space)) >= kResults;
}

// A map that would be a norm with the folds it reads, but is read by folds over other axes: put into those, it is no
// norm any more, and neither are they.
bool Fuser::LosesItsNorm(std::size_t map_at) const {
  for (const int buffer : known_[map_at].reads) {
    const int maker = maker_[Id(buffer)];
    if (maker < 0) continue;
    const Piece& statistic = pieces_[static_cast<std::size_t>(maker)];
    const std::int64_t rows = ElementCount(Extents(statistic.space));
    if (!statistic.fold || IsProduct(statistic) || rows >= known_[map_at].count) continue;
    for (const auto reader : readers_[Id(pieces_[map_at].buffer)]) {
      const Piece& other = pieces_[reader];
      if (other.fold && ElementCount(Extents(other.space)) != rows) return true;
    }
  }
  return false;
}

void Fuser::InlineWhere(const std::function<bool(std::size_t map, std::size_t reader)>& worth) {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || !IsSimpleMap(i) || picks_.count(i) > 0 || (eights_ && MakesEightBits(i)) || WritesPlaces(i))
      continue;
    bool gone = !memory_.IsOutput(pieces_[i].buffer);
    for (const auto reader : Readers(pieces_[i].buffer)) {
      if (!worth(i, reader) || !InlineInto(i, reader)) gone = false;
    }
    if (gone) Kill(i);
  }
}

// A map all of whose reads of a fold's (or norm's) result are at its own place becomes the end of that piece. The
// piece is then where the map was: what the map reads beside is made by then.
void Fuser::FuseEpilogues() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || IsSimpleMap(i) || pieces_[i].sequence >= 0 || memory_.IsOutput(pieces_[i].buffer)) continue;
    const auto readers = Readers(pieces_[i].buffer);
    if (readers.size() == 1 && IsSimpleMap(readers[0]) && picks_.count(readers[0]) == 0) FuseEpilogue(i, readers[0]);
  }
}

// A map that could not go into the one behind it, as its places are other dimensions there, ends with that: numbers
// in pairs, turned and laid side by side again.
void Fuser::EndNests() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || !IsSimpleMap(i) || known_[i].plain || pieces_[i].sequence >= 0 ||
        memory_.IsOutput(pieces_[i].buffer))
      continue;
    const auto readers = Readers(pieces_[i].buffer);
    if (readers.size() == 1 && IsSimpleMap(readers[0])) FuseEpilogue(i, readers[0]);
  }
}

// Batches that a product has as one dimension and its reader as several, masks of windows being a few that repeat,
// become several.
void Fuser::FuseEpilogue(std::size_t producer_at, std::size_t map_at) {
  const Piece& map = pieces_[map_at];
  Piece fused = pieces_[producer_at];
  if (!known_[map_at].plain || ElementCount(Extents(fused.space)) != ElementCount(Extents(map.space))) return;
  const Affine own = OwnPosition(map.space);
  for (const auto& load : memory_.Loads(map.value)) {
    if (load.buffer == fused.buffer && load.position != own) return;
  }
  auto element = ElementAt(memory_, map, OwnPosition(fused.space), fused.space);
  for (const auto with : {WithBatchesOfReader, WithRowsOfReader}) {
    auto apart = !element && IsProduct(fused) ? with(memory_, pieces_[producer_at], map) : std::nullopt;
    if (!apart) continue;
    fused = std::move(*apart);
    element = ElementAt(memory_, map, OwnPosition(fused.space), fused.space);
  }
  if (!element) return;
  Expr& end = fused.fold ? fused.fold->finish : fused.value;
  const Expr made = AsKept(memory_, fused.buffer, end, fused.fold ? &*fused.fold : nullptr);
  end = ReplaceLoads(*element,
                     [&](const ExprNode& load) { return memory_.Root(load.buffer) == fused.buffer ? made : Expr(); });
  end = WithoutInnerWraps(end, memory_.graph().buffers()[Id(map.buffer)].dtype);
  if (TreeSize(end) > kLongestExpression) return;
  fused.buffer = map.buffer;
  Kill(producer_at);
  pieces_[map_at] = std::move(fused);
  Learn(map_at);
}

// A scan that is looked at in another order only.
void Fuser::FuseScans() {
  for (std::size_t m = 0; m < pieces_.size(); ++m) {
    if (!known_[m].alive || !IsSimpleMap(m) || known_[m].reads.size() != 1) continue;
    const int maker = maker_[Id(known_[m].reads[0])];
    if (maker < 0) continue;
    const auto step = static_cast<std::size_t>(maker);
    const int sequence = pieces_[step].sequence;
    const bool alone = std::count_if(pieces_.begin(), pieces_.end(),
                                     [&](const Piece& piece) { return piece.sequence == sequence; }) == 1;
    if (sequence < 0 || !alone || memory_.IsOutput(pieces_[step].buffer) ||
        Readers(pieces_[step].buffer).size() != 2)  // itself, too
      continue;
    auto scan = ScanThrough(memory_, pieces_[step], pieces_[m]);
    if (!scan) continue;
    Kill(step);
    pieces_[step].sequence = -1;
    pieces_[m] = std::move(*scan);
    Learn(m);
  }
}

}  // namespace hone::expert
