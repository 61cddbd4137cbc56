// Pieces while they are fused: which are left, who makes a buffer and who reads it. Each step changes that; fuse.cc has
// their order, and the steps are in files of their kinds. Private to the expert.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "propose/expert/pieces.h"

namespace hone::expert {

// An expression written out is no longer than this: about what a person still reads, and a compiler soon compiles.
inline constexpr int kLongestExpression = 400;

class Fuser {
 public:
  Fuser(const Memory& memory, std::vector<Piece> pieces);
  std::vector<Piece> Run(const Fusion& fusion);

 private:
  // What a plain map reads: the same places of the same buffer have the same key, and others, as good as always,
  // another.
  struct Read {
    std::uint64_t key = 0;
    std::int64_t bytes = 0;
  };
  // What is asked for again and again.
  struct Known {
    bool alive = true;
    std::vector<int> reads;  // buffers, each once
    bool plain = false, expensive = false, folds_inside = false, loads_nothing = false;
    int size = 0;
    std::int64_t count = 0;                      // elements computed, folded ones too
    std::optional<std::vector<Read>> each_read;  // ReadsOf, once somebody has asked
  };

  static std::size_t Id(int buffer) { return static_cast<std::size_t>(buffer); }
  bool IsSimpleMap(std::size_t at) const { return pieces_[at].is_map() && !known_[at].folds_inside; }
  bool IsProduct(const Piece& piece) const { return piece.fold && IsContraction(memory_, *piece.fold); }
  void Learn(std::size_t at);
  void Kill(std::size_t at);
  std::vector<std::size_t> Readers(int buffer) const;
  bool LoadsBuffer(const Expr& expr, int buffer) const;
  int LoadsOf(std::size_t at, int buffer) const;
  bool OfHalves(const Piece& product) const;

  // Maps into their readers, and behind what they read.
  using Taken = std::optional<WithWeights> (*)(const Memory& memory, const Piece& product,
                                               const std::function<const Piece*(int buffer)>& map);
  Expr WithSigns(const Expr& expr) const;
  std::optional<Piece> Inlined(const Piece& map, const Piece& reader) const;
  bool ReadElsewhere(const Piece& map);
  bool ReadsByPlaceAlone(const Piece& piece) const;
  bool InlineInto(std::size_t map_at, std::size_t reader_at);
  void InlineViews(const std::set<std::size_t>* factors_of = nullptr);
  DType HeldAs(int buffer) const;
  bool RoundsToHalves(std::size_t map_at) const;
  bool MakesEightBits(std::size_t map_at) const;
  void JoinRoundings();
  bool IsProductOf(std::size_t at, int buffer) const;
  bool ScattersRows(std::size_t map_at, std::size_t reader_at) const;
  bool EndsItsMaker(std::size_t map_at) const;
  bool TurnsTable(std::size_t map_at, std::size_t reader_at) const;
  bool SplitBatches(bool of_one_type);
  void SplitHeldHeads();
  std::optional<std::vector<Expr>> IndicesIn(int buffer, const ExprNode& load) const;
  std::optional<Expr> PixelsLast(int buffer, const ExprNode& load) const;
  std::optional<Piece> ReadingLast(std::size_t reader, int buffer, int last) const;
  bool Convolves(const Piece& piece) const;
  std::set<int> MadeByConvolutions() const;
  std::set<int> Images(const std::set<int>& convolved) const;
  bool MayMakeLast(std::size_t at) const;
  void LayImagesLast();
  // Where the rows of a segment lie, of those that an index goes through.
  struct RowsOfSegment {
    IndexVar row;
    Expr begin, end;
  };
  std::optional<IndexVar> ReadAlong(const Expr& load) const;
  Expr KnownPlace(const Expr& e) const;
  bool SearchesSorted(int buffer) const;
  std::optional<RowsOfSegment> RowsOf(const Expr& condition, const std::vector<IndexVar>& over) const;
  Expr BySegment(const Expr& fold) const;
  void TakeSegments();
  bool MayBeOneHot(const Expr& e, int depth) const;
  void LookUpOneHotRows();
  void TakeTerms();
  void CutKeyedFolds();
  void SplitKeyedFolds();
  void InlineMaps();
  bool IsNumberOfRows(std::size_t map_at) const;
  bool WritesPlaces(std::size_t map_at) const;
  std::vector<std::string> InputsWritten(int buffer) const;
  bool WritesInput(std::size_t map_at) const;
  bool FoldsWritten(std::size_t map_at, std::size_t reader_at) const;
  void GroupUpdates();
  void TakeNumbersOfRows(std::size_t norm);
  std::optional<Piece> WithSumOfRows(const Piece& map, const Piece& sum) const;
  void TakePlaces();
  bool IsWorth(std::size_t map_at, std::size_t reader_at) const;
  std::int64_t BytesRead(std::size_t map, const std::vector<std::size_t>& kernel) const;
  std::int64_t BytesMade(std::size_t map) const;
  std::set<std::size_t> ReadersOfFolds(std::size_t from, std::int64_t whole, std::size_t last) const;
  std::vector<std::vector<std::size_t>> KernelsThatRead(int buffer) const;
  std::set<std::size_t> WhoReadForLess(std::size_t map_at) const;
  std::set<std::size_t> TakeIn(Taken take);
  bool IsWeightOfSoftmax(std::size_t map_at) const;
  bool IsWeightOfSink(std::size_t map_at, std::size_t reader_at) const;
  static bool FillsADevice(const Piece& piece);
  bool LosesItsNorm(std::size_t map_at) const;
  void InlineWhere(const std::function<bool(std::size_t map, std::size_t reader)>& worth);
  void FuseEpilogues();
  void EndNests();
  void EndLookups();
  void FuseEpilogue(std::size_t producer_at, std::size_t map_at);
  void FuseScans();

  // Folds and the maps that read them, folds of folds, and several results of one.
  std::optional<Norm> NormAt(std::size_t map_at, bool stores) const;
  void GroupNorms(bool stores = false);
  void TakeEndsOfRows();
  void EndRow(std::size_t norm, Piece& row);
  void GroupRowFolds();
  bool CountNumbers();
  bool OthersFollow(int buffer, std::size_t reader) const;
  bool JoinFoldsInto(std::size_t reader);
  void GroupFolds();
  bool ShareLogSums();
  void NestFolds();
  void TakeSums();
  void GroupResults();
  void GroupOrdered();
  void GroupMaps();
  bool GoesBeside(std::size_t map) const;
  bool JoinMap(std::size_t map);
  void DropUnread(std::size_t map);
  bool Reads(std::size_t piece, std::size_t other) const;
  bool NeedsManyTensors(std::size_t a, std::size_t b) const;
  std::optional<Piece> AsOneMap(Piece first, Piece second) const;
  std::vector<Read> ReadsOf(const Piece& map) const;
  // What two read at the same places: how many of their reads, and whether that is half of the bytes of one, or more.
  struct InCommon {
    std::size_t reads = 0;
    bool much = false;
  };
  static InCommon ReadByBoth(const std::vector<Read>& a, const std::vector<Read>& b);
  bool MayShareReads(std::size_t a, std::size_t b);
  static std::vector<int> MadeBy(const Piece& piece);
  void Become(Piece both, std::size_t a, std::size_t b, std::size_t place);
  std::optional<Piece> AsReadBy(const Piece& norm, const Piece& map) const;
  std::optional<std::size_t> PlaceOfBoth(std::size_t a, std::size_t b) const;

  // Products with what is made of them in one kernel.
  void FindPicks();
  void GroupLogSums();
  void SumConvolutions();
  bool IsTakenApart(std::size_t scores) const;
  std::optional<int> BufferOfScores() const;
  void DivideWeights();
  bool DivideWeights(std::size_t product, std::size_t sum);
  void GroupPart(std::size_t scores);
  void SplitRows(std::size_t scores);
  bool WeighsByScores(std::size_t product, int between, std::size_t scores) const;
  void GroupAttention();
  std::size_t GroupMove(std::size_t attention);
  void GroupPages(std::size_t attention);
  bool GoesTogether(std::size_t at) const;
  void GroupSlices(std::optional<Piece> (*of_slices)(const Memory&, const Piece&, const Piece&));
  void GroupProducts();
  void FindSpelledProducts();
  std::optional<std::vector<IndexVar>> OrderOfProduct(const Piece& map) const;
  void LayMapsAsProducts();
  bool MakeForOutput(std::size_t map, std::size_t output, const std::vector<IndexVar>& order, Fold fold);
  bool LayAs(std::size_t at, const std::vector<IndexVar>& order);
  bool LayRowsOfProducts();
  bool LayAsItsRows(std::size_t product);
  struct Rows;
  std::optional<Rows> RowsOf(const Piece& product) const;
  std::optional<std::size_t> MadeInOrderOfReader(std::size_t product);
  bool LayFactorFor(Piece& product, const Rows& rows);
  void MakeProductsOnce();
  void RotateProducts();
  void GroupRows();
  void GroupChoices();
  bool LooksUpFactors(std::size_t map_at, std::size_t reader_at) const;
  bool IsWorthFolding(const Piece& product, const Fold& fold) const;
  std::optional<std::size_t> JoinExtreme(std::size_t place, std::size_t extreme);
  void GroupFoldedProducts();
  void GroupOrders();
  std::optional<Piece> AroundProduct(const Piece& product, const Piece& fold) const;
  std::optional<Piece> AsRead(const Piece& product, const Piece& fold) const;

  const Memory& memory_;
  std::vector<Piece> pieces_;
  std::vector<Known> known_;                    // by piece
  std::vector<int> maker_;                      // by buffer: the piece that makes it, -1 if none
  std::vector<std::set<std::size_t>> readers_;  // by buffer
  std::set<std::size_t> scores_;                // maps of scores, which become a loss
  std::set<std::size_t> picks_;                 // maps that stay by themselves until GroupLogSums
  bool rounded_ = false;                        // whether maps stay that round what products read
  bool eights_ = false;                         // and those that make 8 bits
  bool parts_ = false;                          // whether rows of attention stay in the parts that they are made of
};

}  // namespace hone::expert
