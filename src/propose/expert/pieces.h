// The expert's view of a graph: pieces of work that a kernel could do, made from the graph's stages and then fused. A
// piece is a map (an element expression), a fold (one reduction with an expression before and after it), a norm (folds
// over one set of axes and an element expression that reads them) or a step of a sequence. Which operators they came
// from no longer matters: what a piece is is seen from its expression.
//
//   normalise.h  index arithmetic made simple      pieces.cc  a stage becomes a piece
//   fuse.cc      maps go into readers, and behind producers   norms.cc  folds and the map that reads them
//   scans.cc     scans, and maps that only move what they made   folds.cc  folds of the same rows
//   picks.cc     few elements of a product that is folded    row_folds.cc  sums over rows of their softmax
//   fuse_attention.cc  two products and the softmax between them
//   fuse_results.cc  maps that read the same as one, and beside norms   made_again.cc  what several kernels read
//   fuse_updates.cc  what is written into an input, and the sums of its rows
//   fuse_segments.cc  rows that are folded by segments   fuse_one_hot.cc  rows of one 1, which look up
//   orders.cc    maps of elements in order   sums.cc  sums over the columns of products
//   fuse_pools.cc  sums over windows of convolutions   line.h  multiples of what a fold made, and what is beside it
//   images_last.cc  images whose channels lie last
//   batches.cc   batches of products, and rows of other readers, in dimensions of maps
//   weights.cc   products of few rows with numbers of few bits
//   scales.cc    scales of reals of 8 bits go behind their products, those of blocks of K into them
//   factors.cc   numbers that scaled a factor go behind its product
//   rotations.cc  pairs of a product's columns that a map turns   sides.h  halves of rows likewise
//   one_place.h  folds that are one of their terms
//   broadcast_product.h  products that are the same for all batches   patches.h  windows that do not overlap
//   spelled_product.h  products that are spelled out as sums
//   copied_rows.h  what attention reads across memory   constants.h  what no input changes
//   pages.h      rows that are looked up by pages
//   hidden_keys.h  which keys a score of attention hides by their places
//   held_rows.h  keys and values of 8 bits
//   written_places.h  places that indices say through other values
//   writer.h     pieces become statements of the language   slower_kinds.h  those that are faster as others
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "propose/expert/memory.h"

namespace hone::expert {

struct Fold {
  std::vector<IndexVar> over;
  ReduceOp op = ReduceOp::kSum;
  Expr body;                   // over the piece's space and `over`
  Expr finish;                 // of kIt, over the piece's space
  bool torch_in_tf32 = false;  // a contraction that PyTorch makes in TF32 on a device, by its defaults
  // Of reals of 8 bits: the sums may be as tensor cores make them of such, of some 13 bits: PyTorch makes them so, or
  // what is multiplied was rounded to fewer bits before. Else they are held to f32.
  bool few_bits_of_sums = false;
};

struct Piece {
  int buffer = -1;                // what it makes; -1, -2 ...: the value kInside of number 0, 1 ... of the piece that
                                  // it is a statistic of
  std::vector<IndexVar> space;    // the result's dimensions; row-major over them is the buffer's own order
  std::optional<Fold> fold;       // a fold
  Expr value;                     // a map's, norm's or step's element; not used by a fold
  std::vector<Piece> statistics;  // a norm's folds in order; their spaces are `space` without `axes`. Of a fold: others
                                  // over the same indices that its finish reads
  std::vector<int> axes;          // of a norm: the dimensions of `space` that its statistics fold
  std::vector<Piece> inside;      // of attention, the fold of weights times values: its scores and their softmax, or
                                  // what divides them by their sum, or that sum, or nothing;
                                  // of such scores: the product of the second parts of rows, over the same indices;
                                  // of a map that turns pairs of columns: the product that made them;
                                  // of a map that lays its heads side by side: that attention;
                                  // of a product: the one that its end reads, or the group of each of its
                                  // rows; of another fold: the product it folds, or the places in order it looks into
  std::vector<Piece> also;        // of a map: others over its space;
                                  // of a norm: maps over its space that it writes, too, reading nothing more for it, or
                                  // over that of its statistics;
                                  // of places in order: maps that look up the elements that are there;
                                  // of the fold of a product that finds a place: the fold that finds what is there
  std::vector<Piece> looked_up;   // of attention, or the map around it: maps that look its keys and values up by pages
                                  // (pages.h), or convert what is of 8 bits (held_rows.h), for it alone, in order; of
                                  // a product: the map that looks up one of its factors
  bool may_rotate = false;        // of a product that others read, too: it may turn pairs of columns that maps turn
  int sequence = -1;              // a step of the sequence of this number: Stage::sequence
  int along = 0;                  // of a step: the dimension of `space` that is walked in order
  bool reversed = false;          // of a step: from the last to the first
  bool is_map() const { return !fold && statistics.empty() && sequence < 0; }
};

// What may be fused; each is a choice that the search can take back.
struct Fusion {
  bool maps = true;       // maps into maps and into the bodies of folds; maps that read the same, as one
  bool epilogues = true;  // maps behind folds into them
  bool norms = true;      // folds and the map that reads them; norms and the maps that read the same; places in order
                          // and the maps that look into them
  bool attention = true;  // a product, its softmax or none, and the product that reads it
  bool products = true;   // a product and the one that its end reads; a product, or places in order, and the fold
                          // that reads it
  bool weights = false;   // what makes reals of numbers of few bits into products of few rows, and scales of blocks
                          // into products of such numbers; what the graph itself makes in 8 bits stays so
  bool rounded = false;   // maps that round to 16 bits what products read stay, so that those are products of 16 bits
  bool last = false;      // images of 16 bits have their channels last, whatever makes them
  bool parts = false;     // rows that scores of attention multiply stay in the two parts that they are put together of
  bool operator==(const Fusion&) const = default;
};

// One piece a stage that does work.
std::vector<Piece> PiecesOf(const Memory& memory);
// Steps of a sequence stay neighbours.
std::vector<Piece> Fuse(const Memory& memory, std::vector<Piece> pieces, const Fusion& fusion);

// Folds of the same rows as one fold with statistics. JoinFolds: `reader` finishes with what `fold` makes, each at its
// own place. LogSum: the logarithm of a sum of exponentials, of `largest` and `sum` of exp(x - largest); it takes the
// sum's place, with the sum's end if that has one. Nothing if they are not that. WithLogSum: an expression in which
// (a - largest) - log(sum) are all its reads of the two, with a - (what LogSum makes) instead; where the difference may
// lose a few bits, exp(a - largest) / sum are exp of that, too. EndOfLogSum: of what
// LogSum made, its end with the logarithm as `it`; nothing if it reads more than that. LogSumApart: the two that LogSum
// made one of, for whoever has no such statement; nothing if the piece is another.
std::optional<Piece> JoinFolds(const Memory& memory, const Piece& reader, const Piece& fold);
std::optional<Piece> LogSum(const Memory& memory, const Piece& largest, const Piece& sum);
std::optional<Expr> EndOfLogSum(const Piece& piece);
bool IsSameLogSum(const Memory& memory, const Piece& a, const Piece& b);
Expr OnlyLogSum();
std::optional<std::pair<Piece, Piece>> LogSumApart(const Piece& piece);
enum class OfLogSum : std::uint8_t { kLogarithms, kProbabilitiesToo };
std::optional<Expr> WithLogSum(const Memory& memory, const Expr& expr, int largest, int sum, OfLogSum taken);

// --- For those who look at pieces ---

// The expressions of a piece that are evaluated over its space (and, for `body`, its folded indices).
void EachExpr(Piece& piece, const std::function<void(Expr&)>& visit);
void EachExpr(const Piece& piece, const std::function<void(const Expr&)>& visit);

Shape Extents(const std::vector<IndexVar>& vars);
Affine OwnPosition(const std::vector<IndexVar>& space);  // where a piece writes: the row-major position of its space

// All that it reads it reads at affine positions; no index is a value, as it is in a mask; it holds no further fold.
bool IsPlain(const Memory& memory, const Piece& piece);
// A sum of products of two elements, guarded or not: a matrix product, a convolution.
bool IsContraction(const Memory& memory, const Fold& fold);
// A fold over places beside its own, in the same dimensions: convolution, pooling.
bool IsWindow(const Piece& piece);
// Whether each element is in one fold alone, as one of a row of groups.
bool IsOneWindowOfEach(const Piece& piece);

// The value as who reads the buffer finds it: whole numbers that do not fit its type wrap around, reals that do not fit
// one without infinities are the largest of it. `it`: the fold that is kIt in the value, if there is one.
Expr AsKept(const Memory& memory, int buffer, const Expr& value, const Fold* it = nullptr);
// Without those that what is known by now of their operands makes needless.
Expr WithoutWraps(const Memory& memory, const Expr& expr);
// Without those that change no bit of what is stored as this type, as who reads a sum of sums alone needs none between.
Expr WithoutInnerWraps(const Expr& expr, DType stored);
// The map's element at the place of the load, in the reader's indices; nothing if that needs a division.
std::optional<Expr> ElementAt(const Memory& memory, const Piece& map, const ExprNode& load);
// Likewise at a row-major position.
std::optional<Expr> ElementAt(const Memory& memory, const Piece& map, const Affine& position,
                              const std::vector<IndexVar>& vars);

// Maps of what a product makes, if who folds one looks for the largest and nobody else reads them: those of its
// elements, or of those of many of its rows, and those that read few of them. `readers` gives the pieces that read a
// buffer. Picked: one of the latter, which by then reads the product itself, with its elements made anew; nothing if
// they are of several places.
struct Scores {
  std::set<std::size_t> maps, picks;
};
Scores ScoresOf(const Memory& memory, const std::vector<Piece>& pieces, std::size_t product,
                const std::function<std::vector<std::size_t>(int buffer)>& readers);
std::optional<Piece> Picked(const Memory& memory, const Piece& map, const Piece& product);
// A sum over the columns of the product inside as the sum of the columns, which makes `buffer`, and a product with
// that; nothing if it does something else with what the product makes, or each row has columns of its own.
struct SummedProduct {
  Piece columns, rows;
};
std::optional<SummedProduct> SumOfProduct(const Memory& memory, const Piece& sum, int buffer);
// The map as the end of a product of the slice of `product` that it reads, if that is nearly all of it.
std::optional<Piece> ProductOfSlice(const Memory& memory, const Piece& product, const Piece& map);
// The map as the end of a product of one slice of `product`, with that of the other inside; nothing if it reads other
// than two elements of it, or they are not half of it each. The map alone reads the product.
std::optional<Piece> ProductOfSlices(const Memory& memory, const Piece& product, const Piece& map);
// The map as the end of `product`, of which it turns pairs of columns: with them as dsl::RotatedValue. Nothing if it is
// no such map.
std::optional<Piece> RotatedProduct(const Memory& memory, const Piece& product, const Piece& map);

// Whether memory may hold weights so that a product of 16-bit rows makes reals of 16 bits of them itself.
constexpr bool IsStoredInFewBits(DType type) {
  return type == DType::kI8 || type == DType::kU8 || type == DType::kI32 || (IsFloat(type) && Bytes(type) == 1);
}

// So many rows at most: more would convert each number again and again.
inline constexpr std::int64_t kRowsOfStoredWeights = 16;

// The product with what makes reals of numbers of few bits inside of it, and the maps that it needs no more;
// nothing if it is no such product. `map`: the map that makes a buffer for nobody else; null if another piece does.
struct WithWeights {
  Piece piece;
  std::vector<int> maps;
};
std::optional<WithWeights> WithStoredWeights(const Memory& memory, const Piece& product,
                                             const std::function<const Piece*(int buffer)>& map);

// The product of reals of 8 bits with the scales behind its sum that maps applied before, and those maps; nothing if it
// is none, or scales vary along the sum.
std::optional<WithWeights> WithScalesBehind(const Memory& memory, const Piece& product,
                                            const std::function<const Piece*(int buffer)>& map);
// The same for numbers that maps multiplied factors with, or divided them by.
std::optional<WithWeights> WithNumbersBehind(const Memory& memory, const Piece& product,
                                             const std::function<const Piece*(int buffer)>& map);

// Likewise with scales of blocks of K in the sum, over the blocks and the elements of one.
std::optional<WithWeights> WithScalesOfBlocks(const Memory& memory, const Piece& product,
                                              const std::function<const Piece*(int buffer)>& map);
// The product of whole numbers of 8 bits that maps made reals before, and scaled, as one of whole numbers with the
// scales behind its sum.
std::optional<WithWeights> WithWholeNumbers(const Memory& memory, const Piece& product,
                                            const std::function<const Piece*(int buffer)>& map);
// Whether it is a sum that WithScalesOfBlocks makes: of two reals of 8 bits, times scales.
bool IsProductOfBlocks(const Memory& memory, const Fold& fold);

// The map's element, with what stands in order at its place as kIt and nothing else of where that is; `places` is the
// piece that makes the places in order, with the ranks inside, over the same dimensions. Nothing if it is no such map.
std::optional<Expr> OfOrdered(const Memory& memory, const Piece& map, const Piece& places);

// The piece over other dimensions of the same elements, row-major; nothing if that needs a division.
std::optional<Piece> OverSpace(const Piece& piece, const std::vector<IndexVar>& space);
// The piece over dimensions of which each place has its element at the row-major position; nothing if that needs a
// division.
std::optional<Piece> ReadAt(const Piece& piece, const Affine& position, const std::vector<IndexVar>& space);

// `var`, with which a position goes in steps of `step`, as dimensions that end where those of `strides` (outermost
// first) do; nothing if one ends between two elements of it.
std::optional<std::vector<IndexVar>> DimensionsApart(const IndexVar& var, std::int64_t step,
                                                     const std::vector<std::int64_t>& strides);

// The product over more dimensions: its batches, with which both its factors vary, end where dimensions of the map do
// that it reads; nothing if they do so already, or cannot.
std::optional<Piece> WithBatchesOf(const Memory& memory, const Piece& map, const Piece& product);
// The same where dimensions of a map do that reads the product.
std::optional<Piece> WithBatchesOfReader(const Memory& memory, const Piece& product, const Piece& map);
// The product with its rows apart likewise, a tile of them at least in each part: rows of several samples, of each of
// which the map may have numbers of its own.
std::optional<Piece> WithRowsOfReader(const Memory& memory, const Piece& product, const Piece& map);
// The reader of a map over more dimensions, which end where the map's do; nothing if they do so already, or cannot.
std::optional<Piece> WithDimensionsOf(const Memory& memory, const Piece& map, const Piece& reader);

// A plain piece in as few dimensions as its loads allow, the loads in their flat form. A norm's folded dimensions stay
// apart from its kept ones.
void MergeDimensions(const Memory& memory, Piece& piece);

// Folds and the map at `map` that reads them as one norm, if they are one; `maker` gives the piece that makes a buffer
// (-1: none) and `readers` those that read it. `members`: the folds that are inside. `stores`: also folds that others
// behind the map read, or that are outputs; and `map` may be a norm already that reads them. The norm then stores them,
// too.
struct Norm {
  Piece piece;
  std::vector<std::size_t> members;
};
std::optional<Norm> NormOf(const Memory& memory, const std::vector<Piece>& pieces, std::size_t map,
                           const std::function<int(int buffer)>& maker,
                           const std::function<std::vector<std::size_t>(int buffer)>& readers, bool stores = false);
// What is subtracted from all of a row before its softmax, as its largest is by whoever knows no other way, changes
// nothing but what is rounded: the norm without that, and without the statistics that nobody reads then.
void DropShifts(Piece& norm);
// Of a norm: whether what it also makes is one a row.
bool IsOfRow(const Piece& norm, const Piece& also);

// A sum at `at` of terms that read the softmax of rows, as sums of each row with its statistics (`rows`), and the sum
// of what those make where it goes over several (`all`). `maker` and `readers` as above; `members`: what is inside.
struct RowFold {
  Piece rows;
  std::optional<Piece> all;
  std::vector<std::size_t> members;  // in order
};
std::optional<RowFold> RowFoldOf(const Memory& memory, const std::vector<Piece>& pieces, std::size_t at,
                                 const std::function<int(int buffer)>& maker,
                                 const std::function<std::vector<std::size_t>(int buffer)>& readers);

// A step that combines the one before with an element; the first with what changes nothing.
struct Scan {
  BinaryOp op = BinaryOp::kAdd;
  std::string_view word;  // "sum"
  double identity = 0;
  Expr element;            // over the step's space
  bool exclusive = false;  // a step has the elements before its own
};
std::optional<Scan> ScanOf(const Piece& step);
// The scan as `map` shows it, if all that map does is to show it from its last step to its first, or each step one
// place later, behind what changes nothing: then that is a scan, too.
std::optional<Piece> ScanThrough(const Memory& memory, const Piece& step, const Piece& map);

}  // namespace hone::expert
