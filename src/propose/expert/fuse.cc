// What goes into what. A piece is read by others; a map may vanish into them, or into the piece that it reads. Here is
// the order of the steps, and what all of them ask.
#include <algorithm>

#include "propose/expert/fuser.h"
#include "propose/expert/keyed_pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {

Fuser::Fuser(const Memory& memory, std::vector<Piece> pieces)
    : memory_(memory), pieces_(std::move(pieces)), known_(pieces_.size()) {
  const auto buffers = memory.graph().buffers().size();
  maker_.assign(buffers, -1);
  readers_.resize(buffers);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    maker_[Id(pieces_[i].buffer)] = static_cast<int>(i);
    Learn(i);
  }
}

std::vector<Piece> Fuser::Run(const Fusion& fusion) {
  rounded_ = fusion.rounded;
  eights_ = fusion.weights;
  parts_ = fusion.parts;
  if (rounded_) JoinRoundings();
  if (fusion.products) GroupSlices(ProductOfSlice);
  if (fusion.products && fusion.norms) FindPicks();
  if (fusion.epilogues) FuseScans();  // before a view goes into what reads it
  if (fusion.epilogues) CutKeyedFolds();
  InlineViews();
  if (fusion.maps) TakeSegments();
  if (fusion.maps) TakeTerms();
  if (fusion.products && fusion.maps) FindSpelledProducts();
  SplitBatches(/*of_one_type=*/false);
  InlineViews();  // what could not be read through another view can be now that this one is gone
  while (SplitBatches(/*of_one_type=*/true)) InlineViews();
  if (fusion.attention) SplitHeldHeads();
  if (fusion.last) LayImagesLast();
  if (fusion.products) MakeProductsOnce();
  if (fusion.products && fusion.epilogues) LayMapsAsProducts();
  if (fusion.maps) SplitKeyedFolds();
  if (fusion.epilogues) FuseScans();
  if (fusion.epilogues) FuseEpilogues();  // before maps go the other way, where they would be computed more often
  if (fusion.maps) {
    const auto products = TakeIn(WithNumbersBehind);
    InlineViews(&products);  // which they read through what scaled those
  }
  if (fusion.maps && LayRowsOfProducts() && fusion.epilogues) FuseEpilogues();
  if (fusion.maps) InlineMaps();
  if (fusion.products && fusion.epilogues) SumConvolutions();
  if (fusion.maps && CountNumbers()) InlineMaps();
  if (fusion.maps) LookUpOneHotRows();
  if (fusion.norms && fusion.attention) DivideWeights();
  if (fusion.norms) GroupRowFolds();
  if (fusion.norms) GroupNorms();
  if (fusion.epilogues) FuseEpilogues();
  if (fusion.norms) GroupUpdates();
  if (fusion.norms) GroupFolds();
  const bool shared = fusion.norms && ShareLogSums();
  GroupLogSums();
  if (!picks_.empty() || shared) {
    picks_.clear();
    InlineViews();
    if (fusion.epilogues) FuseEpilogues();
    if (fusion.maps) InlineMaps();
  }
  if (fusion.attention) GroupAttention();
  if (fusion.products) GroupRows();
  if (fusion.products) GroupChoices();
  if (fusion.products) GroupProducts();
  if (fusion.products) GroupSlices(ProductOfSlices);
  if (fusion.products) GroupFoldedProducts();
  if (fusion.products) GroupOrders();
  if (fusion.weights) TakeIn(WithScalesOfBlocks);
  if (fusion.weights) TakeIn(WithWholeNumbers);
  if (fusion.weights) TakeIn(WithStoredWeights);
  if (fusion.maps) TakeIn(WithScalesBehind);
  if (fusion.maps) NestFolds();
  if (fusion.maps) TakePlaces();
  if (fusion.maps) EndNests();
  if (fusion.maps) EndLookups();
  if (fusion.norms) TakeEndsOfRows();
  if (fusion.norms) GroupNorms(/*stores=*/true);
  if (fusion.norms && fusion.maps) TakeSums();
  if (fusion.norms) GroupResults();
  if (fusion.norms) GroupOrdered();
  if (fusion.maps) GroupMaps();
  if (fusion.products) RotateProducts();
  std::vector<Piece> left;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (known_[i].alive) left.push_back(std::move(pieces_[i]));
  }
  return left;
}

void Fuser::Learn(std::size_t at) {
  Known& known = known_[at];
  for (const int buffer : known.reads) readers_[Id(buffer)].erase(at);
  known.reads.clear();
  known.each_read.reset();
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

void Fuser::Kill(std::size_t at) {
  for (const int buffer : known_[at].reads) readers_[Id(buffer)].erase(at);
  known_[at].alive = false;
  maker_[Id(pieces_[at].buffer)] = -1;
}

std::vector<std::size_t> Fuser::Readers(int buffer) const {
  const auto& readers = readers_[Id(buffer)];
  return {readers.begin(), readers.end()};
}

bool Fuser::LoadsBuffer(const Expr& expr, int buffer) const {
  bool loads = false;
  Visit(expr,
        [&](const ExprNode& node) { loads |= node.kind == Expr::Kind::kLoad && memory_.Root(node.buffer) == buffer; });
  return loads;
}

// At how many places of the expression the buffer is read.
int Fuser::LoadsOf(std::size_t at, int buffer) const {
  int loads = 0;
  EachExpr(pieces_[at], [&](const Expr& expr) {
    for (const auto& load : memory_.Loads(expr)) loads += load.buffer == buffer ? 1 : 0;
  });
  return loads;
}

bool Fuser::OfHalves(const Piece& product) const {
  bool halves = true;
  Visit(product.fold->body, [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kLoad) halves &= IsHalf(memory_.KeptAs(memory_.Root(node.buffer)));
  });
  return halves;
}

std::vector<Piece> Fuse(const Memory& memory, std::vector<Piece> pieces, const Fusion& fusion) {
  return Fuser(memory, std::move(pieces)).Run(fusion);
}

}  // namespace hone::expert
