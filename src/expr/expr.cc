#include "expr/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"

namespace hone {
namespace {

constexpr std::string_view kUnaryNames[] = {"neg",  "abs",   "exp",        "expm1", "log",   "log1p", "log2",  "log10",
                                            "sqrt", "rsqrt", "reciprocal", "sin",   "cos",   "tan",   "asin",  "acos",
                                            "atan", "sinh",  "cosh",       "tanh",  "asinh", "acosh", "atanh", "erf",
                                            "erfc", "floor", "ceil",       "trunc", "round", "sign",  "isnan", "not"};
constexpr std::string_view kBinaryNames[] = {"+",     "-",    "*", "/",  "floordiv", "mod", "min", "max", "pow",
                                             "atan2", "fmod", "<", "<=", "==",       "!=",  "and", "or",  "xor"};
constexpr std::string_view kReduceNames[] = {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"};

Expr Make(ExprNode node) { return Expr(std::make_shared<const ExprNode>(std::move(node))); }

ExprNode Node(Expr::Kind kind, ScalarType type, std::vector<Expr> operands = {}) {
  ExprNode node;
  node.kind = kind;
  node.type = type;
  node.operands = std::move(operands);
  return node;
}

bool IsInt(const Expr& e) { return e->type == ScalarType::kInt; }
bool IsConstInt(const Expr& e, std::int64_t value) { return IsConst(e) && IsInt(e) && e->whole == value; }
bool IsComparison(BinaryOp op) { return op >= BinaryOp::kLess && op <= BinaryOp::kNotEqual; }
bool IsLogic(BinaryOp op) { return op >= BinaryOp::kAnd; }

std::int64_t FloorDiv(std::int64_t a, std::int64_t b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }

// Index arithmetic folds and simplifies; it is exact. Real arithmetic is left as written: it is what the operator
// means.
Expr SimplifyInt(BinaryOp op, const Expr& a, const Expr& b) {
  if (IsConst(a) && IsConst(b)) {
    const std::int64_t x = a->whole, y = b->whole;
    switch (op) {
      case BinaryOp::kAdd: return x + y;
      case BinaryOp::kSub: return x - y;
      case BinaryOp::kMul: return x * y;
      case BinaryOp::kMin: return std::min(x, y);
      case BinaryOp::kMax: return std::max(x, y);
      case BinaryOp::kFloorDiv:
        if (y != 0) return FloorDiv(x, y);
        break;
      case BinaryOp::kFloorMod:
        if (y != 0) return x - FloorDiv(x, y) * y;
        break;
      case BinaryOp::kLess: return Expr::Bool(x < y);
      case BinaryOp::kLessEqual: return Expr::Bool(x <= y);
      case BinaryOp::kEqual: return Expr::Bool(x == y);
      case BinaryOp::kNotEqual: return Expr::Bool(x != y);
      default: break;
    }
  }
  if (op == BinaryOp::kAdd && IsConstInt(a, 0)) return b;
  if ((op == BinaryOp::kAdd || op == BinaryOp::kSub) && IsConstInt(b, 0)) return a;
  if (op == BinaryOp::kMul && (IsConstInt(a, 0) || IsConstInt(b, 0))) return std::int64_t{0};
  if (op == BinaryOp::kMul && IsConstInt(a, 1)) return b;
  if ((op == BinaryOp::kMul || op == BinaryOp::kFloorDiv) && IsConstInt(b, 1)) return a;
  if (op == BinaryOp::kFloorMod && IsConstInt(b, 1)) return std::int64_t{0};
  if (IsConst(b) && a->kind == Expr::Kind::kIndex && a->index.extent <= b->whole) {
    if (op == BinaryOp::kFloorDiv) return std::int64_t{0};
    if (op == BinaryOp::kFloorMod) return a;
  }
  return {};
}

}  // namespace

std::string_view Name(UnaryOp op) { return kUnaryNames[static_cast<std::size_t>(op)]; }
std::string_view Name(BinaryOp op) { return kBinaryNames[static_cast<std::size_t>(op)]; }
std::string_view Name(ReduceOp op) { return kReduceNames[static_cast<std::size_t>(op)]; }

Expr::Expr(double real) {
  ExprNode node = Node(Kind::kConst, ScalarType::kReal);
  node.real = real;
  *this = Make(std::move(node));
}
Expr::Expr(int whole) : Expr(std::int64_t{whole}) {}
Expr::Expr(std::int64_t whole) {
  ExprNode node = Node(Kind::kConst, ScalarType::kInt);
  node.whole = whole;
  *this = Make(std::move(node));
}
Expr::Expr(IndexVar index) {
  ExprNode node = Node(Kind::kIndex, ScalarType::kInt);
  node.index = index;
  *this = Make(std::move(node));
}
Expr Expr::Bool(bool value) {
  ExprNode node = Node(Kind::kConst, ScalarType::kBool);
  node.whole = value ? 1 : 0;
  return Make(std::move(node));
}

IndexVar NewIndex(std::int64_t extent) {
  static std::atomic<int> next{0};
  return {next.fetch_add(1), extent};
}

Expr Load(int buffer, std::vector<Expr> indices, ScalarType type, MayMiss may_miss) {
  HONE_CHECK(buffer >= 0, "a load of no buffer");
  ExprNode node = Node(Expr::Kind::kLoad, type, std::move(indices));
  node.buffer = buffer;
  node.may_miss = may_miss == MayMiss::kYes;
  return Make(std::move(node));
}

Expr Value(NamedValue value, ScalarType type) {
  ExprNode node = Node(Expr::Kind::kValue, type);
  node.value = value;
  return Make(std::move(node));
}

Expr Apply(UnaryOp op, Expr x) {
  ScalarType type = ScalarType::kReal;
  switch (op) {
    case UnaryOp::kNeg:
    case UnaryOp::kAbs:
    case UnaryOp::kSign:
      if (x->type == ScalarType::kBool) x = Cast(x, ScalarType::kInt);
      type = x->type;
      break;
    case UnaryOp::kNot: type = x->type; break;
    case UnaryOp::kIsNan:
      type = ScalarType::kBool;
      x = Cast(x, ScalarType::kReal);
      break;
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kTrunc:
    case UnaryOp::kRound:
      if (x->type != ScalarType::kReal) return x;
      break;
    default: x = Cast(x, ScalarType::kReal);
  }
  if (op == UnaryOp::kNeg && IsConst(x)) return type == ScalarType::kInt ? Expr(-x->whole) : Expr(-x->real);
  ExprNode node = Node(Expr::Kind::kUnary, type, {std::move(x)});
  node.unary = op;
  return Make(std::move(node));
}

Expr Apply(BinaryOp op, Expr a, Expr b) {
  ScalarType type;
  const bool any_real = a->type == ScalarType::kReal || b->type == ScalarType::kReal;
  if (op == BinaryOp::kDiv || op == BinaryOp::kPow || op == BinaryOp::kAtan2) {
    type = ScalarType::kReal;
  } else if (IsLogic(op) && a->type == ScalarType::kBool && b->type == ScalarType::kBool) {
    type = ScalarType::kBool;
  } else {
    type = any_real ? ScalarType::kReal : ScalarType::kInt;
    if (op == BinaryOp::kEqual && a->type == ScalarType::kBool && b->type == ScalarType::kBool) type = ScalarType::kInt;
  }
  HONE_CHECK(!(IsLogic(op) && type == ScalarType::kReal), "logic on reals");
  a = Cast(std::move(a), type);
  b = Cast(std::move(b), type);
  if (type == ScalarType::kInt) {
    if (Expr simple = SimplifyInt(op, a, b)) return simple;
  }
  if (op == BinaryOp::kAnd && type == ScalarType::kBool) {
    if (IsConst(a)) return a->whole ? b : a;
    if (IsConst(b)) return b->whole ? a : b;
  }
  ExprNode node = Node(Expr::Kind::kBinary, IsComparison(op) ? ScalarType::kBool : type, {std::move(a), std::move(b)});
  node.binary = op;
  return Make(std::move(node));
}

Expr Select(Expr condition, Expr then, Expr otherwise) {
  condition = Cast(std::move(condition), ScalarType::kBool);
  if (IsConst(condition)) return condition->whole ? then : otherwise;
  const ScalarType type = then->type == otherwise->type                                             ? then->type
                          : then->type == ScalarType::kReal || otherwise->type == ScalarType::kReal ? ScalarType::kReal
                                                                                                    : ScalarType::kInt;
  then = Cast(std::move(then), type);
  otherwise = Cast(std::move(otherwise), type);
  return Make(Node(Expr::Kind::kSelect, type, {std::move(condition), std::move(then), std::move(otherwise)}));
}

Expr Cast(Expr x, ScalarType type) {
  if (x->type == type) return x;
  if (IsConst(x)) {
    if (type == ScalarType::kReal) return static_cast<double>(x->whole);
    if (type == ScalarType::kBool) return Expr::Bool(x->type == ScalarType::kReal ? x->real != 0 : x->whole != 0);
    if (x->type == ScalarType::kBool) return x->whole;
    if (std::abs(x->real) < 9e18) return static_cast<std::int64_t>(x->real);
  }
  return Make(Node(Expr::Kind::kCast, type, {std::move(x)}));
}

Expr Reduce(ReduceOp op, std::vector<IndexVar> over, Expr body) {
  ScalarType type = body->type;
  if (IsArg(op)) type = ScalarType::kInt;
  if (op == ReduceOp::kAny || op == ReduceOp::kAll) {
    body = Cast(std::move(body), ScalarType::kBool);
    type = ScalarType::kBool;
  } else if (body->type == ScalarType::kBool) {
    body = Cast(std::move(body), ScalarType::kInt);
    type = ScalarType::kInt;
  }
  ExprNode node = Node(Expr::Kind::kReduce, type, {std::move(body)});
  node.reduce = op;
  node.over = std::move(over);
  return Make(std::move(node));
}

Expr operator+(Expr a, Expr b) { return Apply(BinaryOp::kAdd, std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return Apply(BinaryOp::kSub, std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return Apply(BinaryOp::kMul, std::move(a), std::move(b)); }
Expr operator/(Expr a, Expr b) { return Apply(BinaryOp::kDiv, std::move(a), std::move(b)); }
Expr operator-(Expr a) { return Apply(UnaryOp::kNeg, std::move(a)); }
Expr Max(Expr a, Expr b) { return Apply(BinaryOp::kMax, std::move(a), std::move(b)); }
Expr Min(Expr a, Expr b) { return Apply(BinaryOp::kMin, std::move(a), std::move(b)); }
Expr Less(Expr a, Expr b) { return Apply(BinaryOp::kLess, std::move(a), std::move(b)); }
Expr LessEqual(Expr a, Expr b) { return Apply(BinaryOp::kLessEqual, std::move(a), std::move(b)); }
Expr Equal(Expr a, Expr b) { return Apply(BinaryOp::kEqual, std::move(a), std::move(b)); }
Expr And(Expr a, Expr b) {
  return Apply(BinaryOp::kAnd, Cast(std::move(a), ScalarType::kBool), Cast(std::move(b), ScalarType::kBool));
}
Expr Exp(Expr x) { return Apply(UnaryOp::kExp, std::move(x)); }
Expr Log(Expr x) { return Apply(UnaryOp::kLog, std::move(x)); }
Expr Sqrt(Expr x) { return Apply(UnaryOp::kSqrt, std::move(x)); }
Expr Tanh(Expr x) { return Apply(UnaryOp::kTanh, std::move(x)); }
Expr Abs(Expr x) { return Apply(UnaryOp::kAbs, std::move(x)); }
Expr Sigmoid(Expr x) { return Expr(1.0) / (Expr(1.0) + Exp(-std::move(x))); }
Expr Softplus(Expr x) { return Apply(UnaryOp::kLog1p, Exp(-Abs(x))) + Max(x, 0.0); }

Expr Fold(ReduceOp op, std::span<const std::int64_t> extents, const std::function<Expr(std::span<const Expr>)>& body) {
  std::vector<IndexVar> over;
  std::vector<Expr> indices;
  for (const auto extent : extents) {
    over.push_back(NewIndex(extent));
    indices.emplace_back(over.back());
  }
  return Reduce(op, std::move(over), body(indices));
}

namespace {

// Rebuilds the tree bottom-up; `leaf` may give a replacement for an index, `rule` for a node of the kind: a value, or a
// load whose indices are done.
class Rewriter {
 public:
  using Leaf = std::function<Expr(const IndexVar&)>;
  using Rule = std::function<Expr(const ExprNode&)>;
  explicit Rewriter(const Leaf& leaf) : leaf_(&leaf) {}
  Rewriter(Expr::Kind kind, const Rule& rule) : kind_(kind), rule_(&rule) {}

  Expr Do(const Expr& e) {
    return memo_.Do(e, [this](const Expr& node) { return Rebuild(node); });
  }

 private:
  Expr Rebuild(const Expr& e) {
    if (e->kind == Expr::Kind::kIndex) {
      if (leaf_) {
        if (Expr with = (*leaf_)(e->index)) return with;
      }
      return e;
    }
    std::vector<Expr> operands;
    bool changed = false;
    for (const auto& operand : e->operands) {
      operands.push_back(Do(operand));
      changed |= operands.back().get() != operand.get();
    }
    if (rule_ && e->kind == kind_) {
      ExprNode node = *e;
      node.operands = operands;
      if (Expr with = (*rule_)(node)) return with;
    }
    if (!changed) return e;
    return WithOperands(e, std::move(operands));
  }
  const Leaf* leaf_ = nullptr;
  Expr::Kind kind_ = Expr::Kind::kLoad;
  const Rule* rule_ = nullptr;
  ExprMemo memo_;
};

}  // namespace

double NumberOf(const ExprNode& constant) {
  return constant.type == ScalarType::kReal ? constant.real : static_cast<double>(constant.whole);
}

bool IsArg(ReduceOp op) { return op == ReduceOp::kArgMax || op == ReduceOp::kArgMin; }

double IdentityOf(ReduceOp op) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return op == ReduceOp::kMax ? -kInfinity : op == ReduceOp::kMin ? kInfinity : op == ReduceOp::kProd ? 1 : 0;
}

Expr WithOperands(const Expr& e, std::vector<Expr> operands) {
  switch (e->kind) {
    case Expr::Kind::kLoad:
      return Load(e->buffer, std::move(operands), e->type, e->may_miss ? MayMiss::kYes : MayMiss::kNo);
    case Expr::Kind::kUnary: return Apply(e->unary, operands[0]);
    case Expr::Kind::kBinary: return Apply(e->binary, operands[0], operands[1]);
    case Expr::Kind::kSelect: return Select(operands[0], operands[1], operands[2]);
    case Expr::Kind::kCast: return Cast(operands[0], e->type);
    case Expr::Kind::kReduce: return Reduce(e->reduce, e->over, operands[0]);
    case Expr::Kind::kConst:
    case Expr::Kind::kIndex:
    case Expr::Kind::kValue: return e;
  }
  return e;
}

bool SameNode(const ExprNode& a, const ExprNode& b) {
  if (a.kind != b.kind || a.type != b.type || a.operands.size() != b.operands.size()) return false;
  switch (a.kind) {
    case Expr::Kind::kConst:
      return a.whole == b.whole && (a.real == b.real || (std::isnan(a.real) && std::isnan(b.real)));
    case Expr::Kind::kLoad: return a.buffer == b.buffer && a.may_miss == b.may_miss;
    case Expr::Kind::kValue: return a.value == b.value;
    case Expr::Kind::kUnary: return a.unary == b.unary;
    case Expr::Kind::kBinary: return a.binary == b.binary;
    case Expr::Kind::kReduce:
      return a.reduce == b.reduce &&
             std::equal(a.over.begin(), a.over.end(), b.over.begin(), b.over.end(),
                        [](const IndexVar& x, const IndexVar& y) { return x.extent == y.extent; });
    case Expr::Kind::kIndex:
    case Expr::Kind::kSelect:
    case Expr::Kind::kCast: return true;
  }
  return false;
}

Expr Substitute(const Expr& expr, const std::function<Expr(const IndexVar&)>& with) { return Rewriter(with).Do(expr); }
Expr ReplaceLoads(const Expr& expr, const std::function<Expr(const ExprNode&)>& with) {
  return Rewriter(Expr::Kind::kLoad, with).Do(expr);
}
Expr ReplaceValues(const Expr& expr, const std::function<Expr(const ExprNode&)>& with) {
  return Rewriter(Expr::Kind::kValue, with).Do(expr);
}
Expr ReplaceValue(const Expr& expr, NamedValue value, const Expr& with) {
  return ReplaceValues(expr, [&](const ExprNode& node) { return node.value == value ? with : Expr(); });
}

namespace {

// The nodes that a walk has met. Most expressions have few, and walks are what most of the time goes to: memory is
// asked for only where there are many.
class Met {
 public:
  // Whether it is met for the first time.
  bool Add(const ExprNode& node) {
    if (!many_.empty()) return many_.insert(&node).second;
    const auto end = few_.begin() + count_;
    if (std::find(few_.begin(), end, &node) != end) return false;
    if (count_ < static_cast<std::ptrdiff_t>(few_.size())) {
      few_[static_cast<std::size_t>(count_++)] = &node;
    } else {
      many_.insert(few_.begin(), few_.end());
      many_.insert(&node);
    }
    return true;
  }

 private:
  std::array<const ExprNode*, 24> few_;
  std::ptrdiff_t count_ = 0;
  std::unordered_set<const ExprNode*> many_;
};

}  // namespace

void Visit(const Expr& expr, const std::function<void(const ExprNode&)>& visit) {
  Met met;
  const auto walk = [&](const auto& self, const ExprNode& node) -> void {
    if (!met.Add(node)) return;
    for (const auto& operand : node.operands) self(self, *operand);
    visit(node);
  };
  walk(walk, *expr);
}

void VisitOuterFolds(const Expr& expr, const std::function<void(const ExprNode&)>& visit) {
  Met met;
  const auto walk = [&](const auto& self, const ExprNode& node) -> void {
    if (!met.Add(node)) return;
    if (node.kind == Expr::Kind::kReduce) return visit(node);
    for (const auto& operand : node.operands) self(self, *operand);
  };
  walk(walk, *expr);
}

bool IsConst(const Expr& expr) { return expr->kind == Expr::Kind::kConst; }
bool IsUnary(const Expr& expr, UnaryOp op) { return expr->kind == Expr::Kind::kUnary && expr->unary == op; }
bool IsBinary(const Expr& expr, BinaryOp op) { return expr->kind == Expr::Kind::kBinary && expr->binary == op; }
std::optional<double> ConstantNumber(const Expr& e) { return IsConst(e) ? std::optional(NumberOf(*e)) : std::nullopt; }

bool HasReduce(const Expr& expr) {
  bool found = false;
  Visit(expr, [&](const ExprNode& node) { found |= node.kind == Expr::Kind::kReduce; });
  return found;
}
bool HasLoad(const Expr& expr) {
  bool found = false;
  Visit(expr, [&](const ExprNode& node) { found |= node.kind == Expr::Kind::kLoad; });
  return found;
}
bool IsValue(const Expr& expr, NamedValue value) { return expr->kind == Expr::Kind::kValue && expr->value == value; }
bool UsesValue(const Expr& expr, NamedValue value) { return ReplaceValue(expr, value, 0).get() != expr.get(); }
bool UsesIndex(const Expr& expr, int id) {
  bool found = false;
  Visit(expr, [&](const ExprNode& node) { found |= node.kind == Expr::Kind::kIndex && node.index.id == id; });
  return found;
}

namespace {

bool Same(const Expr& a, const Expr& b, std::unordered_map<int, int>& index_of) {
  if (!SameNode(*a, *b)) return false;
  if (a->kind == Expr::Kind::kIndex) {
    const auto it = index_of.find(a->index.id);
    return (it == index_of.end() ? a->index.id : it->second) == b->index.id;
  }
  for (std::size_t i = 0; i < a->over.size(); ++i) index_of[a->over[i].id] = b->over[i].id;
  for (std::size_t i = 0; i < a->operands.size(); ++i) {
    if (a->operands[i].get() == b->operands[i].get() && index_of.empty()) continue;
    if (!Same(a->operands[i], b->operands[i], index_of)) return false;
  }
  return true;
}

}  // namespace

bool SameExpr(const Expr& a, const Expr& b) {
  std::unordered_map<int, int> index_of;
  return Same(a, b, index_of);
}

std::string ToString(NamedValue value) {
  switch (value.kind) {
    case NamedValue::Kind::kIt: return "it";
    case NamedValue::Kind::kLet: return fmt::format("let{}", value.number);
    case NamedValue::Kind::kKept: return "kept";
    case NamedValue::Kind::kInside: return "inside";
    case NamedValue::Kind::kRowSum: return "row sum";
    case NamedValue::Kind::kText: return fmt::format("text{}", value.number);
    case NamedValue::Kind::kHole: return "hole";
  }
  return "?";
}

std::string ToString(const Expr& expr, const std::function<std::string(int)>& buffer_name) {
  const std::function<std::string(const Expr&)> text = [&](const Expr& e) -> std::string {
    switch (e->kind) {
      case Expr::Kind::kConst:
        return e->type == ScalarType::kReal   ? fmt::format("{}", e->real)
               : e->type == ScalarType::kBool ? (e->whole ? "true" : "false")
                                              : fmt::format("{}", e->whole);
      case Expr::Kind::kIndex: return fmt::format("i{}", e->index.id);
      case Expr::Kind::kLoad: {
        std::string list;
        for (const auto& operand : e->operands) list += (list.empty() ? "" : ", ") + text(operand);
        return fmt::format("{}[{}]", buffer_name(e->buffer), list);
      }
      case Expr::Kind::kValue: return ToString(e->value);
      case Expr::Kind::kUnary: return fmt::format("{}({})", Name(e->unary), text(e->operands[0]));
      case Expr::Kind::kBinary:
        if (std::isalpha(static_cast<unsigned char>(Name(e->binary)[0]))) {
          return fmt::format("{}({}, {})", Name(e->binary), text(e->operands[0]), text(e->operands[1]));
        }
        return fmt::format("({} {} {})", text(e->operands[0]), Name(e->binary), text(e->operands[1]));
      case Expr::Kind::kSelect:
        return fmt::format("({} ? {} : {})", text(e->operands[0]), text(e->operands[1]), text(e->operands[2]));
      case Expr::Kind::kCast:
        return fmt::format("{}({})",
                           e->type == ScalarType::kReal  ? "real"
                           : e->type == ScalarType::kInt ? "int"
                                                         : "bool",
                           text(e->operands[0]));
      case Expr::Kind::kReduce: {
        std::string list;
        for (const auto& var : e->over) list += fmt::format("{}i{} < {}", list.empty() ? "" : ", ", var.id, var.extent);
        return fmt::format("{}({}: {})", Name(e->reduce), list, text(e->operands[0]));
      }
    }
    return "?";
  };
  return text(expr);
}

}  // namespace hone
