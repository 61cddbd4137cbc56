// The text of loop nests, straight from the element definitions: expressions and folds in the types of
// generated_code/numbers.h. What is common to the nests of the host (loop_nest.cc) and of a device (cuda_nest.cc),
// which say how the loops around them run. Not thread-safe.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "oracle/softmax_form.h"

namespace hone {

class NestText {
 public:
  // The oracle's nests are over a real type R, naive ones in the problem's own types.
  enum class Style { kOracle, kNaive };
  // Whether what moves a buffer for a single sum, as a transposition does, is a stage of its own: lanes of a host want
  // neighbouring terms side by side.
  enum class Moves { kStages, kFused };
  NestText(const Graph& graph, Style style, Moves moves = Moves::kStages);
  virtual ~NestText() = default;

  const std::string& name(int buffer) const { return names_[static_cast<std::size_t>(buffer)]; }
  // Whether a stage became part of the one that reads it.
  bool Fused(std::size_t stage) const { return !stages_[stage].value; }
  // Whether a buffer's values carry no rounding: inputs, and what only moves, compares and counts them.
  bool exact(int buffer) const { return exact_[static_cast<std::size_t>(buffer)]; }
  // The type of an element in the oracle's memory, in terms of R.
  std::string MemoryType(int id) const;
  // An output that no later stage reads goes straight to its place.
  bool GoesStraight(int id) const;
  // The buffer whose memory this one is: itself, or what it is a reshape of. An output has memory of its own.
  int Root(int buffer) const;
  // Where the run of stages begins whose last one this is: what the run writes has to be declared by then.
  std::optional<std::size_t> RunThatEnds(std::size_t stage) const;

  // The type of an element in the memory of inputs, and of naive nests.

 protected:
  // A nest as a function: names of buffers become parameters and all other numbered names are counted anew, so that
  // equal nests have equal texts.
  struct Function {
    struct Parameter {
      std::string type;   // "const float*"
      std::string name;   // "p0"
      std::string given;  // the name that it had: of a buffer, or "value2"
      int buffer = -1;    // or -1
    };
    std::string body;
    std::vector<Parameter> parameters;
  };
  Function Renamed(const std::string& nest, const std::set<int>& written) const;

  // Once before a stage's value is emitted.
  void Prepare(const Stage& stage);
  // Where the value of a stage goes, as the last statement of its nest.
  void WriteResult(const Stage& stage, const Expr& value);
  // The statement that stores what goes straight to an output; by the output's number.
  virtual std::string StoreText(const std::string& value, std::ptrdiff_t output, const std::string& offset) const = 0;
  virtual void OpenLoop(const IndexVar& var, bool parallel) = 0;
  void CloseLoops(std::size_t count);

  // Terms that one step of a stage adds up.
  static double StepTerms(const Stage& stage);
  // Whether all of a sequence advances element by element: each one reads the others only at its own place, apart from
  // the step.
  bool IsScan(std::size_t first, std::size_t end) const;
  // A stage of a scan with the indices of the one that leads it.
  static Stage WithIndicesOf(const Stage& leader, Stage stage);
  // What one step of a scan, the stages [first, end), computes, in the indices of the first.
  void WriteStep(std::size_t first, std::size_t end);
  // The term of `y = (first step ? 0 : y one step before) + term`: such sums have the errors of sums, not of chains of
  // additions.
  static Expr RunningSumTerm(const Stage& stage);
  // "// y = max(x[i0], 0)", a line a stage.
  std::string Comment(std::size_t first, std::size_t end) const;
  bool IsExact(const Expr& e) const;  // loads, moves, comparisons and whole numbers are when their operands are
  bool IsExactProduct(const Expr& e) const;
  // An expression of type R that carries no error, as a plain number.
  static std::string ExactText(const std::string& text) { return fmt::format("Plain({})", text); }
  std::string IndexName(const IndexVar& var) const { return fmt::format("i{}", var.id); }
  std::string Offset(const Stage& stage) const;  // of the element at the stage's indices

  template <class... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(static_cast<std::size_t>(depth_) * 2, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  // What is in sight while the statements of one block are written. Shared subtrees become named temporaries, if they
  // are evaluated on every path: a load behind a select's guard must stay behind it.
  class Scope {
   public:
    Scope(NestText& writer, const Expr& root)
        : writer_(writer), known_(writer.known_), unconditional_(writer.unconditional_) {
      Walk(*root);
    }
    ~Scope() {
      writer_.known_ = std::move(known_);
      writer_.unconditional_ = std::move(unconditional_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    void Walk(const ExprNode& node) {
      if (!writer_.unconditional_.insert(&node).second) return;
      if (node.kind == Expr::Kind::kReduce) return;  // a block of its own
      if (node.kind == Expr::Kind::kSelect) return Walk(*node.operands[0]);
      for (const auto& operand : node.operands) Walk(*operand);
    }
    NestText& writer_;
    std::unordered_map<const ExprNode*, std::string> known_;
    std::unordered_set<const ExprNode*> unconditional_;
  };

  std::string Emit(const Expr& e);
  std::string EmitTerm(const Expr& e);  // of a sum: a product of two reals is a contraction's
  // The type of a fold's values, and the statements that declare it, take in one more term and give the result.
  std::string FoldType(const ExprNode& e) const;
  void DeclareFold(const ExprNode& e, const std::string& name);
  void WriteFoldTerm(const ExprNode& e, const std::string& name);
  static std::string FoldResult(const ExprNode& e, const std::string& name);
  // Statements before the current one; gives the folded value.
  virtual std::string EmitReduce(const ExprNode& e);

  const Graph& graph_;
  const Style style_;
  std::vector<Stage> stages_;  // the graph's; without a value once fused
  std::vector<std::string> names_;
  std::unordered_map<std::string, int> ids_;  // of buffers, by these names
  std::vector<bool> exact_;                   // by buffer
  SoftmaxNodes softmaxes_;
  std::map<int, int> last_use_;  // buffer -> stage
  std::string text_, real_;
  int depth_ = 0, temporaries_ = 0;
  int step_var_ = -1;  // the index that a sequence's step gives; -1 outside one
  // Where in its buffer the result of the stage that is written begins, if that is a part along one dimension.
  struct {
    int dimension = -1;
    std::int64_t at = 0;
  } begin_;
  std::unordered_map<const ExprNode*, std::string> known_;

 private:
  void FindExactSteps(std::size_t last);
  void FuseChains(Moves moves);
  bool IsMove(const Stage& stage) const;
  bool StoreRounds(const Stage& stage) const;
  // Whether it converts to single precision what may have more bits, doubles or whole numbers, and does nothing else:
  // what is computed is not rounded here.
  bool RoundsToSingle(const Stage& stage) const;
  bool IsExact(const Stage& stage) const { return IsExact(stage.value) && !StoreRounds(stage); }
  bool KeepsExact(const ExprNode& node) const;
  static bool HangsOnData(const Expr& index);
  std::string RealConstant(double value) const;
  std::string EmitNode(const ExprNode& e);
  std::string EmitLoad(const ExprNode& e);
  std::string EmitBinary(const ExprNode& e);
  std::string EmitSelect(const ExprNode& e);
  std::string EmitCast(const ExprNode& e);

  std::unordered_map<const ExprNode*, int> used_;
  std::unordered_set<const ExprNode*> unconditional_;
};

// Which types and roundings the contract means for this problem.
struct Honesty {
  std::string type = "float";
  double unit = 0x1p-24, operand_unit = 0x1p-24;
  double smallest = 0x1p-126;  // normal number
};
Honesty HonestyOf(const Problem& problem);

}  // namespace hone
