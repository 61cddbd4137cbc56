// What goes into what. A piece is read by others; a map may vanish into them, or into the piece that it reads.
// One file because every step changes one state: which pieces are left, who makes a buffer and who reads it.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "dsl/program.h"
#include "expr/ranked_fold.h"
#include "propose/expert/keyed_pieces.h"
#include "propose/expert/normalise.h"
#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

// An expression written out is no longer than this: about what a person still reads, and a compiler soon compiles.
constexpr int kLongestExpression = 400;

class Fuser {
 public:
  Fuser(const Memory& memory, std::vector<Piece> pieces)
      : memory_(memory), pieces_(std::move(pieces)), known_(pieces_.size()) {
    const auto buffers = memory.graph().buffers().size();
    maker_.assign(buffers, -1);
    readers_.resize(buffers);
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      maker_[Id(pieces_[i].buffer)] = static_cast<int>(i);
      Learn(i);
    }
  }

  std::vector<Piece> Run(const Fusion& fusion) {
    rounded_ = fusion.rounded;
    if (rounded_) JoinRoundings();
    if (fusion.products) GroupSlices(ProductOfSlice);
    if (fusion.products && fusion.norms) FindPicks();
    if (fusion.epilogues) FuseScans();  // before a view goes into what reads it
    if (fusion.epilogues) CutKeyedFolds();
    InlineViews();
    SplitBatches();
    InlineViews();  // what could not be read through another view can be now that this one is gone
    if (fusion.maps) SplitKeyedFolds();
    if (fusion.epilogues) FuseScans();
    if (fusion.epilogues) FuseEpilogues();  // before maps go the other way, where they would be computed more often
    if (fusion.maps) InlineMaps();
    if (fusion.norms) GroupRowFolds();
    if (fusion.norms) GroupNorms();
    if (fusion.epilogues) FuseEpilogues();
    if (fusion.norms) GroupFolds();
    GroupLogSums();
    if (!picks_.empty()) {
      picks_.clear();
      InlineViews();
      if (fusion.epilogues) FuseEpilogues();
      if (fusion.maps) InlineMaps();
    }
    if (fusion.attention) GroupAttention();
    if (fusion.products) GroupRows();
    if (fusion.products) GroupProducts();
    if (fusion.products) GroupSlices(ProductOfSlices);
    if (fusion.products) GroupFoldedProducts();
    if (fusion.products) GroupOrders();
    if (fusion.weights) TakeIn(WithStoredWeights);
    if (fusion.maps) TakeIn(WithScalesBehind);
    if (fusion.maps) NestFolds();
    if (fusion.maps) EndNests();
    if (fusion.norms) GroupResults();
    if (fusion.norms) GroupOrdered();
    std::vector<Piece> left;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (known_[i].alive) left.push_back(std::move(pieces_[i]));
    }
    return left;
  }

 private:
  // What is asked for again and again.
  struct Known {
    bool alive = true;
    std::vector<int> reads;  // buffers, each once
    bool plain = false, expensive = false, folds_inside = false, loads_nothing = false;
    int size = 0;
    std::int64_t count = 0;  // elements computed, folded ones too
  };

  static std::size_t Id(int buffer) { return static_cast<std::size_t>(buffer); }

  void Learn(std::size_t at) {
    Known& known = known_[at];
    for (const int buffer : known.reads) readers_[Id(buffer)].erase(at);
    known.reads.clear();
    known.expensive = known.folds_inside = false;
    known.size = 0;
    const Piece& piece = pieces_[at];
    EachExpr(piece, [&](const Expr& expr) {
      Visit(expr, [&](const ExprNode& node) {
        if (node.kind == Expr::Kind::kReduce) known.folds_inside = true;
        if (node.kind != Expr::Kind::kLoad) return;
        const int root = memory_.Root(node.buffer);
        if (std::find(known.reads.begin(), known.reads.end(), root) == known.reads.end()) known.reads.push_back(root);
      });
      known.expensive |= IsExpensive(expr);
      known.size = std::max(known.size, TreeSize(expr));
    });
    for (const int buffer : known.reads) readers_[Id(buffer)].insert(at);
    known.loads_nothing = known.reads.empty();
    known.plain = IsPlain(memory_, piece);
    known.count = ElementCount(Extents(piece.space)) * (piece.fold ? ElementCount(Extents(piece.fold->over)) : 1);
  }

  void Kill(std::size_t at) {
    for (const int buffer : known_[at].reads) readers_[Id(buffer)].erase(at);
    known_[at].alive = false;
    maker_[Id(pieces_[at].buffer)] = -1;
  }

  std::vector<std::size_t> Readers(int buffer) const {
    const auto& readers = readers_[Id(buffer)];
    return {readers.begin(), readers.end()};
  }

  bool IsSimpleMap(std::size_t at) const { return pieces_[at].is_map() && !known_[at].folds_inside; }
  bool IsProduct(const Piece& piece) const { return piece.fold && IsContraction(memory_, *piece.fold); }

  // --- Maps into their readers ---

  // What is stored without a sign is not below zero, as places that count from the end are.
  Expr WithSigns(const Expr& expr) const {
    return Rewrite(expr, [&](const Expr& e) -> Expr {
      if (e->kind != Expr::Kind::kBinary || e->binary != BinaryOp::kLess) return {};
      const Expr &a = e->operands[0], &b = e->operands[1];
      const bool unsigned_load = a->kind == Expr::Kind::kLoad && a->type == ScalarType::kInt &&
                                 memory_.graph().buffers()[Id(memory_.Root(a->buffer))].dtype == DType::kU8;
      return unsigned_load && b->kind == Expr::Kind::kConst && NumberOf(*b) <= 0 ? Expr::Bool(false) : Expr();
    });
  }

  // The reader with every load of the map's buffer replaced by the map's expression; all or nothing.
  std::optional<Piece> Inlined(std::size_t map_at, const Piece& reader) const {
    const Piece& map = pieces_[map_at];
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
      if (fits) expr = Simplify(WithSigns(after));
    });
    return fits ? std::optional(std::move(changed)) : std::nullopt;
  }
  bool InlineInto(std::size_t map_at, std::size_t reader_at) {
    auto changed = Inlined(map_at, pieces_[reader_at]);
    if (!changed) return false;
    pieces_[reader_at] = std::move(*changed);
    Learn(reader_at);
    return true;
  }

  // A map that only moves elements (transpose, expand, slice) is another way to index its source; a number is itself.
  // Those that repeat elements come first: what a product's factors do not vary with is known then.
  void InlineViews() {
    const auto is_view = [&](std::size_t map) {
      return pieces_[map].is_map() && pieces_[map].value->kind == Expr::Kind::kLoad && known_[map].plain;
    };
    InlineWhere([&](std::size_t map, std::size_t) {
      if (!is_view(map)) return false;
      const auto position = memory_.Position(*pieces_[map].value);
      const auto& space = pieces_[map].space;
      return std::any_of(space.begin(), space.end(), [&](const IndexVar& var) { return position->of(var) == 0; });
    });
    const auto inline_views = [&](bool roundings) {
      InlineWhere([&](std::size_t map, std::size_t reader) {
        if (rounded_ && RoundsToHalves(map) && (!roundings || IsProductOf(reader, pieces_[map].buffer))) return false;
        return (is_view(map) && !ScattersRows(map, reader)) || pieces_[map].value->kind == Expr::Kind::kConst;
      });
    };
    // What turns or cuts what was rounded goes first: then a product reads that itself.
    if (rounded_) inline_views(false);
    inline_views(true);
  }

  // As what a buffer's elements lie in memory.
  DType HeldAs(int buffer) const {
    return maker_[Id(buffer)] < 0 ? memory_.graph().buffers()[Id(buffer)].dtype : memory_.KeptAs(buffer);
  }

  // Whether a map is nothing but its operand's elements in 16 bits, which in memory have more.
  bool RoundsToHalves(std::size_t map_at) const {
    const Expr& value = pieces_[map_at].value;
    if (!value || value->kind != Expr::Kind::kLoad || memory_.IsOutput(pieces_[map_at].buffer)) return false;
    const DType from = HeldAs(memory_.Root(value->buffer)), to = HeldAs(pieces_[map_at].buffer);
    return IsHalf(to) && IsFloat(from) && Bytes(from) > Bytes(to);
  }

  // What is rounded more than once, for each product by itself, is rounded once.
  void JoinRoundings() {
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
  bool IsProductOf(std::size_t at, int buffer) const {
    if (!IsProduct(pieces_[at]) || !LoadsBuffer(pieces_[at].fold->body, buffer)) return false;
    const auto loads = memory_.Loads(pieces_[at].fold->body);
    return std::ranges::all_of(loads, [&](const auto& load) { return HeldAs(load.buffer) == HeldAs(buffer); });
  }

  // Whether the many rows of a product, which lie one behind the other, would be in several dimensions if it read what
  // the map does, few in the innermost: kernels have tiles of rows. 32768 x 384 x 128 in f32, as 16384 times 2 rows,
  // takes 3.4 ms on an H200 (docs/measured/cuda_attention.md).
  bool ScattersRows(std::size_t map_at, std::size_t reader_at) const {
    constexpr std::int64_t kFew = 16, kMany = 1024;
    Piece before = pieces_[reader_at];
    if (!IsProduct(before) || IsWindow(before) || !known_[reader_at].plain) return false;
    auto after = Inlined(map_at, pieces_[reader_at]);
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

  // Where a product has its batches as one dimension (as bmm does, of batches and heads, and any product of heads of
  // which some share keys), and a map that only moves elements has them as several, the product has several, too: then
  // it can read what the map does.
  void SplitBatches() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (!known_[i].alive || !IsProduct(pieces_[i])) continue;
      for (const int read : std::vector<int>(known_[i].reads)) {
        const int maker = maker_[Id(read)];
        if (maker < 0 || memory_.IsOutput(read)) continue;
        const auto map = static_cast<std::size_t>(maker);
        if (!IsSimpleMap(map) || pieces_[map].value->kind != Expr::Kind::kLoad || !known_[map].plain ||
            Inlined(map, pieces_[i]))
          continue;
        const auto split = WithBatchesOf(memory_, pieces_[map], pieces_[i]);
        auto changed = split ? Inlined(map, *split) : std::nullopt;
        if (!changed) continue;
        pieces_[i] = std::move(*changed);
        Learn(i);
      }
    }
  }

  // A fold by keys of which a map takes a part, and nobody else anything, makes that part: terms of what is left out,
  // which often stand for none, are not added up anywhere.
  void CutKeyedFolds() {
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
  void SplitKeyedFolds() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (!known_[i].alive || !KeyedFoldIn(pieces_[i])) continue;
      for (const int read : std::vector<int>(known_[i].reads)) {
        const int maker = maker_[Id(read)];
        if (maker < 0 || memory_.IsOutput(read)) continue;
        const auto map = static_cast<std::size_t>(maker);
        if (!IsSimpleMap(map) || known_[map].expensive || Inlined(map, pieces_[i])) continue;
        for (const std::int64_t stride : DenseStrides(Extents(pieces_[map].space))) {
          auto split = WithRowsOfTerms(pieces_[i], stride);
          if (!split || !Inlined(map, *split)) continue;
          pieces_[i] = std::move(*split);
          Learn(i);
          break;
        }
      }
    }
  }

  // A map is worth recomputing in each reader if that costs less than a trip through memory.
  void InlineMaps() {
    InlineWhere([&](std::size_t map, std::size_t reader) { return IsWorth(map, reader); });
  }

  bool IsWorth(std::size_t map_at, std::size_t reader_at) const {
    const Known &map = known_[map_at], &reader = known_[reader_at];
    const Piece& into = pieces_[reader_at];
    const bool only_reader = readers_[Id(pieces_[map_at].buffer)].size() == 1;
    // What only the end of a fold reads is read once an element.
    if (into.fold && map.plain && !map.expensive && !LoadsBuffer(into.fold->body, pieces_[map_at].buffer))
      return only_reader || !LosesItsNorm(map_at);
    // A fold by keys takes each term once, so that what is looked up for it is looked up there.
    if (into.fold && only_reader && !map.expensive && IsSimpleMap(map_at)) {
      const auto keyed = KeyedFoldIn(into);
      if (keyed && reader.count <= map.count * keyed->index.extent && LoadsOf(reader_at, pieces_[map_at].buffer) == 1)
        return true;
    }
    // Numbers made of indices cost less than they do in memory, where the reader is a nest anyway.
    if (map.loads_nothing && !map.plain && !map.expensive && !reader.plain && IsSimpleMap(reader_at)) return true;
    // What is looked up for a fold, once, is looked up there, where there are folds enough to fill a device.
    if (into.fold && !map.plain && !map.loads_nothing && !map.expensive && only_reader && FillsADevice(into) &&
        !IsProduct(into) && reader.count <= map.count && LoadsOf(reader_at, pieces_[map_at].buffer) == 1)
      return true;
    // A contraction or a window reads each element many times: only views go into it.
    if (IsProduct(into) || IsWindow(into) || reader.folds_inside) return false;
    if (into.fold && !reader.plain) return false;
    if (!map.plain) {
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
    if (IsWeightOfSoftmax(map_at)) return true;
    if (!only_reader && LosesItsNorm(map_at)) return false;
    if (!map.expensive) return true;
    return only_reader && reader.count <= map.count && LoadsOf(reader_at, pieces_[map_at].buffer) == 1;
  }

  // What maps make for products alone goes into those.
  using Taken = std::optional<WithWeights> (*)(const Memory& memory, const Piece& product,
                                               const std::function<const Piece*(int buffer)>& map);
  void TakeIn(Taken take) {
    const std::function<const Piece*(int)> map = [&](int buffer) -> const Piece* {
      const int maker = maker_[Id(buffer)];
      const auto at = static_cast<std::size_t>(maker);
      // What is made of indices alone may be made for others as well.
      const bool own = maker >= 0 && !memory_.IsOutput(buffer) && IsSimpleMap(at) && !known_[at].expensive &&
                       (readers_[Id(buffer)].size() == 1 || known_[at].loads_nothing);
      return own ? &pieces_[at] : nullptr;
    };
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (!known_[i].alive || !IsProduct(pieces_[i]) || !known_[i].plain || !pieces_[i].inside.empty()) continue;
      auto with = take(memory_, pieces_[i], map);
      if (!with) continue;
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
  }

  // An exponential of what is over the largest of its row, which the sum of the row and what divides by that read: made
  // in both it is a softmax, as PyTorch's operator is.
  bool IsWeightOfSoftmax(std::size_t map_at) const {
    const Expr& weight = pieces_[map_at].value;
    if (weight->kind != Expr::Kind::kUnary || weight->unary != UnaryOp::kExp ||
        memory_.IsOutput(pieces_[map_at].buffer))
      return false;
    const Expr& over = weight->operands[0];
    if (over->kind != Expr::Kind::kBinary || over->binary != BinaryOp::kSub ||
        over->operands[1]->kind != Expr::Kind::kLoad)
      return false;
    const auto is_plain_fold = [&](std::size_t at, ReduceOp op) {
      return pieces_[at].fold && pieces_[at].fold->op == op && IsValue(pieces_[at].fold->finish, kIt);
    };
    const int largest = maker_[Id(memory_.Root(over->operands[1]->buffer))], buffer = pieces_[map_at].buffer;
    const auto readers = Readers(buffer);
    if (largest < 0 || !is_plain_fold(Id(largest), ReduceOp::kMax) || readers.size() != 2) return false;
    const std::size_t sum = readers[0], end = readers[1];
    return is_plain_fold(sum, ReduceOp::kSum) && pieces_[sum].fold->body->kind == Expr::Kind::kLoad &&
           IsSimpleMap(end) && known_[end].count == known_[map_at].count && LoadsOf(end, buffer) == 1 &&
           LoadsOf(end, pieces_[sum].buffer) == 1;
  }

  static bool FillsADevice(const Piece& piece) {
    constexpr std::int64_t kResults = 1 << 16;
    return ElementCount(Extents(piece.space)) >= kResults;
  }

  // A map that would be a norm with the folds it reads, but is read by folds over other axes: put into those, it is no
  // norm any more, and neither are they.
  bool LosesItsNorm(std::size_t map_at) const {
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

  bool LoadsBuffer(const Expr& expr, int buffer) const {
    bool loads = false;
    Visit(expr, [&](const ExprNode& node) {
      loads |= node.kind == Expr::Kind::kLoad && memory_.Root(node.buffer) == buffer;
    });
    return loads;
  }

  // At how many places of the expression the buffer is read.
  int LoadsOf(std::size_t at, int buffer) const {
    int loads = 0;
    EachExpr(pieces_[at], [&](const Expr& expr) {
      for (const auto& load : memory_.Loads(expr)) loads += load.buffer == buffer ? 1 : 0;
    });
    return loads;
  }

  void InlineWhere(const std::function<bool(std::size_t map, std::size_t reader)>& worth) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (!known_[i].alive || !IsSimpleMap(i) || picks_.count(i) > 0) continue;
      bool gone = !memory_.IsOutput(pieces_[i].buffer);
      for (const auto reader : Readers(pieces_[i].buffer)) {
        if (!worth(i, reader) || !InlineInto(i, reader)) gone = false;
      }
      if (gone) Kill(i);
    }
  }

  // --- Maps behind what they read ---

  // A map all of whose reads of a fold's (or norm's) result are at its own place becomes the end of that piece. The
  // piece is then where the map was: what the map reads beside is made by then.
  void FuseEpilogues() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (!known_[i].alive || IsSimpleMap(i) || pieces_[i].sequence >= 0 || memory_.IsOutput(pieces_[i].buffer))
        continue;
      const auto readers = Readers(pieces_[i].buffer);
      if (readers.size() == 1 && IsSimpleMap(readers[0]) && picks_.count(readers[0]) == 0) FuseEpilogue(i, readers[0]);
    }
  }

  // A map that could not go into the one behind it, as its places are other dimensions there, ends with that: numbers
  // in pairs, turned and laid side by side again.
  void EndNests() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (!known_[i].alive || !IsSimpleMap(i) || known_[i].plain || pieces_[i].sequence >= 0 ||
          memory_.IsOutput(pieces_[i].buffer))
        continue;
      const auto readers = Readers(pieces_[i].buffer);
      if (readers.size() == 1 && IsSimpleMap(readers[0])) FuseEpilogue(i, readers[0]);
    }
  }

  void FuseEpilogue(std::size_t producer_at, std::size_t map_at) {
    const Piece& producer = pieces_[producer_at];
    const Piece& map = pieces_[map_at];
    if (!known_[map_at].plain || ElementCount(Extents(producer.space)) != ElementCount(Extents(map.space))) return;
    const Affine own = OwnPosition(map.space);
    for (const auto& load : memory_.Loads(map.value)) {
      if (load.buffer == producer.buffer && load.position != own) return;
    }
    const auto element = ElementAt(memory_, map, OwnPosition(producer.space), producer.space);
    if (!element) return;
    const Expr before = producer.fold ? producer.fold->finish : producer.value;
    Expr end = ReplaceLoads(
        *element, [&](const ExprNode& load) { return memory_.Root(load.buffer) == producer.buffer ? before : Expr(); });
    if (TreeSize(end) > kLongestExpression) return;
    Piece fused = producer;
    fused.buffer = map.buffer;
    (fused.fold ? fused.fold->finish : fused.value) = std::move(end);
    Kill(producer_at);
    pieces_[map_at] = std::move(fused);
    Learn(map_at);
  }

  // A scan that is looked at in another order only.
  void FuseScans() {
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

  // --- Folds and the map that reads them ---

  void GroupNorms() {
    for (std::size_t m = 0; m < pieces_.size(); ++m) {
      if (!known_[m].alive || !IsSimpleMap(m)) continue;
      auto norm = NormOf(
          memory_, pieces_, m, [&](int buffer) { return maker_[Id(buffer)]; },
          [&](int buffer) { return Readers(buffer); });
      if (!norm) continue;
      for (const auto member : norm->members) Kill(member);
      pieces_[m] = std::move(norm->piece);
      Learn(m);
    }
  }

  // Sums over rows of which they read the softmax. What rows make stands where the last of its parts did.
  void GroupRowFolds() {
    for (std::size_t s = 0; s < pieces_.size(); ++s) {
      if (!known_[s].alive || !pieces_[s].fold) continue;
      auto found = RowFoldOf(
          memory_, pieces_, s, [&](int buffer) { return maker_[Id(buffer)]; },
          [&](int buffer) { return Readers(buffer); });
      if (!found) continue;
      const std::size_t place = found->all ? found->members.back() : s;
      bool made = true;
      EachExpr(std::as_const(found->rows), [&](const Expr& expr) {
        for (const auto& load : memory_.Loads(expr)) {
          const int maker = maker_[Id(load.buffer)];
          const bool member = std::binary_search(found->members.begin(), found->members.end(),
                                                 static_cast<std::size_t>(std::max(maker, 0)));
          made &= maker < static_cast<int>(place) || (maker >= 0 && member);
        }
      });
      if (!made) continue;
      for (const auto member : found->members) Kill(member);
      if (found->all) {
        pieces_[s] = std::move(*found->all);
        Learn(s);
        known_[place].alive = true;
        maker_[Id(found->rows.buffer)] = static_cast<int>(place);
      }
      pieces_[place] = std::move(found->rows);
      Learn(place);
    }
  }

  // Folds over the same rows: each row is read once.
  void GroupFolds() {
    for (std::size_t s = 0; s < pieces_.size(); ++s) {
      if (!known_[s].alive || !pieces_[s].fold) continue;
      for (const int read : std::vector<int>(known_[s].reads)) {
        const int maker = maker_[Id(read)];
        if (maker < 0 || memory_.IsOutput(read) || !pieces_[static_cast<std::size_t>(maker)].fold) continue;
        const auto other = static_cast<std::size_t>(maker);
        const auto readers = Readers(read);
        if (readers.size() == 1) {
          if (auto joined = JoinFolds(memory_, pieces_[s], pieces_[other])) {
            Kill(other);
            pieces_[s] = std::move(*joined);
            Learn(s);
            break;
          }
          // The largest of a row, and the logarithm of the sum of its exponentials.
          if (IsValue(pieces_[s].fold->finish, kIt)) continue;
          if (auto log_sum = LogSum(memory_, pieces_[other], pieces_[s])) {
            Kill(other);
            pieces_[s] = std::move(*log_sum);
            Learn(s);
            break;
          }
        }
        // The largest of a row, the sum of its exponentials, and one who reads both.
        const auto of_sum = Readers(pieces_[s].buffer);
        if (readers.size() != 2 || of_sum.size() != 1 || memory_.IsOutput(pieces_[s].buffer)) continue;
        const std::size_t last = of_sum[0];
        if (std::find(readers.begin(), readers.end(), last) == readers.end() || pieces_[last].sequence >= 0) continue;
        auto log_sum =
            IsValue(pieces_[s].fold->finish, kIt) ? LogSum(memory_, pieces_[other], pieces_[s]) : std::nullopt;
        if (!log_sum) continue;
        Piece changed = pieces_[last];
        bool fits = true;
        EachExpr(changed, [&](Expr& expr) {
          auto after = WithLogSum(memory_, expr, pieces_[other].buffer, pieces_[s].buffer);
          if (after) {
            expr = std::move(*after);
          } else {
            fits &= !LoadsBuffer(expr, pieces_[other].buffer) && !LoadsBuffer(expr, pieces_[s].buffer);
          }
        });
        if (!fits) continue;
        Kill(other);
        pieces_[s] = std::move(*log_sum);
        Learn(s);
        pieces_[last] = std::move(changed);
        Learn(last);
        break;
      }
    }
  }

  // --- Products of which logarithms of sums of exponentials are wanted, and few elements ---

  void FindPicks() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (IsProduct(pieces_[i]) && OfHalves(pieces_[i]))
        picks_.merge(PicksOf(memory_, pieces_, i, [&](int buffer) { return Readers(buffer); }));
    }
  }

  // A product is inside of the logarithm, and made again for those few elements.
  void GroupLogSums() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      Piece& piece = pieces_[i];
      if (!known_[i].alive || !piece.fold || !piece.inside.empty() || !EndOfLogSum(piece)) continue;
      for (const int read : std::vector<int>(known_[i].reads)) {
        const int maker = maker_[Id(read)];
        if (maker < 0 || memory_.IsOutput(read) || LoadsBuffer(piece.fold->finish, read)) continue;
        const auto product = static_cast<std::size_t>(maker);
        if (!IsProduct(pieces_[product]) || !pieces_[product].inside.empty() || !OfHalves(pieces_[product])) continue;
        auto as_read = AsRead(pieces_[product], piece);
        if (!as_read) continue;
        std::map<std::size_t, Piece> picked;
        bool all = true;
        for (const std::size_t reader : Readers(read)) {
          if (reader == i) continue;
          auto made = picks_.count(reader) > 0 ? Picked(memory_, pieces_[reader], pieces_[product]) : std::nullopt;
          all &= made.has_value();
          if (made) picked.emplace(reader, std::move(*made));
        }
        if (!all) continue;
        piece.inside = {std::move(*as_read)};
        Kill(product);
        Learn(i);
        for (auto& [reader, made] : picked) {
          pieces_[reader] = std::move(made);
          Learn(reader);
        }
        break;
      }
    }
  }

  // A product of what a norm made of a product, both read by nobody else. Whether the norm is a softmax is for the
  // recogniser to see.
  void GroupAttention() {
    const auto only = [&](int buffer, std::size_t reader) -> std::optional<std::size_t> {
      const int maker = maker_[Id(buffer)];
      if (maker < 0 || memory_.IsOutput(buffer) || Readers(buffer) != std::vector<std::size_t>{reader})
        return std::nullopt;
      return static_cast<std::size_t>(maker);
    };
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (!known_[i].alive || !IsProduct(pieces_[i])) continue;
      for (const int read : std::vector<int>(known_[i].reads)) {
        const auto norm = only(read, i);
        if (!norm || pieces_[*norm].statistics.size() != 2) continue;
        for (const int scored : std::vector<int>(known_[*norm].reads)) {
          const auto product = only(scored, *norm);
          if (!product || !IsProduct(pieces_[*product])) continue;
          pieces_[i].inside = {pieces_[*product], pieces_[*norm]};
          Kill(*product);
          Kill(*norm);
          Learn(i);
          break;
        }
        if (!pieces_[i].inside.empty()) break;
      }
      if (!pieces_[i].inside.empty()) GroupMove(i);
    }
  }

  // A map that does nothing but move what attention made, and is all that reads it. Whether it lays heads side by side
  // is for the recogniser to see.
  void GroupMove(std::size_t attention) {
    const auto readers = Readers(pieces_[attention].buffer);
    if (readers.size() != 1 || memory_.IsOutput(pieces_[attention].buffer)) return;
    const std::size_t map = readers[0];
    if (!IsSimpleMap(map) || !known_[map].plain || pieces_[map].value->kind != Expr::Kind::kLoad) return;
    pieces_[map].inside = {pieces_[attention]};
    Kill(attention);
    Learn(map);
  }

  // A product of halves that a kernel makes with another one: with what is inside of it, if anything, it says which of
  // several right operands each row has (GroupRows).
  bool GoesTogether(std::size_t at) const {
    const Piece& product = pieces_[at];
    if (!known_[at].alive || !IsProduct(product)) return false;
    bool halves = true;
    VisitValues(product.fold->body, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad) halves &= IsHalf(memory_.KeptAs(memory_.Root(node.buffer)));
    });
    const bool of_groups = product.inside.size() == 1 && !IsProduct(product.inside[0]);
    return halves && (of_groups || (product.inside.empty() && known_[at].plain));
  }

  // Such a product and the one map that reads it, in slices.
  void GroupSlices(std::optional<Piece> (*of_slices)(const Memory&, const Piece&, const Piece&)) {
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
  void GroupProducts() {
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
            ElementCount(Extents(pieces_[i].space)) != ElementCount(Extents(pieces_[other].space)))
          continue;
        pieces_[i].inside.push_back(pieces_[other]);
        Kill(other);
        Learn(i);
        break;
      }
    }
  }

  // A product that looks up, in a fold that nobody else reads, which of several right operands each row has. Whether
  // that counts the ends of groups is for the recogniser to see.
  void GroupRows() {
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

  // A product of halves and the one fold over one dimension that reads it, in that fold's indices. What its end reads
  // may go into it then. Whether rows or columns are folded is for the recogniser to see.
  void GroupFoldedProducts() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      Piece& piece = pieces_[i];
      if (!known_[i].alive || !piece.fold || IsProduct(piece) || !piece.inside.empty() || !piece.statistics.empty() ||
          piece.fold->over.size() != 1)
        continue;
      for (const int read : std::vector<int>(known_[i].reads)) {
        const int maker = maker_[Id(read)];
        if (maker < 0 || memory_.IsOutput(read) || Readers(read) != std::vector<std::size_t>{i}) continue;
        const auto product = static_cast<std::size_t>(maker);
        if (!IsProduct(pieces_[product]) || !pieces_[product].inside.empty() || !OfHalves(pieces_[product]) ||
            LoadsBuffer(piece.fold->finish, read))
          continue;
        auto as_read = AsRead(pieces_[product], piece);
        if (!as_read) continue;
        piece.inside = {std::move(*as_read)};
        Kill(product);
        Learn(i);
        break;
      }
    }
    InlineWhere([&](std::size_t map, std::size_t reader) {
      return pieces_[reader].fold && pieces_[reader].inside.size() == 1 && IsWorth(map, reader);
    });
  }

  // A fold that looks for what has a place in order, and the places, which nobody else reads. Whether it says where
  // that is is for the recogniser to see.
  void GroupOrders() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (!known_[i].alive || !pieces_[i].fold || !pieces_[i].inside.empty()) continue;
      for (const int read : std::vector<int>(known_[i].reads)) {
        const int maker = maker_[Id(read)];
        if (maker < 0 || memory_.IsOutput(read) || Readers(read) != std::vector<std::size_t>{i} ||
            LoadsBuffer(pieces_[i].fold->finish, read))
          continue;
        const auto ranks = static_cast<std::size_t>(maker);
        const auto& fold = pieces_[ranks].fold;
        if (!fold || !pieces_[ranks].inside.empty() || !RankedFoldOf(*Reduce(fold->op, fold->over, fold->body)))
          continue;
        pieces_[i].inside = {pieces_[ranks]};
        Kill(ranks);
        Learn(i);
        break;
      }
    }
  }

  // A fold that is a nest anyway, and another that reads each of its results once: its results never are in memory.
  void NestFolds() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      Piece& inner = pieces_[i];
      if (!known_[i].alive || !inner.fold || known_[i].plain || IsProduct(inner) || !inner.inside.empty() ||
          !inner.statistics.empty() || memory_.IsOutput(inner.buffer) || KeyedFoldIn(inner))
        continue;
      const auto readers = Readers(inner.buffer);
      if (readers.size() != 1) continue;
      const Piece& outer = pieces_[readers[0]];
      if (!outer.fold || !outer.inside.empty() || !outer.statistics.empty() || !FillsADevice(outer) ||
          LoadsBuffer(outer.fold->finish, inner.buffer) || LoadsOf(readers[0], inner.buffer) != 1 ||
          known_[readers[0]].count != ElementCount(Extents(inner.space)))
        continue;
      Piece as_map = inner;
      as_map.fold.reset();
      as_map.value = ReplaceValue(inner.fold->finish, kIt, Reduce(inner.fold->op, inner.fold->over, inner.fold->body));
      std::swap(inner, as_map);
      if (InlineInto(i, readers[0])) {
        Kill(i);
      } else {
        std::swap(inner, as_map);
      }
    }
  }

  // The product over the dimensions of the fold that reads it, in the order in which it lies in memory.
  std::optional<Piece> AsRead(const Piece& product, const Piece& fold) const {
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
    return OwnPosition(space) == *read ? OverSpace(product, space) : std::nullopt;
  }

  // A norm and a map of as many elements that reads nothing but what the norm reads, at the same places: as one, they
  // read it once.
  void GroupResults() {
    for (std::size_t m = 0; m < pieces_.size(); ++m) {
      if (!known_[m].alive || !IsSimpleMap(m) || !known_[m].plain || known_[m].loads_nothing) continue;
      for (const auto norm : Readers(known_[m].reads[0])) {
        if (pieces_[norm].statistics.empty() || pieces_[norm].fold || !IsPlain(memory_, pieces_[norm]) ||
            LoadsOf(norm, pieces_[m].buffer) > 0)
          continue;
        auto also = AsReadBy(pieces_[norm], pieces_[m]);
        const auto place = also ? PlaceOfBoth(m, norm) : std::nullopt;
        if (!place) continue;
        Piece both = pieces_[norm];
        both.also.push_back(std::move(*also));
        Kill(m);
        Kill(norm);
        pieces_[*place] = std::move(both);
        known_[*place].alive = true;
        maker_[Id(pieces_[*place].buffer)] = static_cast<int>(*place);
        for (const auto& one : pieces_[*place].also) maker_[Id(one.buffer)] = static_cast<int>(*place);
        Learn(*place);
        break;
      }
    }
  }

  // Places in order, and the maps that look up there what was put in order.
  void GroupOrdered() {
    for (std::size_t m = 0; m < pieces_.size(); ++m) {
      if (!known_[m].alive || !IsSimpleMap(m)) continue;
      for (const int read : std::vector<int>(known_[m].reads)) {
        const int maker = maker_[Id(read)];
        if (maker < 0 || pieces_[Id(maker)].inside.empty()) continue;
        const std::size_t order = Id(maker);
        auto also = OverSpace(pieces_[m], pieces_[order].space);
        if (!also || !OfOrdered(memory_, *also, pieces_[order])) continue;
        const auto& reads = known_[m].reads;
        if (std::any_of(reads.begin(), reads.end(),
                        [&](int buffer) { return buffer != read && maker_[Id(buffer)] >= maker; }))
          continue;
        const int made = pieces_[m].buffer;
        pieces_[order].also.push_back(std::move(*also));
        Kill(m);
        maker_[Id(made)] = maker;
        Learn(order);
        break;
      }
    }
  }

  // The map over the norm's space, if it reads what that reads.
  std::optional<Piece> AsReadBy(const Piece& norm, const Piece& map) const {
    auto also = OverSpace(map, norm.space);
    if (!also) return std::nullopt;
    std::vector<FlatLoad> read;
    EachExpr(norm, [&](const Expr& expr) {
      for (auto& load : memory_.Loads(expr)) read.push_back(std::move(load));
    });
    const auto loads = memory_.Loads(also->value);
    const bool same = std::all_of(loads.begin(), loads.end(), [&](const FlatLoad& load) {
      return std::any_of(read.begin(), read.end(), [&](const FlatLoad& other) {
        return load.buffer == other.buffer && load.position == other.position;
      });
    });
    return same ? std::move(also) : std::nullopt;
  }

  // Where one of two pieces stands behind all that both read and before all who read them.
  std::optional<std::size_t> PlaceOfBoth(std::size_t a, std::size_t b) const {
    for (const std::size_t place : {std::min(a, b), std::max(a, b)}) {
      bool fits = true;
      for (const std::size_t piece : {a, b}) {
        for (const int buffer : known_[piece].reads) {
          const int maker = maker_[Id(buffer)];
          fits &= maker < static_cast<int>(place) || maker == static_cast<int>(piece);
        }
        for (const auto reader : readers_[Id(pieces_[piece].buffer)]) fits &= reader > place;
      }
      if (fits) return place;
    }
    return std::nullopt;
  }

  bool OfHalves(const Piece& product) const {
    bool halves = true;
    Visit(product.fold->body, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad) halves &= IsHalf(memory_.KeptAs(memory_.Root(node.buffer)));
    });
    return halves;
  }

  const Memory& memory_;
  std::vector<Piece> pieces_;
  std::vector<Known> known_;                    // by piece
  std::vector<int> maker_;                      // by buffer: the piece that makes it, -1 if none
  std::vector<std::set<std::size_t>> readers_;  // by buffer
  std::set<std::size_t> picks_;                 // maps that stay by themselves until GroupLogSums
  bool rounded_ = false;                        // whether maps stay that round what products read
};

}  // namespace

std::vector<Piece> Fuse(const Memory& memory, std::vector<Piece> pieces, const Fusion& fusion) {
  return Fuser(memory, std::move(pieces)).Run(fusion);
}

}  // namespace hone::expert
