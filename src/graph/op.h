// How an operator is written: one file in graph/ops/, one HONE_OP, found by its file name (a generated table,
// cmake/Table.cmake).
//
//   HONE_OP(relu, "max(x, 0); a NaN stays a NaN") {
//     const Operand x = call.Tensor("self");
//     call.Elementwise(x.dtype(), {x}, [](auto v) { return Max(v[0], 0.0); });
//   }
//
// The body reads its arguments by the names of the ATen schema and states its results as the value of one element.
// A bad argument is recorded with call.Fail(...) and the first one is reported; after it every getter gives something
// harmless, so that a body needs no error handling of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/row.h"
#include "expr/expr.h"
#include "graph/graph.h"

namespace hone {

using Indices = std::span<const Expr>;
using ElementFunction = std::function<Expr(Indices)>;

ScalarType ScalarTypeOf(DType dtype);
DType Promote(DType a, DType b);  // as torch.result_type of two tensors
DType RealType(DType dtype);      // itself if it is a float type, else f32
// What PyTorch keeps a value of an operator's own in: statistics of 16-bit reals are f32, and not rounded between.
DType KeptIn(DType dtype);
// `x` as an element of this type holds it: whole numbers wrap around where it is narrower, reals lose their fraction.
// The store of a result wraps sums, differences and products; where anything else follows, the operands have to be
// wrapped.
Expr Held(const Expr& x, DType dtype);
Expr Held(const Expr& x, DType own, DType dtype);  // of an element of type `own`: nothing to do where it fits

// A value that an op reads: x({i, j}) is one element. Scalars have rank 0: x({}).
class Operand {
 public:
  Operand() = default;
  Operand(int buffer, Shape shape, DType dtype) : buffer_(buffer), shape_(std::move(shape)), dtype_(dtype) {}
  const Shape& shape() const { return shape_; }
  std::int64_t dim(int i) const { return i >= 0 && i < rank() ? shape_[static_cast<std::size_t>(i)] : 1; }
  int rank() const { return static_cast<int>(shape_.size()); }
  DType dtype() const { return dtype_; }
  int buffer() const { return buffer_; }
  Expr operator()(std::vector<Expr> indices) const;
  Expr operator()(Indices indices) const { return (*this)(std::vector<Expr>(indices.begin(), indices.end())); }
  Expr Broadcast(Indices indices) const;  // aligned at the last dimension; extents of 1 are read at 0

 private:
  int buffer_ = -1;
  Shape shape_;
  DType dtype_ = DType::kF32;
};

// `at` with another index in dimension `dim`; with nothing to replace, `at` itself.
std::vector<Expr> Replaced(Indices at, int dim, Expr index);
// Indices into a tensor of this shape of its flat element number, and back.
std::vector<Expr> Unflatten(const Expr& flat, const Shape& shape);
Expr Flatten(Indices at, const Shape& shape);

// A value that advances step by step along one of its dimensions (class Sequence).
class StepValue : public Operand {
 public:
  // Its element one step before `at`; `initial` at the first step.
  Expr Before(Indices at, Expr initial) const;
  Expr Before(std::initializer_list<Expr> at, Expr initial) const {
    return Before(Indices(at.begin(), at.size()), std::move(initial));
  }

 private:
  friend class Sequence;
  StepValue(const Operand& value, int along, bool reversed) : Operand(value), along_(along), reversed_(reversed) {}
  int along_;
  bool reversed_;
};

// Scans and recurrences (see Stage in graph/graph.h): values that advance together, a step at a time. All of them are
// declared first, in the order in which a step makes them, then each is defined; nothing else may be made in between.
//
//   Sequence steps(call, Reversed::no);
//   const StepValue h = steps.Value("h", {t, n, d}, dtype, 0);
//   steps.Define(h, [&](Indices at) { return Tanh(x(at) + h.Before(at, h0({at[1], at[2]}))); });
enum class Reversed : bool { no, yes };
class Sequence {
 public:
  Sequence(class OpCall& call, Reversed reversed);
  // `along` is the dimension of its steps: of the same extent for all values of the sequence.
  StepValue Value(std::string_view hint, Shape shape, DType dtype, int along);
  void Define(const StepValue& value, const ElementFunction& element);

 private:
  class OpCall& call_;
  bool reversed_;
  int number_;
};

class OpCall {
 public:
  // --- Arguments. Names are the schema's; an absent one without a default is an error, None counts as absent. One that
  // is given and not asked for is an error too: ask before returning early, or ignore it.
  bool Has(std::string_view name) const;
  bool IsTensor(std::string_view name) const;
  void Ignore(std::initializer_list<std::string_view> names);  // no element depends on them here
  std::string_view overload() const;                           // "dim_IntList", or "" when the problem did not say
  Operand Tensor(std::string_view name);
  std::optional<Operand> MaybeTensor(std::string_view name);
  std::vector<Operand> Tensors(std::string_view name);
  std::vector<std::optional<Operand>> MaybeTensors(std::string_view name);  // a list with gaps
  std::int64_t Int(std::string_view name, std::optional<std::int64_t> otherwise = {});
  double Real(std::string_view name, std::optional<double> otherwise = {});  // an int is taken too
  bool Bool(std::string_view name, std::optional<bool> otherwise = {});
  std::string String(std::string_view name, std::optional<std::string> otherwise = {});
  std::vector<std::int64_t> Ints(std::string_view name, std::optional<std::vector<std::int64_t>> otherwise = {});
  std::vector<double> Reals(std::string_view name);
  Expr Scalar(std::string_view name, std::optional<double> otherwise = {});  // a number, int or real as written
  DType Type(std::string_view name, DType otherwise);                        // a dtype argument such as "f32"
  // A dimension argument of a tensor of this rank, negative ones counted from the end, in range or an error.
  int Dim(std::string_view name, int rank, std::optional<std::int64_t> otherwise = {});
  // A list of dimensions, sorted; absent, None or empty = all.
  std::vector<int> Dims(std::string_view name, int rank);
  int WrapDim(std::int64_t dim, int rank);

  // --- Results.
  // A value of this op's own that later elements read; `hint` names it in listings.
  Operand Let(std::string_view hint, Shape shape, DType dtype, const ElementFunction& element);
  // A scan along `dim`: the element, given the one before it (`initial` at the first). A scalar is its own first step.
  Operand Scan(std::string_view hint, Shape shape, DType dtype, int dim, const Expr& initial,
               const std::function<Expr(Indices, const Expr& before)>& element);
  // Of places of elements, a Let: PyTorch does not promise which of equal elements each is.
  void AllowAnyOfEquals(const Operand& places);
  // The same elements, rounded to that type; itself where it has the type.
  Operand As(const Operand& x, DType dtype);
  // The same elements in the same row-major order under another shape: free.
  Operand Reshape(const Operand& x, Shape shape);
  // The next output, in the order of the schema's results.
  void Output(Shape shape, DType dtype, const ElementFunction& element);
  void Output(const Operand& value);  // a Let, or an input unchanged
  // One output of the operands' broadcast shape: element(values of the operands at that place).
  void Elementwise(DType dtype, std::vector<Operand> operands,
                   const std::function<Expr(std::span<const Expr>)>& element);
  // Reduces `x` over `dims`; `keep` leaves extents of 1. body sees all of x's indices; finish (if given) sees the
  // result.
  void Reduction(ReduceOp op, DType dtype, const Operand& x, const std::vector<int>& dims, bool keep,
                 const std::function<Expr(Indices)>& body, const std::function<Expr(Expr)>& finish = {});
  // The common element-wise forms. `self` (and `other`, a tensor or a number) broadcast; the result's type follows
  // PyTorch's promotion: kSame keeps it, kWhole too, but refuses reals, kReal makes whole numbers f32, kBool is a truth
  // value.
  enum class ResultType { kSame, kWhole, kReal, kBool };
  // The type of arguments together (tensors, numbers, absent ones skipped): as torch.result_type. A number or a rank-0
  // tensor counts only when it is of a higher category (truth value, whole number, real) than every tensor with
  // dimensions.
  DType CommonType(std::initializer_list<std::string_view> names);
  void Unary(ResultType type, const std::function<Expr(Expr)>& element);
  void Binary(ResultType type, const std::function<Expr(Expr, Expr)>& element, std::string_view a = "self",
              std::string_view b = "other");
  Shape BroadcastShape(const std::vector<Operand>& operands);
  static Shape ReducedShape(const Shape& shape, const std::vector<int>& dims, bool keep);

  void Fail(std::string message);
  bool failed() const { return !error_.empty(); }
  // The number of this call among the problem's: what random operators draw by.
  int node_index() const { return node_index_; }

 private:
  friend class GraphBuilder;
  friend class Sequence;
  OpCall(class GraphBuilder& builder, const Node& node, int node_index)
      : builder_(builder), node_(node), node_index_(node_index) {}
  const Argument* Find(std::string_view name) const;
  int AddStage(std::string_view hint, Shape shape, DType dtype, const ElementFunction& element, int reshape_of = -1);
  class GraphBuilder& builder_;
  const Node& node_;
  int node_index_;
  mutable std::set<std::string, std::less<>> asked_;  // names of arguments
  std::vector<int> results_;                          // buffers
  std::string error_;
};

struct Op {
  std::string_view name;  // "relu": the ATen name without namespace and overload
  std::string_view doc;   // one line: what an element is
  void (*define)(OpCall& call);
};

std::span<const Op* const> AllOps();                 // sorted by name
const Op* FindOp(std::string_view name_in_problem);  // "relu", "aten.relu", "aten.relu.default"; nullptr if unknown

}  // namespace hone

// Once a file, in namespace hone::op_<the file's name>, which is `id`.
#define HONE_OP(id, doc)            \
  static void Define(OpCall& call); \
  HONE_ROW(Op){#id, doc, &Define};  \
  static void Define([[maybe_unused]] OpCall& call)
