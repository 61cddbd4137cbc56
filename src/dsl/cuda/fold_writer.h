// Writes kernels that fold (folds.h): the class, which its parts in several files share. folds.cc has the unit of a
// block, what it keeps and what it stores; fold_accumulate.cc folds; fold_along.cc folds maxima and sums by them in one
// pass; fold_still.cc has what is the same for a row; fold_split.cc cuts ranges for several blocks; fold_team.cc has
// rows that several blocks keep and fold together; fold_turned.cc has rows that lie across memory.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/cuda/expr.h"
#include "dsl/cuda/fold_knobs.h"
#include "dsl/cuda/fold_turned.h"
#include "dsl/cuda/map.h"
#include "dsl/cuda/writer.h"
#include "dsl/shape/fold_pass.h"
#include "dsl/shape/loops.h"

namespace hone::dsl {

// A fold as it is done here.
struct DevicePass {
  std::vector<FoldPass::Item> items;
  // Of an item: the earlier one of this pass whose sum's square over the count has to be taken from its own; -1: none.
  // A variance is had so in the pass of its mean. Both are summed in double, whose spare bits are more than what
  // taking two large sums from each other costs.
  std::vector<int> centre;
};

class FoldWriter {
 public:
  FoldWriter(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out);

  void Emit(const std::vector<FoldPass>& given, const Expr& result);

 private:
  bool keeps_axes() const { return kernel_.family->keeps_axes; }
  const std::string& index() const { return out_.index_type(); }

  std::vector<int> Reads() const { return OperandBuffers({&kernel_, 1}); }

  // --- The unit of a block: rows_a_block_ rows, or 32 packs of columns.

  std::int64_t RowsABlock() const {
    return turned_.empty() ? std::max<std::int64_t>(1, kRowThreads / lanes_) : kTurnedThreads / lanes_;
  }
  std::int64_t ColumnBlocks() const { return (column_packs_ + 31) / 32; }
  std::int64_t Units() const {
    if (rows_) return split_ > 1 ? row_count_ : (row_count_ + RowsABlock() - 1) / RowsABlock();
    return row_count_ / (column_packs_ * pack_) * ColumnBlocks();
  }

  // Begins a kernel; its block knows its row or columns, and its chunk if the range is split.
  void OpenUnit(const std::string& hint);

  void NamePlaces(const std::vector<std::size_t>& dims, const std::string& at, std::int64_t pack) {
    const auto names = OpenPlaces(out_, loops_, dims, at, pack);
    for (std::size_t n = 0; n < dims.size(); ++n) places_[dims[n]] = names[n];
  }

  // --- Going through what is folded.

  // Which operands stay in registers: those that passes read a row of, if they fit.
  void ChooseKept(const std::vector<DevicePass>& passes);

  std::string PackType(int operand);
  std::string PackAt(int operand);

  std::int64_t AheadBytes() const {
    std::int64_t bytes = 0;
    for (const auto& [operand, name] : kept_operands_) bytes += per_lane_ * lanes_ * pack_ * ElementBytes(operand);
    return bytes;
  }
  std::int64_t ElementBytes(int operand) const {
    const int buffer = kernel_.operands[static_cast<std::size_t>(operand)].buffer;
    return static_cast<std::int64_t>(Bytes(program_.buffers[static_cast<std::size_t>(buffer)].dtype));
  }
  // Whether copies to shared memory can have the size of every kept operand's packs.
  bool CopiesPacks() const {
    return std::all_of(kept_operands_.begin(), kept_operands_.end(), [&](const auto& kept) {
      const std::int64_t bytes = pack_ * ElementBytes(kept.first);
      return bytes == 4 || bytes == 8 || bytes == 16;
    });
  }
  // Each thread has places of its own for what it keeps, so that no barrier is needed.
  void DeclareAhead();
  void FetchAhead();

  void LoadKept();

  // --- What is the same for all of a row (fold_still.cc).

  Expr WithStill(const Expr& expr);  // with lets for it
  void WriteStill();

  // --- Rows that lie across memory (fold_turned.cc).

  void FindTurned();
  void LoadTurned();
  void LoadTurned(int operand, const std::string& tile, std::int64_t pitch, std::int64_t word);
  std::int64_t TurnedWord(int operand) const;
  std::string TurnedType(int operand) const;
  std::string TurnedPack(int operand);

  // `body` for each of this thread's packs of a row, or elements of its columns.
  template <class Body>
  void EachStep(const Body& body) {
    if (per_lane_ > 0) {
      EachKept(0, per_lane_ - shared_packs_, body);
      if (shared_packs_ == 0) return;
      if (std::exchange(copies_under_way_, false)) out_.Line(out_.Helper("WaitForCopies") + "();");
      in_shared_ = true;
      EachKept(per_lane_ - shared_packs_, shared_packs_, body);
      in_shared_ = false;
      return;
    }
    const std::string q = out_.Fresh("q");
    if (split_ > 1) {
      const std::string end = out_.Fresh("end");
      out_.Line(fmt::format("const {0} {1} = {2} * {3} + {3} < {4} ? {2} * {3} + {3} : {4};", index(), end, chunk_name_,
                            chunk_, steps_));
      out_.Line("#pragma unroll 4");
      out_.Open(fmt::format("for ({} {} = {} * {} + {}; {} < {}; {} += {})", index(), q, chunk_name_, chunk_, lane_, q,
                            end, q, lanes_));
    } else {
      out_.Line("#pragma unroll 4");
      out_.Open(fmt::format("for ({} {} = {}; {} < {}; {} += {})", index(), q, lane_, q, steps_, q, stride_));
    }
    AtStep(q, body);
  }

  // Of the packs that a thread keeps, `count` from number `first` on.
  template <class Body>
  void EachKept(std::int64_t first, std::int64_t count, const Body& body) {
    constexpr std::int64_t kUnrolledShared = 4;
    const std::string q = out_.Fresh("q");
    step_ = out_.Fresh("p");
    if (in_shared_ && count > kUnrolledShared) {
      out_.Line(fmt::format("#pragma unroll {}", kUnrolledShared));
    } else {
      out_.Unroll();
    }
    out_.Open(fmt::format("for (int {} = 0; {} < {}; ++{})", step_, step_, count, step_));
    const std::string number = first > 0 ? fmt::format("({} + {})", step_, first) : step_;
    out_.Line(fmt::format("const int {} = {} + {} * {};", q, lane_, number, stride_));
    // Only the last one may be beyond the end: the others' loads wait for no branch.
    if (ends_ == Ends::kAnywhere) out_.Line(fmt::format("if ({} >= {}) break;", q, steps_));
    if (ends_ == Ends::kAtLast && steps_ % stride_ != 0 && first + count == per_lane_)
      out_.Line(fmt::format("if ({} == {} && {} >= {}) break;", step_, count - 1, q, steps_));
    AtStep(q, body);
  }

  // The inside of a loop over steps, and its end.
  template <class Body>
  void AtStep(const std::string& q, const Body& body) {
    q_ = q;
    if (!reduced_.empty()) NamePlaces(reduced_, q, pack_);
    loaded_.clear();
    body();
    loaded_.clear();
    out_.Close();
  }

  // Loads in front of the loop over a pack's elements.
  void LoadPacks(const std::vector<Expr>& exprs);

  // The text of a load where element `lane_of_pack` of the pack is meant.
  std::string LoadText(const ExprNode& load, const std::string& element);

  // The loop over a pack's elements; gives the name of its variable, "" if there is one element only.
  std::string OpenElements();
  void CloseElements() {
    if (pack_ > 1) out_.Close();
  }

  // --- Folding.

  struct Accumulator {
    std::string name, type;
    DType dtype = DType::kF32;
    bool near = false;  // a thread's own few are summed in float first
  };

  // A thread of a cluster keeps few elements of a row: their sum in float is as good as one in double, which takes as
  // long as reading them. Squares are so of the distances from one of them, whose size is that of the row's deviation.
  bool SumsNear(const DevicePass& pass, std::size_t i) const;
  static bool IsMoment(const DevicePass& pass, std::size_t i);
  // The kept operand whose elements themselves the moment is of; -1: it is of something else.
  int Pivot(const DevicePass& pass, std::size_t i) const;

  // Of a fold's value in a thread. Long sums grow in double: their error is then that of the products alone.
  Accumulator AccumulatorOf(const DevicePass& pass, std::size_t i) const;

  // This thread's share of every item.
  std::vector<Accumulator> Accumulate(const DevicePass& pass);

  // What all threads of the row or column got together, known to each of them, in the accumulator's type.
  std::string Combine(const FoldPass::Item& item, const Accumulator& accumulator);

  // The same for all items of a pass.
  std::vector<std::string> CombineAll(const DevicePass& pass, const std::vector<Accumulator>& accumulators);
  // The text of what the threads of this block got together of a row.
  std::string InBlock(const FoldPass::Item& item, const Accumulator& accumulator);

  // Names the lets that a pass makes of its totals, each in the type of its accumulator.
  void FinishAll(const DevicePass& pass, const std::vector<std::string>& totals,
                 const std::vector<Accumulator>& accumulators);

  // --- Maxima, and sums that go by them, in one pass over rows that are not kept (fold_along.cc).

  // Whether that can be: the sums are of exp(x - maximum), alone or times what reads maxima at most as summands.
  bool GoAlong(const DevicePass& first, const DevicePass& second) const;
  void FoldAlong(const DevicePass& first, const DevicePass& second);

  // --- Rows that several blocks keep and fold together, wherever on the device they are (fold_team.cc).

  // How much of a thread's share of a row is in registers and how much in shared memory; false: it fits nowhere.
  bool ShareOut(std::int64_t per_lane);
  bool ComputesMuch() const;         // beside folding a plain row: weights are read, or more than a few operations done
  std::int64_t SharedBytes() const;  // of a block, for what ShareOut found
  // The block's number, its row, and this thread's among those of the row.
  void OpenTeam();
  // Begins to copy what is kept in shared memory and loads what is kept in registers.
  void LoadShares();
  // A value that the blocks of the row tell each other, as a field of a struct of theirs.
  struct Told {
    std::string name, type, how, neutral;
  };
  void DeclareTold(const std::vector<Told>& values);
  std::string Nothing(const std::vector<Told>& values);
  // Folds the fields of the struct `name` over so many neighbouring threads; they have it all.
  void FoldWarp(const std::string& name, const std::vector<Told>& values, std::int64_t lanes);
  // Folds what the threads of the block have, and lets the others know. `own` is spent.
  void Tell(const std::string& own, const std::vector<Told>& values);
  // Opens what the warps do that hear the blocks of the row, one a thread; gives the name of what a thread has heard.
  std::string OpenHearing(const std::vector<Told>& values);
  // Ends it: of what was heard, folded over each warp, all threads of the block know of_team_, an array of
  // HearingWarps().
  void CloseHearing(const std::string& other);
  std::int64_t HearingWarps() const { return (team_ + 31) / 32; }
  std::vector<std::string> CombineTeam(const DevicePass& pass, const std::vector<Accumulator>& accumulators);
  // Whether `sum` adds up exp(body - its maximum), which `top` folds: then blocks tell each other both at once, each
  // block's sum by its own maximum.
  bool IsSumOfPowers(const DevicePass& top, const DevicePass& sum) const;
  void FoldPowers(const DevicePass& top, const DevicePass& sum);
  // Memory in which `passes` meet; the name of it.
  void PrepareMeeting(const std::vector<DevicePass>& passes);

  // --- What comes of it.

  // Adds the lets by which each element of what is made is divided.
  void FindDivisors(const Expr& result);
  static bool IsLet(const Expr& e) { return e->kind == Expr::Kind::kValue && e->value.kind == NamedValue::Kind::kLet; }
  std::string Reciprocal(const Expr& divisor) const;

  std::string TargetAddress() const;

  // The elements of a pack, over the whole space: of the result and what is also made.
  void StoreElements(const Expr& result);
  void StoreElement(int target, const Expr& result);
  // What is stored of one of them, of a pack's element of that number.
  std::string ElementValue(int target, const Expr& result, const std::string& element);

  // The result of a row, or of a pack of columns.
  void StoreRow(int target, const Expr& result);
  bool MakesRows() const;  // further results of which a row has one each
  void StoreRows();
  void OpenFirstLane();  // of those that share a row

  // --- Split ranges.

  std::string RowNumber(const std::string& element) const;

  // Lets that earlier passes have left in memory.
  void ReadLets();
  std::vector<std::string> LetBuffers() const;

  void EmitSplit(const std::vector<DevicePass>& passes, const Expr& result);

  // A part of the text that knows no packs and no columns: a block for one row's number.
  template <class Body>
  void WithoutPacks(const Body& body) {
    const std::int64_t pack = std::exchange(pack_, 1);
    const bool rows = std::exchange(rows_, true);
    body();
    pack_ = pack;
    rows_ = rows;
  }

  struct LetMemory {
    std::string buffer, hint;
    ScalarType type = ScalarType::kReal;
  };

  const KernelProgram& program_;
  const Kernel& kernel_;
  DeviceWriter& out_;
  const Loops loops_;
  bool rows_;
  std::vector<std::size_t> kept_, reduced_;
  std::int64_t pack_ = 1, lanes_ = 32, row_count_ = 1, steps_ = 1, column_packs_ = 0, split_ = 1, chunk_ = 1,
               cluster_ = 1, team_ = 1, stride_ = 1, ahead_ = 1;
  bool keep_ = false, ragged_ = false;
  std::int64_t per_lane_ = 0;                 // packs of a row that a thread keeps; 0 = it keeps none
  std::map<int, std::string> kept_operands_;  // and the registers they are in
  std::map<int, std::string> turned_;         // operands whose rows lie across: this thread's row in shared memory
  enum class Ends { kAtLast, kAnywhere, kBehind };
  Ends ends_ = Ends::kAtLast;                // where the row ends among a thread's packs
  std::int64_t shared_packs_ = 0;            // of a thread of a team: the last so many are in shared memory
  std::map<int, std::string> shared_names_;  // of kept operands: a thread's own places there
  bool in_shared_ = false;                   // of what is kept, the text is about those
  bool copies_under_way_ = false;            // they have not been waited for
  std::int64_t blocks_a_processor_ = 0;      // that the shares of a team leave room for; 0 = as it comes
  std::string meeting_;                      // memory of a team
  std::int64_t meeting_at_ = 0;              // in 64 bits: where the next exchange has its place
  std::string told_, of_team_;               // the type of what is exchanged, and what came of it
  std::int64_t told_words_ = 0;              // 64 bits of it
  std::vector<std::string> places_;          // of the dimensions, where the text stands
  std::vector<std::int64_t> row_strides_;
  std::string lane_, row_, member_, valid_, chunk_name_, step_, it_, q_;
  std::map<int, std::string> let_names_, loaded_;
  std::vector<Expr> still_;                 // what WriteStill writes, in the order of the lets
  std::set<int> divisors_;                  // lets
  std::map<int, std::string> reciprocals_;  // by let
  std::map<int, std::string> ahead_names_;  // of kept operands: their places in shared memory
  std::string end_row_, fetch_;
  std::map<int, LetMemory> let_memory_;
};

}  // namespace hone::dsl
