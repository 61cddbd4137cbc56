// The scalar language in which operators say what one element of their result is. An Expr is a small immutable tree
// over loop indices, elements of buffers and constants; Reduce folds it over further indices:
//
//   matmul:   y[i, j] = Sum over k of a[i, k] * b[k, j]
//   relu:     y[i]    = Max(x[i], 0)
//
// Where an expression is a part of something larger, a value of that (what a fold has made, a `let`) is a leaf: kValue.
//
// From this one form come the loop nests of the oracle and the naive baseline (oracle/loop_nest.h), FLOPs and bytes
// (analysis/cost.h) and the expert's fusion. Immutable and shared: safe to read from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hone {

enum class ScalarType : std::uint8_t { kReal, kInt, kBool };

enum class UnaryOp : std::uint8_t {
  kNeg,
  kAbs,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kLog2,
  kLog10,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kErfc,
  kFloor,
  kCeil,
  kTrunc,
  kRound,
  kSign,
  kIsNan,
  kNot,
};

enum class BinaryOp : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,  // kDiv: reals
  kFloorDiv,
  kFloorMod,  // towards minus infinity, as Python; kFloorMod of reals too
  kMin,
  kMax,  // a NaN on either side is the result
  kPow,
  kAtan2,
  kFmod,
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,  // -> kBool
  kAnd,
  kOr,
  kXor,  // of kBool, or bitwise of kInt
};

// kArgMax and kArgMin give the flat index (row-major over the reduced indices) of the first extreme; a NaN is extreme.
enum class ReduceOp : std::uint8_t { kSum, kProd, kMax, kMin, kAny, kAll, kArgMax, kArgMin };

std::string_view Name(UnaryOp op);   // "exp": the function's name in the kernel language and in generated C++
std::string_view Name(BinaryOp op);  // "+", "max", "<" ...
std::string_view Name(ReduceOp op);  // "sum"

// A loop index: 0 <= index < extent. Two are the same index iff their ids are equal.
struct IndexVar {
  int id = -1;
  std::int64_t extent = 1;
};

// A value that an expression uses and neither computes nor reads from a buffer. Who evaluates the expression or writes
// it out knows what stands for it.
struct NamedValue {
  enum class Kind : std::uint8_t {
    kIt,      // what the fold, the product or the link of a chain before it has made
    kLet,     // what let `number` of the statement has made
    kKept,    // what an earlier pass has left in the target, at this place
    kInside,  // what a fold inside of a piece has made, which nobody else reads
    kRowSum,  // of attention inside: its row's scores, added up, or the logarithm of the sum of their exponentials
    kText,    // what its writer has written already: text `number`
    kHole,    // whatever a pattern's argument is
  };
  Kind kind = Kind::kIt;
  int number = 0;  // of those that there are several of
  friend auto operator<=>(const NamedValue&, const NamedValue&) = default;
};
inline constexpr NamedValue kIt;
inline constexpr NamedValue kKept = {NamedValue::Kind::kKept};
inline constexpr NamedValue kInside = {NamedValue::Kind::kInside};
inline constexpr NamedValue kRowSum = {NamedValue::Kind::kRowSum};
constexpr NamedValue LetValue(int number) { return {NamedValue::Kind::kLet, number}; }

struct ExprNode;

class Expr {
 public:
  enum class Kind : std::uint8_t { kConst, kIndex, kLoad, kValue, kUnary, kBinary, kSelect, kCast, kReduce };

  Expr() = default;
  Expr(double real);         // NOLINT(google-explicit-constructor): arithmetic on expressions should read as arithmetic
  Expr(int whole);           // NOLINT(google-explicit-constructor)
  Expr(std::int64_t whole);  // NOLINT(google-explicit-constructor)
  Expr(IndexVar index);      // NOLINT(google-explicit-constructor)
  static Expr Bool(bool value);
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}

  const ExprNode& operator*() const { return *node_; }
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode* get() const { return node_.get(); }
  explicit operator bool() const { return node_ != nullptr; }

 private:
  std::shared_ptr<const ExprNode> node_;
};

struct ExprNode {
  Expr::Kind kind = Expr::Kind::kConst;
  ScalarType type = ScalarType::kReal;
  double real = 0;         // kConst of kReal
  std::int64_t whole = 0;  // kConst of kInt and kBool
  IndexVar index;          // kIndex
  int buffer = -1;         // kLoad: an id of the definition or graph that it belongs to
  bool may_miss = false;   // kLoad: nothing guards it, and it may lie out of range; known where addresses are made
  NamedValue value;        // kValue
  UnaryOp unary{};
  BinaryOp binary{};
  ReduceOp reduce{};
  std::vector<IndexVar> over;  // kReduce
  std::vector<Expr> operands;  // kLoad: one index a dimension; kSelect: condition, then, else; others: their arguments
};

double NumberOf(const ExprNode& constant);  // a truth value's is 0 or 1
bool IsArg(ReduceOp op);                    // kArgMax, kArgMin
double IdentityOf(ReduceOp op);             // what changes nothing: of kSum 0, of kMax minus infinity

// Building. Real and int operands mix: the int is cast. Constants fold where that is exact.
enum class MayMiss : std::uint8_t { kNo, kYes };
Expr Load(int buffer, std::vector<Expr> indices, ScalarType type, MayMiss may_miss = MayMiss::kNo);
Expr Value(NamedValue value, ScalarType type);
Expr Apply(UnaryOp op, Expr x);
Expr Apply(BinaryOp op, Expr a, Expr b);
Expr Select(Expr condition, Expr then, Expr otherwise);  // only the taken side is evaluated
Expr Cast(Expr x, ScalarType type);                      // real to int truncates
Expr Reduce(ReduceOp op, std::vector<IndexVar> over, Expr body);
IndexVar NewIndex(std::int64_t extent);  // a fresh id

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);  // real division, also of ints
Expr operator-(Expr a);
Expr Max(Expr a, Expr b);
Expr Min(Expr a, Expr b);
Expr Less(Expr a, Expr b);
Expr LessEqual(Expr a, Expr b);
Expr Equal(Expr a, Expr b);
Expr And(Expr a, Expr b);
Expr Exp(Expr x);
Expr Log(Expr x);
Expr Sqrt(Expr x);
Expr Tanh(Expr x);
Expr Abs(Expr x);
Expr Sigmoid(Expr x);   // 1 / (1 + exp(-x))
Expr Softplus(Expr x);  // log1p(exp(-|x|)) + max(x, 0): no overflow

// A sum over fresh indices of the given extents: Fold(kSum, {n}, [&](auto k) { return x({i, k[0]}); }).
Expr Fold(ReduceOp op, std::span<const std::int64_t> extents, const std::function<Expr(std::span<const Expr>)>& body);

// The node with other operands. Constants fold where that is exact.
Expr WithOperands(const Expr& e, std::vector<Expr> operands);
// Whether two nodes are the same but for their operands and for which indices they name; extents are compared.
bool SameNode(const ExprNode& a, const ExprNode& b);

// `expr` with each index var id for which `with(id)` gives an expression replaced by it.
Expr Substitute(const Expr& expr, const std::function<Expr(const IndexVar&)>& with);
// `expr` with each load for which `with(load)` gives an expression replaced by it (the load's own indices are done
// first).
Expr ReplaceLoads(const Expr& expr, const std::function<Expr(const ExprNode&)>& with);
// `expr` with each value for which `with(value)` gives an expression replaced by it; with one value replaced.
Expr ReplaceValues(const Expr& expr, const std::function<Expr(const ExprNode&)>& with);
Expr ReplaceValue(const Expr& expr, NamedValue value, const Expr& with);
// Every node once, children first.
void Visit(const Expr& expr, const std::function<void(const ExprNode&)>& visit);
// Each fold that lies in no other one, once.
void VisitOuterFolds(const Expr& expr, const std::function<void(const ExprNode&)>& visit);
bool IsConst(const Expr& expr);
bool IsUnary(const Expr& expr, UnaryOp op);
bool IsBinary(const Expr& expr, BinaryOp op);
std::optional<double> ConstantNumber(const Expr& expr);  // nothing of what is no constant
bool HasReduce(const Expr& expr);
bool HasLoad(const Expr& expr);
bool IsValue(const Expr& expr, NamedValue value);  // just that, and not something made of it
bool UsesIndex(const Expr& expr, int id);
bool UsesValue(const Expr& expr, NamedValue value);
bool SameExpr(const Expr& a, const Expr& b);  // structurally; reduced indices match by position

// What each node became in a rewriting of expressions that share nodes: every one is rewritten once. Not thread-safe.
class ExprMemo {
 public:
  template <class Rewrite>
  Expr Do(const Expr& e, const Rewrite& rewrite) {
    if (const auto it = done_.find(e.get()); it != done_.end()) return it->second;
    Expr result = rewrite(e);
    done_.emplace(e.get(), result);
    keep_.push_back(e);
    return result;
  }

 private:
  std::unordered_map<const ExprNode*, Expr> done_;
  std::vector<Expr> keep_;  // so that a freed node's address is not met again
};

std::string ToString(NamedValue value);  // "it", "let1"
// One line for a person: "max(x[i0, i1], 0)". `buffer_name` names loads.
std::string ToString(const Expr& expr, const std::function<std::string(int)>& buffer_name);

}  // namespace hone
