#include "dsl/cuda/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "dsl/element.h"
#include "dsl/identities.h"
#include "dsl/knobs.h"
#include "expr/ranged_fold.h"
#include "expr/shifts.h"

namespace hone::dsl {
namespace {

using Kind = Expr::Kind;

constexpr std::int64_t kMostInt = std::int64_t{1} << 31;

bool IsAtom(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; });
}

// A text of so many words is a line of its own: about 90 letters, but longer names make no other kernel.
constexpr int kManyWords = 16;

int Words(std::string_view text) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  int words = 0;
  for (std::size_t i = 0; i < text.size(); ++i) words += in_word(text[i]) && (i == 0 || !in_word(text[i - 1])) ? 1 : 0;
  return words;
}

// In parentheses, unless an operator may stand beside it as it is: a name, an element, a call.
std::string Atom(const std::string& text) {
  int depth = 0;
  bool binds = !text.starts_with("-") && !text.starts_with("!") && !text.starts_with("~") && !text.starts_with("*");
  for (const char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    binds &= c != ' ' || depth > 0;
  }
  return binds ? text : "(" + text + ")";
}

// Whether evaluating it where it is not wanted could fault, or costs a loop.
bool OnlyWhereWanted(const Expr& expr) {
  bool only = false;
  Visit(expr, [&](const ExprNode& node) { only |= node.kind == Kind::kReduce || node.may_miss; });
  return only;
}

constexpr double kLong = 20;  // operations: those of a function

constexpr std::int64_t kWarp = 32;

// Whether the threads of a warp may share the terms.
bool Shares(const ExprNode& fold) {
  return fold.kind == Kind::kReduce && fold.reduce == ReduceOp::kSum && fold.operands[0]->type == ScalarType::kReal &&
         fold.over.back().extent >= kWarp;
}

// Whether a whole number that hangs on indices alone can be computed as an int, with all that it is made of.
bool FitsInt(const Expr& expr) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  if (expr->type != ScalarType::kInt) return false;
  if (expr->kind != Kind::kConst && expr->kind != Kind::kIndex && expr->kind != Kind::kBinary) return false;
  const auto range = RangeOf(expr);
  return range && range->low >= -kMost && range->high <= kMost &&
         std::all_of(expr->operands.begin(), expr->operands.end(), FitsInt);
}

// Makes equal parts of expressions one node.
class Sharer {
 public:
  Expr Do(const Expr& expr) {
    return memo_.Do(expr, [&](const Expr& e) {
      std::vector<Expr> operands;
      for (const auto& operand : e->operands) operands.push_back(Do(operand));
      Expr made = e->operands.empty() ? e : WithOperands(e, std::move(operands));
      std::vector<const ExprNode*> parts;
      for (const auto& operand : made->operands) parts.push_back(operand.get());
      auto& like = known_[std::pair(made->kind, std::move(parts))];
      const auto same =
          std::find_if(like.begin(), like.end(), [&](const Expr& other) { return IsSame(*made, *other); });
      if (same != like.end()) return *same;
      return like.emplace_back(std::move(made));
    });
  }

 private:
  // Of the same parts. A fold's own indices are no other's.
  static bool IsSame(const ExprNode& a, const ExprNode& b) {
    const bool same_leaf = a.kind == Kind::kIndex   ? a.index.id == b.index.id
                           : a.kind == Kind::kConst ? std::signbit(a.real) == std::signbit(b.real)
                                                    : a.kind != Kind::kReduce;
    return SameNode(a, b) && same_leaf;
  }

  ExprMemo memo_;
  std::map<std::pair<Kind, std::vector<const ExprNode*>>, std::vector<Expr>> known_;  // by the parts
};

}  // namespace

void DeviceExpr::Count(const Expr& expr) {
  if (uses_[expr.get()]++ > 0) return;
  if (expr->kind == Kind::kReduce) return;  // counted when it is written
  for (const auto& operand : expr->operands) Count(operand);
}

std::string DeviceExpr::Text(const Expr& expr) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto it = scope->find(expr.get()); it != scope->end()) return it->second;
  }
  if (!uses_.contains(expr.get())) {
    kept_.push_back(expr);
    Count(expr);
  }
  if (expr->kind == Kind::kConst || expr->kind == Kind::kIndex || expr->kind == Kind::kValue) return Compose(expr);
  std::string text = Compose(expr);
  if (expr->kind == Kind::kReduce || IsAtom(text)) {
    scopes_.back()[expr.get()] = text;
    return text;
  }
  if (uses_[expr.get()] < 2 && Words(text) < kManyWords) return text;
  const std::string name = writer_.Fresh(expr->kind == Kind::kLoad ? "v" : "t");
  writer_.Line(fmt::format("const {} {} = {};", writer_.Type(expr->type), name, text));
  scopes_.back()[expr.get()] = name;
  return name;
}

std::vector<std::string> DeviceExpr::Texts(const std::vector<Expr>& exprs) {
  if (exprs.size() == 1) return {Text(exprs[0])};
  Sharer sharer;
  for (const auto& expr : exprs) kept_.push_back(sharer.Do(expr));
  const std::vector<Expr> shared(kept_.end() - static_cast<std::ptrdiff_t>(exprs.size()), kept_.end());
  for (const auto& expr : shared) Count(expr);
  std::vector<std::string> texts;
  for (const auto& expr : shared) texts.push_back(Text(expr));
  return texts;
}

std::string DeviceExpr::Address(const Expr& expr) {
  const bool before = std::exchange(in_address_, true);
  std::string text = Text(expr);
  in_address_ = before;
  return text;
}

std::string DeviceExpr::Compose(const Expr& expr) {
  const bool real = expr->type == ScalarType::kReal;
  const auto text = [&](std::size_t operand) { return Text(expr->operands[operand]); };
  const auto call = [&](const std::string& function) {
    std::string arguments;
    for (const auto& operand : expr->operands) arguments += (arguments.empty() ? "" : ", ") + Text(operand);
    return fmt::format("{}({})", function, arguments);
  };
  const auto math = [&](std::string_view name) { return call(std::string(name) + (writer_.wide() ? "" : "f")); };
  const auto infix = [&](std::string_view op) {
    const std::string a = text(0), b = text(1);
    return fmt::format("{} {} {}", Atom(a), op, Atom(b));
  };
  const auto small = [&] { return FitsInt(expr->operands[0]) && FitsInt(expr->operands[1]); };
  // Where an element stands is compared as what an address is made of: 64 bits cost several instructions.
  const auto compare = [&](std::string_view op) {
    const bool before = std::exchange(in_address_, in_address_ || small());
    std::string made = infix(op);
    in_address_ = before;
    return made;
  };
  // A helper of two whole numbers or two reals: its template wants one type.
  const auto helper = [&](std::string_view name) {
    const std::string type = in_address_ && small() ? writer_.index_type() : writer_.Type(expr->operands[0]->type);
    writer_.Helper(name);
    const std::string a = text(0), b = text(1);
    return fmt::format("{}({}({}), {}({}))", name, type, a, type, b);
  };
  const auto places = [&](const PowerBy& power) {
    return power.of ? fmt::format("({} & {})", Atom(Text(power.of)), power.mask) : fmt::format("{}", power.mask);
  };
  switch (expr->kind) {
    case Kind::kConst:
      if (real) return writer_.Number(expr->real);
      if (expr->type == ScalarType::kBool) return expr->whole ? "true" : "false";
      return fmt::format("{}", expr->whole) + (std::abs(expr->whole) >= kMostInt ? "l" : "");
    case Kind::kIndex:
      // Addresses fit into the index type, what else is computed of indices may not.
      return in_address_ || writer_.index_type() == "long" ? indices_.at(expr->index.id)
                                                           : fmt::format("long({})", indices_.at(expr->index.id));
    case Kind::kLoad:
    case Kind::kValue: return load_(*expr);
    case Kind::kReduce: return Fold(*expr);
    case Kind::kSelect: {
      if (OnlyWhereWanted(expr->operands[1]) || OnlyWhereWanted(expr->operands[2])) return Branches(*expr);
      // What takes long is computed before it is chosen, or the compiler makes a branch of it.
      const auto side = [&](std::size_t operand) {
        std::string value = text(operand);
        if (IsAtom(value) || OperationsPerElement(expr->operands[operand]) < kLong) return value;
        const std::string name = writer_.Fresh("t");
        writer_.Line(fmt::format("const {} {} = {};", writer_.Type(expr->type), name, value));
        return name;
      };
      const std::string condition = text(0), then = side(1), otherwise = side(2);
      const std::string type = writer_.Type(expr->type);
      return fmt::format("({} ? {}({}) : {}({}))", Atom(condition), type, then, type, otherwise);
    }
    case Kind::kCast:
      if (expr->type == ScalarType::kBool) return fmt::format("{} != 0", Atom(text(0)));
      return fmt::format("static_cast<{}>({})", writer_.Type(expr->type), text(0));
    case Kind::kUnary:
      if (const Expr spared = writer_.wide() ? Expr() : SparedFunction(expr)) return Text(spared);
      switch (expr->unary) {
        case UnaryOp::kNeg: return "-" + Atom(text(0));
        case UnaryOp::kAbs: return real ? math("fabs") : call("llabs");
        case UnaryOp::kReciprocal:
          if (coarse_ && IsAboveOne(expr->operands[0]))
            return fmt::format("{}({})", writer_.Helper("InverseUnit"), text(0));
          if (coarse_) return fmt::format("{}({}, {})", writer_.Helper("Quotient"), writer_.Number(1), text(0));
          return fmt::format("{} / {}", writer_.Number(1), Atom(text(0)));
        case UnaryOp::kRsqrt:
          return takes_time_ ? fmt::format("{} / {}", writer_.Number(1), math("sqrt")) : math("rsqrt");
        case UnaryOp::kExp:
          if (coarse_) return fmt::format("{}(1.44269504f * {})", writer_.Helper("Exp2Unit"), Atom(text(0)));
          return math("exp");
        case UnaryOp::kRound: return math("rint");
        case UnaryOp::kSign:
          writer_.Helper("Sign");
          return fmt::format("Sign<{}>({})", writer_.Type(expr->type), text(0));
        case UnaryOp::kIsNan: {
          const std::string x = Atom(text(0));
          return fmt::format("{} != {}", x, x);
        }
        case UnaryOp::kLog: return writer_.wide() ? call("log") : call(writer_.Helper("Log"));
        case UnaryOp::kNot: return (expr->type == ScalarType::kBool ? "!" : "~") + Atom(text(0));
        default: return math(hone::Name(expr->unary));
      }
    case Kind::kBinary:
      switch (expr->binary) {
        case BinaryOp::kAdd:
          if (const std::string made = real ? OnePlus(*expr) : ""; !made.empty()) return made;
          return infix("+");
        case BinaryOp::kSub: return infix("-");
        case BinaryOp::kMul:
          if (const auto power = PowerOf(expr); power && power->of) return "1l << " + places(*power);
          return infix("*");
        case BinaryOp::kDiv:
          if (const std::string known = real && reciprocal_ ? reciprocal_(expr->operands[1]) : ""; !known.empty())
            return fmt::format("{} * {}", Atom(text(0)), known);
          if (coarse_ && real) return CoarseQuotient(*expr);
          return infix("/");
        case BinaryOp::kFloorDiv:
          if (const auto power = PowerOf(expr->operands[1]))
            return fmt::format("{} >> {}", Atom(text(0)), places(*power));
          return real ? fmt::format("floor{}({})", writer_.wide() ? "" : "f", infix("/")) : helper("FloorDiv");
        case BinaryOp::kFloorMod:
          if (const auto power = PowerOf(expr->operands[1]); power && !power->of)
            return fmt::format("{} & {}", Atom(text(0)), Text(Expr(expr->operands[1]->whole - 1)));
          return helper("FloorMod");
        case BinaryOp::kMin: return helper("Min");
        case BinaryOp::kMax: return helper("Max");
        case BinaryOp::kPow: {
          const Expr& power = expr->operands[1];
          const double n = power->kind == Kind::kConst ? NumberOf(*power) : 0;
          if (n == 2 || n == 3) {
            std::string x = text(0);
            if (!IsAtom(x)) {
              const std::string name = writer_.Fresh("t");
              writer_.Line(fmt::format("const {} {} = {};", writer_.Type(expr->type), name, x));
              x = name;
            }
            return n == 2 ? fmt::format("{} * {}", x, x) : fmt::format("{} * {} * {}", x, x, x);
          }
          return math("pow");
        }
        case BinaryOp::kAtan2: return math("atan2");
        case BinaryOp::kFmod: return real ? math("fmod") : infix("%");
        case BinaryOp::kLess: return compare("<");
        case BinaryOp::kLessEqual: return compare("<=");
        case BinaryOp::kEqual: return compare("==");
        case BinaryOp::kNotEqual: return compare("!=");
        case BinaryOp::kAnd: return infix("&");
        case BinaryOp::kOr: return infix("|");
        case BinaryOp::kXor: return infix("^");
      }
  }
  HONE_CHECK(false, "an expression of no kind");
  return {};
}

std::string DeviceExpr::Branches(const ExprNode& select) {
  const std::string condition = Text(select.operands[0]);
  const std::string name = writer_.Fresh("t");
  writer_.Line(fmt::format("{} {};", writer_.Type(select.type), name));
  for (const std::size_t side : {1, 2}) {
    writer_.Open(side == 1 ? fmt::format("if ({})", condition) : "else");
    scopes_.emplace_back();
    writer_.Line(fmt::format("{} = {};", name, Text(select.operands[side])));
    scopes_.pop_back();
    writer_.Close();
  }
  return name;
}

bool DeviceExpr::HasSumsToShare(const Expr& expr) {
  bool some = false, fit = true;
  Visit(expr, [&](const ExprNode& node) {
    if (node.kind != Kind::kReduce) return;
    double count = 1;
    for (const auto& over : node.over) count *= static_cast<double>(over.extent);
    some |= Shares(node);
    fit &= count <= static_cast<double>(kLongSum * kWarp);
  });
  return some && fit;
}

std::string DeviceExpr::Fold(const ExprNode& whole) {
  const auto ranged = RangedFoldOf(whole);  // what data leave out is not looked at
  std::string range_begin, range_end;
  if (ranged) {
    range_begin = writer_.Fresh("begin");
    range_end = writer_.Fresh("end");
    for (const auto& [name, edge] : {std::pair(range_begin, ranged->begin), std::pair(range_end, ranged->end)})
      writer_.Line(fmt::format("const {0} {1} = static_cast<{0}>({2});", writer_.index_type(), name, Text(edge)));
    kept_.push_back(Reduce(whole.reduce, whole.over, ranged->body));
  }
  const ExprNode& fold = ranged ? *kept_.back() : whole;
  const auto begin_of = [&](const IndexVar& over) {
    return ranged && ranged->index.id == over.id ? range_begin : std::string("0");
  };
  const auto end_of = [&](const IndexVar& over) {
    return ranged && ranged->index.id == over.id ? range_end : fmt::format("{}", over.extent);
  };
  const bool shared = !lane_.empty() && fold_depth_ == 0 && Shares(fold);
  const ScalarType type = fold.operands[0]->type;
  const bool arg = IsArg(fold.reduce);
  const bool max = fold.reduce == ReduceOp::kMax || fold.reduce == ReduceOp::kArgMax;
  const bool least = max || fold.reduce == ReduceOp::kMin || fold.reduce == ReduceOp::kArgMin;
  const std::string value_type =
      fold.reduce == ReduceOp::kSum && type == ScalarType::kBool ? "long" : writer_.Type(type);
  const std::string name = writer_.Fresh(fold.reduce == ReduceOp::kSum ? "sum" : "fold");
  const bool starts = least;  // the first element is the beginning, but in a range, which may be empty
  const std::string nothing = fold.reduce == ReduceOp::kProd || fold.reduce == ReduceOp::kAll ? "1" : "0";
  writer_.Line(
      fmt::format("{} {} = {};", value_type, name, least && ranged ? writer_.Neutral(fold.reduce, type) : nothing));
  const std::string place = starts ? writer_.Fresh("place") : "";
  const std::string best = arg ? writer_.Fresh("best") : "";
  if (starts) writer_.Line(fmt::format("{} {} = {};", arg ? "long" : "int", place, ranged ? 1 : 0));
  if (arg) writer_.Line(fmt::format("long {} = 0;", best));
  const std::string& index = writer_.index_type();
  double count = 1;
  for (const auto& over : fold.over) count *= static_cast<double>(over.extent);
  if (shared) count /= kWarp;
  const bool parts = fold.reduce == ReduceOp::kSum && type == ScalarType::kReal && count > kLongSum;
  std::string part = name;
  std::size_t part_depth = 0;  // the part is begun inside of so many loops
  const bool cuts = parts && fold.over.back().extent > kLongSum;
  if (parts) {
    part = writer_.Fresh("part");
    double inner = 1;
    part_depth = fold.over.size();
    while (part_depth > 0 && inner * static_cast<double>(fold.over[part_depth - 1].extent) <= kLongSum)
      inner *= static_cast<double>(fold.over[--part_depth].extent);
    if (cuts) part_depth = fold.over.size() - 1;
  }
  // The innermost short loops are written out, as long as that does not make a long text of them.
  constexpr std::int64_t kShortLoop = 8, kMostCopies = 128;
  auto unrolled_from = static_cast<int>(fold.over.size());
  for (std::int64_t copies = 1; unrolled_from > 0; --unrolled_from) {
    const auto d = static_cast<std::size_t>(unrolled_from) - 1;
    std::int64_t extent = fold.over[d].extent;
    if (shared && d + 1 == fold.over.size()) extent = (extent + kWarp - 1) / kWarp;
    copies *= extent;
    if (extent > kShortLoop || copies > kMostCopies) break;
  }
  scopes_.emplace_back();
  int loops = 0;
  std::vector<int> close_part_at;
  for (std::size_t d = 0; d < fold.over.size(); ++d) {
    const IndexVar& over = fold.over[d];
    const std::string var = writer_.Fresh("k");
    indices_[over.id] = var;
    if (parts && d == part_depth && cuts) {
      const std::string begin = writer_.Fresh("k0");
      writer_.Open(fmt::format("for ({} {} = {}; {} < {}; {} += {})", index, begin, begin_of(over), begin, end_of(over),
                               begin, kLongSum));
      ++loops;
      writer_.Line(fmt::format("{} {} = 0;", value_type, part));
      close_part_at.push_back(loops);
      writer_.Open(fmt::format("for ({} {} = {}; {} < {} && {} < {} + {}; ++{})", index, var, begin, var, end_of(over),
                               var, begin, kLongSum, var));
    } else {
      if (parts && d == part_depth) {
        writer_.Line(fmt::format("{} {} = 0;", value_type, part));
        close_part_at.push_back(loops);
      }
      if (static_cast<int>(d) >= unrolled_from) writer_.Unroll();
      if (shared && d + 1 == fold.over.size())
        writer_.Open(fmt::format("for ({} {} = {}{}; {} < {}; {} += {})", index, var,
                                 begin_of(over) == "0" ? "" : begin_of(over) + " + ", lane_, var, end_of(over), var,
                                 kWarp));
      else
        writer_.Open(
            fmt::format("for ({} {} = {}; {} < {}; ++{})", index, var, begin_of(over), var, end_of(over), var));
    }
    ++loops;
  }
  ++fold_depth_;
  const std::string body = Text(fold.operands[0]);
  --fold_depth_;
  switch (fold.reduce) {
    case ReduceOp::kSum: writer_.Line(fmt::format("{} += {};", part, body)); break;
    case ReduceOp::kProd: writer_.Line(fmt::format("{} *= {};", name, body)); break;
    case ReduceOp::kAny: writer_.Line(fmt::format("{} |= {};", name, body)); break;
    case ReduceOp::kAll: writer_.Line(fmt::format("{} &= {};", name, body)); break;
    default: {
      std::string value = body;
      if (!IsAtom(value)) {
        value = writer_.Fresh("t");
        writer_.Line(fmt::format("const {} {} = {};", value_type, value, body));
      }
      // A NaN is the extreme, and the first one it is.
      const std::string better =
          fmt::format("({1} {2} {0} || {1} != {1}) && !({0} != {0})", name, value, max ? ">" : "<");
      if (arg) {
        writer_.Open(fmt::format("if ({} == 0 || ({}))", place, better));
        writer_.Line(fmt::format("{} = {};", name, value));
        writer_.Line(fmt::format("{} = {};", best, place));
        writer_.Close();
        writer_.Line(fmt::format("++{};", place));
      } else {
        writer_.Line(fmt::format("{0} = {1} == 0 || ({2}) ? {3} : {0};", name, place, better, value));
        writer_.Line(fmt::format("{} = 1;", place));
      }
    }
  }
  while (loops > 0) {
    writer_.Close();
    --loops;
    if (!close_part_at.empty() && close_part_at.back() == loops) {
      writer_.Line(fmt::format("{} += {};", name, part));
      close_part_at.pop_back();
    }
  }
  scopes_.pop_back();
  if (shared) {
    const std::string step = writer_.Fresh("step");
    writer_.Unroll();
    writer_.Line(fmt::format("for (int {0} = {1}; {0} > 0; {0} /= 2) {2} += {3}({2}, {0});", step, kWarp / 2, name,
                             writer_.Helper("Across")));
  }
  return arg ? best : name;
}

std::string DeviceExpr::Stored(const std::string& value, ScalarType type, DType dtype) {
  const ScalarType held = ScalarOf(dtype);
  if (held == ScalarType::kBool && type != ScalarType::kBool) return fmt::format("{} != 0", Atom(value));
  if (dtype == DType::kF16) return fmt::format("__float2half(static_cast<float>({}))", value);
  if (dtype == DType::kBF16) return fmt::format("__float2bfloat16(static_cast<float>({}))", value);
  if (IsSmallFloat(dtype)) return fmt::format("Rounded<{}>(static_cast<float>({}))", DeviceType(dtype), value);
  return fmt::format("static_cast<{}>({})", DeviceType(dtype), value);
}

}  // namespace hone::dsl
