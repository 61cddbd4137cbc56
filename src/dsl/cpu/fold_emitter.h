// Writes nests that fold (cpu/folds.h): the class, which its parts in several files share. folds.cc has the loops
// around, expressions, and what becomes of what was folded; fold_accumulate.cc folds; fold_split.cc cuts ranges for
// several threads.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/cpu/fold_knobs.h"
#include "dsl/cpu/index_text.h"
#include "dsl/cpu/loop_text.h"
#include "dsl/cpu/writer.h"
#include "dsl/kernel.h"
#include "dsl/shape/fold_pass.h"

namespace hone::dsl {

class FoldEmitter {
 public:
  FoldEmitter(const KernelProgram& program, const Kernel& kernel, Writer& writer);

  void Emit(const std::vector<FoldPass>& wanted, const Expr& wanted_result);

 private:
  // Elements that are summed in the accumulators before they go to a double: keeps the error of a sum at that of a
  // short one.
  static constexpr std::int64_t kRowBlock = 4096;
  static constexpr std::int64_t kMomentRows = 64;  // whose columns are read twice: they stay in the second-level cache
  // Read and written, and the next one fetched, in the first-level cache.
  static constexpr std::int64_t kOnlineBlock = 2048;
  static constexpr std::int64_t kFetchBlock = 64;  // elements that are fetched at a time

  // A range of a loop: constants where they are known.
  struct Range {
    std::string begin = "0", end;
    std::optional<std::int64_t> count;  // end - begin, when it is a constant
  };
  static Range Whole(const LoopDim& dim) {
    return {.begin = "0", .end = fmt::format("{}", dim.extent), .count = dim.extent};
  }
  // Whether an operator may stand beside the text without parentheses: nothing but a name, an element or a call.
  static bool IsAtom(const std::string& text);

  // --- Loops over what is not folded.

  const LoopDim& Dim(std::size_t d) const { return loops_.dims[d]; }
  // Opens the loops over rows (or blocks of columns), shared out to the threads or run by each.
  void OpenKept(bool with_chunks, bool shared = true);
  // The bounds of this chunk.
  void WriteChunk();
  void CloseKept();
  std::vector<Range> Ranges(std::optional<Range> chunk) const;
  Range Chunk() const;
  std::string ColumnLoop() const;

  // --- Expressions.

  std::string LoadText(const ExprNode& load, const std::vector<std::string>& index, const std::string& it) const;
  std::vector<std::string> Texts(const std::vector<Expr>& exprs, const std::vector<std::string>& index,
                                 const std::string& it = "");

  // --- One fold.

  std::string Start(const FoldPass::Item& item) const;
  std::string Clause(const FoldPass::Item& item);
  static bool Adds(const FoldPass::Item& item) { return item.fold == ReduceOp::kSum || item.fold == ReduceOp::kProd; }
  // "a + b", "Max(a, b)".
  std::string Join(const FoldPass::Item& item, const std::string& a, const std::string& b);
  static std::string Wrap(const std::string& text) { return IsAtom(text) ? text : "(" + text + ")"; }
  std::string Update(const FoldPass::Item& item, const std::string& into, const std::string& value);
  // A balanced combination: (a + b) + (c + d).
  std::string JoinAll(const FoldPass::Item& item, std::vector<std::string> parts);
  std::string TypeOf(const FoldPass::Item& item) const { return writer_.TypeName(item.body->type); }
  // Sums and products of many blocks are kept in double.
  std::string TotalType(const FoldPass::Item& item) const;

  // --- Folding.

  // What a pass leaves: the text of each item's folded value, for one row or for column `column_`.
  using Folded = std::vector<std::string>;
  Folded Pass(const FoldPass& pass, const std::vector<Range>& ranges);
  // Opens the loops over the folded dimensions but the innermost of them.
  std::size_t OpenReduced(const std::vector<Range>& ranges);
  Folded RowPass(const FoldPass& pass, const std::vector<Range>& ranges);
  // Folds `known` (or `count`) elements from `begin` on, in `accumulators_` streams side by side.
  Folded RowBlock(const FoldPass& pass, const LoopDim& dim, std::size_t inner, const std::string& begin,
                  std::optional<std::int64_t> known, const std::string& count);
  // An array of lanes for each item. For the largest or smallest element, as the compiler would join the lanes of its
  // own reduction one by one, each with a test for NaN, and an array is joined by halves; and where memory is asked for
  // between blocks of elements, as a reduction of the compiler's own would be joined after each block.
  Folded LaneBlock(const FoldPass& pass, const LoopDim& dim, std::size_t inner, const std::string& begin,
                   std::optional<std::int64_t> known, const std::string& count,
                   const std::function<void(std::int64_t width)>& fetch);
  // One element: writes what is kept of it into the target, and gives the items' values.
  std::vector<std::string> Values(const FoldPass& pass, const std::vector<std::string>& index);
  // The same, and its values into the accumulators.
  void Step(const FoldPass& pass, const std::vector<std::string>& index,
            const std::function<std::string(std::size_t)>& accumulator);
  Folded ColumnPass(const FoldPass& pass, const std::vector<Range>& ranges);
  // Adds the rows from `begin` to `end` into the columns of `parts`, several rows at a time, which are added up before
  // they meet the accumulators.
  void ColumnRows(const FoldPass& pass, const std::string& begin, const std::string& end,
                  std::optional<std::int64_t> known, const std::vector<std::string>& parts);
  // A value that is combined with others goes through a constant if it is more than a name.
  std::string Named(const FoldPass::Item& item, const std::string& text);
  // Whether the two passes are a mean and the squared distances from it, and memory is worth sparing.
  bool AreMoments(const std::vector<FoldPass>& passes) const;
  // A sum and the sum of the squared distances from its mean, in one pass over memory: each block's mean first, then
  // its distances from that while the block is in the cache, and the two of all blocks so far put together (Chan,
  // Golub and LeVeque 1979). As exact as two passes.
  Folded MomentsPass(const FoldPass& pass, const std::vector<Range>& ranges);
  // By blocks that stay in the first-level cache: the largest so far, then the sum of the exps below it, scaled when a
  // larger one comes. Exps that are kept are those below the largest of their time, which is noted for each block.
  Folded OnlinePass(const FoldPass& pass, const std::vector<Range>& ranges);
  static std::string BlockNumber(const std::string& at, const std::string& begin);
  // What each block of this row was scaled by: an array of the row's, or this chunk's place in scratch memory. Not
  // anew: again, where the chunks are come back to.
  void DeclareTops(bool anew);

  // --- Fetching ahead.

  // Where the elements stand that are asked for while those at `index_` are computed.
  std::vector<std::string> FetchedIndex(std::size_t inner) const;
  std::vector<std::string> IndexAhead(std::size_t inner, std::int64_t elements) const;
  int FetchLevel() const { return fetch_ == Fetch::kRow && reduced_count_ * 4 > kNearRow ? 2 : 1; }

  // --- What was folded, finished.

  // Makes each let a constant (rows) or an array (columns) of this place.
  void Finish(const FoldPass& pass, const Folded& folded);
  // The result with what depends on lets alone taken out, to be computed once a row or column and not once an element;
  // a division by such becomes a product.
  Expr Hoist(const Expr& e);
  Expr Hoisted(const Expr& e);
  // Whether it holds lets, and nothing that varies from element to element.
  static bool StandsStill(const Expr& e);
  // Those of them from number `first` on that have no text yet, before number `end`.
  void WriteHoisted(std::size_t first, std::size_t end);
  // With what costs much and is the same for all of a row taken out likewise (shape/still_parts.h).
  Expr HoistStill(const Expr& e);
  // Further results of which a row has one each; `by_all`: all threads come here.
  void StoreRows(bool by_all = false);
  // The folded value as the kernel's type: totals are kept in double.
  std::string Narrow(const FoldPass::Item& item, const std::string& text) const;
  // The last loops: each element, or the row's one result.
  void Result(const Expr& result, const std::vector<Range>& ranges);
  // What an online pass kept, each block scaled by its own factor in place of the row's.
  void ResultByBlocks(const Expr& result, const std::vector<Range>& ranges);
  void Store(const Expr& result);

  // --- Split: what goes from step to step lies in scratch memory.

  std::vector<std::string> Partials(const FoldPass& pass);
  std::string PartialAt(const std::string& partials) const;
  void StorePartials(const std::vector<std::string>& partials, const Folded& folded);
  void EmitSplit(const std::vector<FoldPass>& passes, const Expr& result);
  // All threads work on the chunks of one row (or block of columns) after the other, so that a chunk's elements are
  // still in its core's cache when the next step reads them. Combining is so little that every thread does it for
  // itself.
  void EmitSplitKept(const std::vector<FoldPass>& passes, const Expr& result);
  // The loop over chunks inside of a parallel region. The threads wait for each other behind it if someone else's
  // chunks are read next.
  void OpenChunks(bool waits);
  std::string KeptAddress() const { return Address(index_, kept_strides_, 0); }
  // How many elements the chunk at hand folds.
  std::string ChunkCount() const;
  // Folds the partial results of this place and stores `result`; without one the lets are left, as Finish leaves them.
  void Combine(const FoldPass& pass, const std::vector<std::string>& partials, const Expr* result);

  const Kernel& kernel_;
  Writer& writer_;
  LoopText loops_;
  bool rows_ = true;
  std::vector<std::size_t> kept_, reduced_;  // dimensions of loops_
  std::vector<std::int64_t> kept_strides_;
  std::int64_t accumulators_ = 1, columns_ = 1, split_ = 1, chunk_ = 0;
  std::int64_t kept_count_ = 1, reduced_count_ = 1;
  std::size_t split_dim_ = 0;
  bool even_columns_ = true;
  std::vector<std::string> index_;  // of each dimension, here
  std::map<int, std::string> lets_;
  std::map<NamedValue, Expr> maxima_;  // lets that are the largest of an expression
  std::string column_, start_, width_, chunk_var_, chunk_begin_, chunk_end_;
  std::string tops_, all_tops_;  // of blocks whose exps are kept, and the scratch memory that they lie in, if any
  std::size_t depth_ = 0;
  enum class Fetch { kNo, kRow, kAhead } fetch_ = Fetch::kNo;
  bool last_pass_ = false;
  std::optional<std::int64_t> ahead_;  // elements to fetch ahead, if other than usual
  std::vector<KernelAlso> also_;       // further results, hoisted as the result is
  struct Once {
    Expr expr;
    std::string text;  // once it is written
  };
  std::vector<Once> hoisted_;  // what is computed once a row or column, by the number of its text
  std::size_t still_ = 0;      // so many of them, the first ones, before anything is folded
  bool several_ = false;       // whether the last pass went through totals
};

}  // namespace hone::dsl
