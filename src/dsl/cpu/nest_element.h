// Writes one nest (cpu/nest.h), alone or inside of a sequence's steps: the class, which its parts in three files share.
// nest_element.cc has the loops and the expressions, nest_folds.cc the folds, nest_adds.cc sums by keys. One use each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/cpu/expr_writer.h"
#include "dsl/element.h"
#include "dsl/kernel.h"
#include "dsl/shape/updated_places.h"

namespace hone::dsl {

// Fewer iterations of the outer loops than this are not shared out as they are: threads would wait for each other.
inline constexpr std::int64_t kFewOuter = 64;

// How the outermost loops are run: on one thread, shared among threads that are woken for it, or among those of the
// parallel region in which they stand.
enum class Share { kAlone, kWake, kRegion };

// A part of an index's range.
struct Span {
  std::string begin, end;
  std::int64_t size = 0;  // at most
};

class ElementWriter {
 public:
  ElementWriter(const KernelProgram& program, const Kernel& kernel, Writer& writer)
      : program_(program), kernel_(kernel), writer_(writer) {}

  // An index whose loop is open already.
  void Open(const IndexVar& index, const std::string& name);
  // An index of which only a part is gone through here.
  void Cut(const IndexVar& index, const std::string& name, Span span);
  void Write(Share share);
  // A sum of terms that go where a key says (shape/keyed_nest.h): each element begins with what is added to, and each
  // term is added to its own, in order. Threads share out the result, by ranges of the key, so many, too.
  void WriteAdds(std::int64_t ranges);
  // What is written of a nest that leaves most of its target alone; the writer's kernel is that of the places, which
  // outlive it.
  void WritePlaces(Share share, const UpdatedPlaces& places);
  // A row of the target into an array: the outer dimensions are open, and all elements of the others are its.
  void WriteRow(const std::string& array);
  // A name for an index, as the program calls it where that is free.
  std::string NameOf(const IndexVar& index);

 private:
  using Kind = Expr::Kind;

  struct Loop {
    IndexVar index;
    std::int64_t block = 0;  // goes by blocks of so many
  };
  struct Ready {
    Expr fold, guard;  // under which it has a value; none: always
    std::string text;
  };
  struct Text {
    std::string text;
    bool stays = false;
  };

  // The writer keeps the usual names of indices for loops such as these.
  std::string NewName(const std::string& hint);
  void Reserve(const IndexVar& index, const std::string& name);

  // Under which condition there is an element at all; null: always.
  Expr Guard() const { return places_ != nullptr ? places_->condition : Expr(); }

  // --- The plan: which loops, in which order.

  void Plan();
  // How many results stand side by side: a divisor of all, so that the block's loops have a constant length.
  std::int64_t Block(const IndexVar& last, bool lanes) const;
  bool PrefersLanes(const std::vector<GuardedFold>& folds, const IndexVar& last) const;
  // How many of the loops from the outermost on have nothing between them.
  std::size_t SharedLoops();
  void Pragma(std::size_t shared);

  // --- Loops.

  void OpenLoop(const IndexVar& index);
  void OpenBlocks(const Loop& loop);
  Span SpanOf(const IndexVar& index) const;

  // --- Folds.

  bool Known(const Expr& fold, const Expr& guard) const { return Find(fold, guard) != nullptr; }
  const Ready* Find(const Expr& fold, const Expr& guard) const;
  bool Knows(const std::set<int>& indices) const;
  bool CanBeMade(const GuardedFold& use) const;
  bool HasUnready(const Expr& expr, const Expr& guard) const;
  bool AnyReady(const Expr& expr, const Expr& guard) const;
  void MakeAllReady();  // of the element, and of whether there is one
  // Writes the folds whose indices are all open, those inside of others too.
  void MakeReady(const Expr& expr, const Expr& guard);
  std::string Start(ReduceOp op, ScalarType type) const;
  // What changes nothing when it is folded in.
  static Expr Neutral(ReduceOp op, ScalarType type);
  // "sum += x;"
  std::string Step(ReduceOp op, const std::string& into, const std::string& value);
  // The reduction clause's operator.
  std::string Clause(ReduceOp op, ScalarType type);
  // The place of what the loops stand at. Of a vector's worth of them, twice as many fit as int: its type is PlaceType.
  std::string PlaceText(const std::vector<IndexVar>& over);
  static std::int64_t Places(const std::vector<IndexVar>& over);
  static std::string PlaceType(const std::vector<IndexVar>& over);
  // The loops of a fold around `leaf`; `reduction` is the innermost one's clause, if it vectorises.
  void FoldLoops(const std::vector<IndexVar>& over, const Expr& body, const Expr& guard, const std::string& reduction,
                 const std::function<void()>& leaf);
  // The fold of the terms within a range that data say (expr/ranged_fold.h), whose ends are variables from here to
  // EndRange; the fold itself if it has none, or where that is not known here, under `guard`.
  Expr CutToRange(const Expr& fold, const Expr& guard);
  void EndRange(const Expr& fold, const Expr& cut);
  // A fold into variables of their own. `path` is where in the expression it stands, `guard` what is asked.
  std::string WriteFold(const Expr& fold, const Expr& path, const Expr& guard);
  // The loops of a fold into `name`. A long row goes into several accumulators, which hides the adder's latency.
  void WriteRow(const Expr& fold, std::vector<IndexVar> over, const Expr& path, const std::string& name, bool plain);
  // A fold for each of the results that stand side by side.
  std::string WriteLaneFold(const Expr& fold, const Expr& path, const Expr& guard);
  void OpenGuard(const Expr& guard);
  void CloseGuard(const Expr& guard);

  // --- Expressions.

  void Store();
  // "y[i * 64 + j]", of the indices that are open; in the array of a row, of those of the row.
  std::string TargetText() const;
  std::string TextOf(const Expr& expr, const Expr& path) { return Texts(expr, path, /*in_place=*/false); }
  // A constant that holds it, or what it is called already.
  std::string Constant(const Expr& expr, const Expr& path, const std::string& hint);
  std::string Texts(const Expr& expr, const Expr& path, bool in_place);
  // A text as a leaf of an expression: of memory a load of that number, else a value.
  Expr AsText(std::string text, ScalarType type, bool memory, bool stays);
  const Text& TextAt(const ExprNode& leaf) const;
  // The expression with all that ExprWriter does not know replaced by texts: indices, elements, folds. `stays` is set
  // if something in it may be evaluated only where it stands.
  Expr Plain(const Expr& e, const Expr& path, bool& stays);
  std::string InPlace(const Expr& expr, const Expr& path, bool& stays);
  // "x[i * 1024 + j]" as a value of the kernel's types.
  std::string ElementText(const ExprNode& load, const Expr& path, bool& stays);

  // A whole number's division, where a zero would stop the program.
  static bool MayTrap(const ExprNode& node);
  static bool NeedsGuard(const Expr& expr);

  const KernelProgram& program_;
  const Kernel& kernel_;
  Writer& writer_;
  const UpdatedPlaces* places_ = nullptr;
  std::string row_;        // the array that a row goes to; empty: the target
  std::set<int> not_row_;  // then the indices of which a row has one each
  Share share_ = Share::kAlone;
  FlatElement element_;
  std::vector<Loop> loops_;
  bool has_leaf_ = false;    // an innermost loop of its own
  bool leaf_lanes_ = false;  // whose elements have accumulators side by side, made within so many loops
  std::size_t before_lanes_ = 0;
  bool leaf_shared_ = false;  // by threads
  bool single_ = false;
  IndexVar leaf_;
  int lane_ = -1;       // the index that runs side by side in what is written now
  std::set<int> open_;  // indices whose loops are open
  std::map<int, std::string> names_;
  std::set<std::string> used_;
  std::map<int, Span> spans_;
  std::vector<Ready> ready_;
  std::vector<Text> texts_;
};

}  // namespace hone::dsl
