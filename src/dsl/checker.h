// From the language to kernels (dsl/kernel.h): the class behind Check, which its parts in several files share. check.cc
// knows names: declarations, views, what the problem says of them. check_expressions.cc makes Exprs of terms,
// check_statements.cc kernels of statements, check_updates.cc what those read that are written into inputs,
// check_sequences.cc kernels of nests that run in lockstep. One use each.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "dsl/family.h"
#include "dsl/kernel.h"
#include "dsl/program.h"

namespace hone::dsl {

class Checker {
 public:
  Checker(const Program& program, const Problem* problem, std::shared_ptr<const DeviceModel> device)
      : source_(program), problem_(problem), device_(std::move(device)) {}

  // The kernels, or the first complaint.
  std::variant<KernelProgram, Complaint> Run();
  // Likewise, of those of a program that had other settings.
  std::variant<KernelProgram, Complaint> RunAgain(std::span<const std::size_t> changed, KernelProgram before);

 private:
  static std::size_t At(int i) { return static_cast<std::size_t>(i); }
  // Keeps the first complaint; false, so that whoever complains can return it.
  bool Fail(Position at, std::string message);

  // --- Names.

  // What a name stands for.
  struct Named {
    int buffer = -1;
    Shape shape;
    std::vector<std::int64_t> strides;
    std::int64_t offset = 0;
  };
  // What a name may have been meant for: ": did you mean ..."; empty if nothing is near.
  std::string Known(const std::string& name) const;
  std::vector<std::string_view> KnownNames() const;  // sorted
  bool UnknownName(const Term& term);
  // Whether what is read there is still there: an input is not once an output has been written into it.
  bool StillThere(const Term& term, const Named& named);
  bool Declarations();
  bool Updates();  // which outputs are written into which inputs
  bool AgreesWithProblem();
  void AddName(const std::string& name, int buffer, const Shape& shape);
  void BaseIsKnown(const std::string& name);  // so that its views are due
  // Adds the views whose base is known by now.
  bool AddViews();

  // --- Expressions.

  struct Scope;
  // Where a name may stand, and how its dimensions lie on the iteration space.
  struct Place {
    Kernel* kernel = nullptr;
    std::vector<int> dims;                     // of the space, to whose end a name's dimensions are aligned
    Expr it;                                   // what `it` is here, if anything
    std::string_view no_it;                    // why there is no `it` here
    std::span<const std::string_view> places;  // functions that say where it stands along the last of `dims`
    std::string_view row_sum = {};             // the function that is kRowSum, if any is
    std::string_view rotation = {};            // the function that is a RotatedValue, if any is
    bool lets_only = false;                    // outside of a let's fold: no tensors
    bool nest = false;                         // names are indices, scalars and elements
    const Scope* scope = nullptr;              // in a nest: the indices in sight
    // Of a part of a row: which places of the last of `dims` it has; to 0: all of them.
    std::int64_t from = 0, to = 0;
  };
  struct Scope {
    std::string name;
    IndexVar index;
    const Scope* outer = nullptr;
    static const Scope* Find(const Scope* from, std::string_view name) {
      while (from && from->name != name) from = from->outer;
      return from;
    }
  };
  // The shape to which all tensors in the term broadcast, starting from `shape`.
  bool Broadcast(const TermPtr& term, Shape& shape, bool& any);
  Expr Convert(const TermPtr& term, const Place& place);
  Expr ConvertName(const Term& term, const Place& place);
  // rotated(64)
  Expr ConvertRotation(const Term& term, const Place& place);
  // x[i, j + 1], or a scalar by its name alone.
  Expr ConvertElement(const Term& term, const Place& place);
  // sum [k < 64] (...)
  Expr ConvertFold(const Term& term, const Place& place);
  bool NewScope(const LoopIndex& loop, Position at, Kernel& kernel, const Scope* outer, Scope& scope);
  // What is made of a term, as a real if it is whole only for want of anything but numbers in it, as
  // select(x > 0, 1, 0) is; not if an `int` in it says that it is whole.
  static Expr RealIfOpen(const Expr& expr, const TermPtr& term);
  static Expr RealIfOpen(const Expr& expr);  // likewise, if no text says so
  bool AddLet(Kernel& kernel, const Let& let, const Expr& operand);

  // --- Statements.

  bool MayWrite(const std::string& target, Position at);
  bool AddStatement(const Statement& statement);
  // `target` is the buffer that is written, -1 if there is none yet.
  bool MakeKernel(const Statement& statement, int target, Kernel& kernel);
  // Iteration space and axes.
  bool Space(const Statement& statement, Kernel& kernel);
  // `whole`: what numbers alone among the operands are.
  bool Expressions(const Statement& statement, bool whole, Kernel& kernel);
  // The buffer that is written: a declared output or a new intermediate.
  struct Aim {
    const std::string& name;
    const std::optional<DType>& type;
    const Shape& shape;
    Position at;
    int output = -1;          // of a declared one, or of a sequence's; -1: a new one
    bool says_whole = false;  // an `int` among numbers alone
  };
  static Shape RowsOf(const Kernel& kernel);
  static bool IsOfRow(const Kernel& kernel, const Expr& value);
  // A statement's own aim, or that of what it also makes.
  template <class Made>
  Aim AimOf(const Made& made, const Kernel& kernel, int output) const {
    return {made.target, made.target_type, made.has_target_shape ? made.target_shape : kernel.result,
            made.at,     output,           SaysWhole(made)};
  }
  static bool SaysWhole(const Statement& statement);
  static bool SaysWhole(const Also& also);
  // Whether what is stored there is whole, whatever is computed: a declared output, or by the type that is written.
  bool IsWhole(const std::optional<DType>& type, int output) const;
  // `value`: what is stored there. -1: it cannot be.
  // `made`: the shape of what the statement makes of it.
  int Target(const Aim& aim, const Shape& made, const Kernel& kernel, Expr& value);
  bool AddAlso(const Statement& statement, Kernel& kernel);
  // Of targets that are written into an input: whether the kernel reads of it only what it writes at the same place, or
  // in the same short row. Those operands become the target itself.
  bool MayUpdate(const Statement& statement, Kernel& kernel);
  static std::vector<std::int64_t> RowStridesOf(const Kernel& kernel);
  void NoteWritten(const Kernel& kernel);
  // What an intermediate is stored as.
  DType TypeOfValue(const Kernel& kernel, const Expr& value) const;
  int NewIntermediate(const std::string& name, DType dtype, const Shape& shape);
  static std::string TextOf(const Statement& statement);
  // The way, and what is set on it. What the text sets on other ways of the family means nothing here.
  bool Settings(const Statement& statement, Kernel& kernel);
  bool KnowsSettings(const Statement& statement, const Family& family);

  // --- Sequences.

  // A statement's sequence, -1 if it is in none.
  static std::int64_t SequenceOf(const Statement& statement);
  // The end of the run of statements that `first` begins: of its sequence, or first + 1.
  std::size_t GroupEnd(std::size_t first) const;
  // Nests that run in lockstep. Each may read all of them, so that they are made known first, of the narrowest type;
  // what they compute then says their types, from which follows what they compute: a few rounds settle it.
  bool AddGroup(std::size_t first, std::size_t end);
  // Whether a nest of a sequence (kernels from `first` on) reads of it only what has been made by then.
  bool InStep(std::size_t first, std::size_t which);

  const Program& source_;
  const Problem* problem_;
  const std::shared_ptr<const DeviceModel> device_;
  KernelProgram program_;
  std::unordered_map<std::string, int> buffers_;             // tensors and values that have a buffer, written or not
  std::unordered_map<std::string, Named> names_;             // what may be read by now
  std::unordered_map<std::string, std::string> view_names_;  // view -> base
  std::unordered_map<std::string_view, std::vector<std::size_t>> views_of_;  // by base, in the order of the text
  std::set<std::size_t> views_due_;  // their base has become known since views were added
  std::unordered_set<std::string> written_;
  std::unordered_map<int, int> overwritten_;  // input -> the output that has been written into it by now
  int intermediates_ = 0;
  std::vector<ScalarType> let_types_;           // of the current statement
  std::vector<std::vector<int>> operand_dims_;  // likewise
  std::vector<Scope> scopes_;                   // likewise: the indices of a nest
  bool failed_ = false;
  Complaint complaint_;
};

}  // namespace hone::dsl
