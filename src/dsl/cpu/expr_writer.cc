#include "dsl/cpu/expr_writer.h"

#include <fmt/format.h>

#include <cmath>

#include "base/check.h"
#include "dsl/identities.h"
#include "expr/shifts.h"

namespace hone::dsl {
namespace {

// Binding strengths as in C++: the higher, the looser.
enum Binding {
  kPrimary = 0,
  kUnary = 3,
  kTimes = 5,
  kPlus = 6,
  kCompare = 9,
  kEquality = 10,
  kBitAnd = 11,
  kBitXor = 12,
  kBitOr = 13,
  kLogicAnd = 14,
  kLogicOr = 15,
  kTernary = 16
};

// Whether the function is a call into libm rather than an instruction or two.
std::string_view LibmName(UnaryOp op) {
  switch (op) {
    case UnaryOp::kExp:
    case UnaryOp::kExpm1:
    case UnaryOp::kLog:
    case UnaryOp::kLog1p:
    case UnaryOp::kLog2:
    case UnaryOp::kLog10:
    case UnaryOp::kSin:
    case UnaryOp::kCos:
    case UnaryOp::kTan:
    case UnaryOp::kAsin:
    case UnaryOp::kAcos:
    case UnaryOp::kAtan:
    case UnaryOp::kSinh:
    case UnaryOp::kCosh:
    case UnaryOp::kTanh:
    case UnaryOp::kAsinh:
    case UnaryOp::kAcosh:
    case UnaryOp::kAtanh:
    case UnaryOp::kErf:
    case UnaryOp::kErfc: return Name(op);
    default: return "";
  }
}

bool IsLibm(const Expr& e) {
  if (e->kind == Expr::Kind::kUnary) return !LibmName(e->unary).empty();
  return e->kind == Expr::Kind::kBinary && (e->binary == BinaryOp::kPow || e->binary == BinaryOp::kAtan2);
}

bool IsNumber(const Expr& e) { return e->kind == Expr::Kind::kConst && e->real == e->real; }

// pow(x, n) for a small whole n is a product: exact for n = 2, and better rounded than a general pow for the others.
std::optional<int> SmallPower(const Expr& e) {
  if (e->kind != Expr::Kind::kBinary || e->binary != BinaryOp::kPow) return std::nullopt;
  const Expr& power = e->operands[1];
  if (power->kind != Expr::Kind::kConst) return std::nullopt;
  const double n = NumberOf(*power);
  if (n == 2 || n == 3 || n == 4 || n == -1 || n == -2) return static_cast<int>(n);
  return std::nullopt;
}

}  // namespace

int ExprWriter::Intern(const Expr& expr) {
  Interned node{.expr = expr, .operands = {}, .uses = 0, .name = {}};
  std::string key = fmt::format("{} {}", static_cast<int>(expr->kind), static_cast<int>(expr->type));
  switch (expr->kind) {
    case Expr::Kind::kConst: key += fmt::format(" {} {} {}", expr->real, std::signbit(expr->real), expr->whole); break;
    case Expr::Kind::kLoad:
    case Expr::Kind::kValue: key += " " + load_(*expr); break;
    case Expr::Kind::kIndex: key += fmt::format(" {}", expr->index.id); break;
    case Expr::Kind::kUnary: key += fmt::format(" {}", static_cast<int>(expr->unary)); break;
    case Expr::Kind::kBinary: key += fmt::format(" {}", static_cast<int>(expr->binary)); break;
    default: break;
  }
  if (expr->kind != Expr::Kind::kLoad) {
    for (const auto& operand : expr->operands) {
      node.operands.push_back(Intern(operand));
      node.stays |= nodes_[static_cast<std::size_t>(node.operands.back())].stays;
      key += fmt::format(" {}", node.operands.back());
    }
  }
  node.stays |= stays_ && stays_(*expr);
  const auto [it, fresh] = ids_.emplace(key, static_cast<int>(nodes_.size()));
  if (fresh) nodes_.push_back(std::move(node));
  return it->second;
}

void ExprWriter::Count(int id) {
  Interned& node = nodes_[static_cast<std::size_t>(id)];
  if (node.uses++ == 0) {
    const auto power = SmallPower(node.expr);
    const std::vector<int> operands = node.operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (power && i == 1) continue;
      Count(operands[i]);
      if ((power && *power != -1) || IsLibm(nodes_[static_cast<std::size_t>(id)].expr)) continue;
    }
    // A power is written as a product, a sign or a NaN test through a helper: only the product repeats its operand.
    if (power && *power != -1) Count(operands[0]);
    if (nodes_[static_cast<std::size_t>(id)].expr->kind == Expr::Kind::kUnary &&
        nodes_[static_cast<std::size_t>(id)].expr->unary == UnaryOp::kIsNan)
      Count(operands[0]);
  }
}

std::string ExprWriter::Operand(int id, int loosest) {
  const Piece piece = Write(id);
  return piece.binding > loosest ? "(" + piece.text + ")" : piece.text;
}

ExprWriter::Piece ExprWriter::Write(int id) {
  {
    const Interned& node = nodes_[static_cast<std::size_t>(id)];
    if (!node.name.empty()) return {node.name, kPrimary};
  }
  Piece piece = Compose(id);
  Interned& node = nodes_[static_cast<std::size_t>(id)];
  const bool leaf = node.expr->kind == Expr::Kind::kConst || node.expr->kind == Expr::Kind::kValue;
  if (leaf || in_place_ || (branches_ > 0 && node.stays) ||
      (node.uses < 2 && !(IsLibm(node.expr) && !SmallPower(node.expr))))
    return piece;
  std::string hint = node.expr->kind == Expr::Kind::kLoad    ? "v"
                     : node.expr->kind == Expr::Kind::kUnary ? std::string(Name(node.expr->unary)) + "_v"
                     : node.expr->kind == Expr::Kind::kBinary && IsLibm(node.expr)
                         ? std::string(Name(node.expr->binary)) + "_v"
                         : "t";
  node.name = writer_.Fresh(hint);
  made_constants_ = true;
  writer_.Line(fmt::format("const {} {} = {};", writer_.TypeName(node.expr->type), node.name, piece.text));
  return {node.name, kPrimary};
}

ExprWriter::Piece ExprWriter::Compose(int id) {
  const Expr expr = nodes_[static_cast<std::size_t>(id)].expr;
  const std::vector<int> operands = nodes_[static_cast<std::size_t>(id)].operands;
  const bool real = expr->type == ScalarType::kReal;
  const auto call = [&](const std::string& function) {
    std::string arguments;
    for (const int operand : operands) arguments += (arguments.empty() ? "" : ", ") + Operand(operand, kTernary);
    return Piece{fmt::format("{}({})", function, arguments), kPrimary};
  };
  const auto builtin = [&](const std::string& name) {
    return call(fmt::format("__builtin_{}{}", name, writer_.wide() ? "" : "f"));
  };
  const auto infix = [&](std::string_view op, int binding) {
    // The right operand of - and / must bind tighter.
    const bool commutes = op == "+" || op == "*" || op == "&&" || op == "||";
    std::string left = Operand(operands[0], binding);
    std::string right = Operand(operands[1], commutes && op != "+" && op != "*" ? binding : binding - 1);
    if (right.starts_with("-") && (op == "-" || op == "+")) right = "(" + right + ")";
    return Piece{fmt::format("{} {} {}", left, op, right), binding};
  };
  const auto places = [&](const PowerBy& power) {
    return power.of ? fmt::format("({} & {})", Operand(Intern(power.of), kUnary), power.mask)
                    : fmt::format("{}", power.mask);
  };
  switch (expr->kind) {
    case Expr::Kind::kConst:
      if (real) {
        std::string text = writer_.Number(expr->real);
        return {text, text.starts_with("-") ? kUnary : kPrimary};
      }
      if (expr->type == ScalarType::kBool) return {expr->whole ? "true" : "false", kPrimary};
      return {fmt::format("{}l", expr->whole), expr->whole < 0 ? kUnary : kPrimary};
    case Expr::Kind::kLoad:
    case Expr::Kind::kValue: return {load_(*expr), kPrimary};
    case Expr::Kind::kIndex:
      if (!index_) break;
      return {fmt::format("({})", index_(expr->index)), kPrimary};
    case Expr::Kind::kUnary: {
      const std::string libm(LibmName(expr->unary));
      if (expr->unary == UnaryOp::kExp && !writer_.wide() && not_above_zero_ && not_above_zero_(*expr))
        return call(writer_.Helper("ExpDown"));
      if (!libm.empty()) return call(writer_.Libm(libm));
      switch (expr->unary) {
        case UnaryOp::kNeg: {
          const std::string operand = Operand(operands[0], kUnary);
          return {(operand.starts_with("-") ? "-(" : "-") + operand + (operand.starts_with("-") ? ")" : ""), kUnary};
        }
        case UnaryOp::kAbs:
          if (real) return builtin("fabs");
          return call("__builtin_labs");
        case UnaryOp::kSqrt: return builtin("sqrt");
        case UnaryOp::kRsqrt: return {fmt::format("{} / {}", writer_.Number(1), builtin("sqrt").text), kTimes};
        case UnaryOp::kReciprocal:
          return {fmt::format("{} / {}", writer_.Number(1), Operand(operands[0], kTimes - 1)), kTimes};
        case UnaryOp::kFloor: return builtin("floor");
        case UnaryOp::kCeil: return builtin("ceil");
        case UnaryOp::kTrunc: return builtin("trunc");
        case UnaryOp::kRound: return builtin("rint");
        case UnaryOp::kSign: return call(writer_.Helper("Sign"));
        case UnaryOp::kIsNan: {
          const std::string operand = Operand(operands[0], kEquality - 1);
          return {fmt::format("{} != {}", operand, operand), kEquality};
        }
        case UnaryOp::kNot:
          return {(expr->type == ScalarType::kBool ? "!" : "~") + Operand(operands[0], kUnary), kUnary};
        default: break;
      }
      break;
    }
    case Expr::Kind::kBinary:
      switch (expr->binary) {
        case BinaryOp::kAdd: return infix("+", kPlus);
        case BinaryOp::kSub: return infix("-", kPlus);
        case BinaryOp::kMul:
          if (const auto power = PowerOf(expr); power && power->of)
            return {fmt::format("(1l << {})", places(*power)), kPrimary};
          return infix("*", kTimes);
        case BinaryOp::kDiv: return infix("/", kTimes);
        case BinaryOp::kFloorDiv:
          if (const auto power = PowerOf(expr->operands[1]))
            return {fmt::format("({} >> {})", Operand(operands[0], kPlus), places(*power)), kPrimary};
          if (real)
            return {fmt::format("__builtin_floor{}({})", writer_.wide() ? "" : "f", infix("/", kTimes).text), kPrimary};
          return call(writer_.Helper("FloorDiv"));
        case BinaryOp::kFloorMod:
          if (const auto power = PowerOf(expr->operands[1]); power && !power->of)
            return {fmt::format("({} & {}l)", Operand(operands[0], kUnary), expr->operands[1]->whole - 1), kPrimary};
          return call(writer_.Helper("FloorMod"));
        case BinaryOp::kMin:
        case BinaryOp::kMax: {
          const bool max = expr->binary == BinaryOp::kMax;
          // Beside a constant one comparison does, not two.
          for (const std::size_t constant : {1, 0}) {
            if (!real || !IsNumber(expr->operands[constant])) continue;
            return Piece{fmt::format("{}({}, {})", writer_.Helper(max ? "AtLeast" : "AtMost"),
                                     Operand(operands[1 - constant], kTernary), Operand(operands[constant], kTernary)),
                         kPrimary};
          }
          return call(writer_.Helper(max ? "Max" : "Min"));
        }
        case BinaryOp::kPow: {
          if (const auto power = SmallPower(expr)) {
            const std::string x = Operand(operands[0], kTimes - 1);
            if (*power == 2) return {fmt::format("{} * {}", x, x), kTimes};
            if (*power == 3) return {fmt::format("{} * {} * {}", x, x, x), kTimes};
            if (*power == 4) return {fmt::format("({} * {}) * ({} * {})", x, x, x, x), kTimes};
            if (*power == -1) return {fmt::format("{} / {}", writer_.Number(1), x), kTimes};
            return {fmt::format("{} / ({} * {})", writer_.Number(1), x, x), kTimes};
          }
          return call(writer_.Libm("pow"));
        }
        case BinaryOp::kAtan2: return call(writer_.Libm("atan2"));
        case BinaryOp::kFmod:
          if (real) return builtin("fmod");
          return infix("%", kTimes);
        case BinaryOp::kLess: return infix("<", kCompare);
        case BinaryOp::kLessEqual: return infix("<=", kCompare);
        case BinaryOp::kEqual: return infix("==", kEquality);
        case BinaryOp::kNotEqual: return infix("!=", kEquality);
        // & and | of bools do not branch.
        case BinaryOp::kAnd: return infix("&", kBitAnd);
        case BinaryOp::kOr: return infix("|", kBitOr);
        case BinaryOp::kXor: return infix("^", kBitXor);
      }
      break;
    case Expr::Kind::kSelect: {
      const std::string condition = Operand(operands[0], kLogicOr);
      ++branches_;
      const std::string then = Operand(operands[1], kLogicOr);
      const std::string otherwise = Operand(operands[2], kLogicOr);
      --branches_;
      return {fmt::format("{} ? {} : {}", condition, then, otherwise), kTernary};
    }
    case Expr::Kind::kCast:
      if (expr->type == ScalarType::kBool)
        return {fmt::format("{} != 0", Operand(operands[0], kEquality - 1)), kEquality};
      return {fmt::format("static_cast<{}>({})", writer_.TypeName(expr->type), Operand(operands[0], kTernary)),
              kPrimary};
    case Expr::Kind::kReduce: break;
  }
  HONE_CHECK(false, "an expression that kernels do not hold");
  return {};
}

std::vector<std::string> ExprWriter::Texts(const std::vector<Expr>& exprs) {
  std::vector<int> ids;
  for (const auto& expr : exprs) ids.push_back(Intern(writer_.wide() ? expr : SpareFunctions(expr)));
  for (const int id : ids) Count(id);
  std::vector<std::string> texts;
  for (const int id : ids) texts.push_back(Write(id).text);
  return texts;
}

std::string ExprWriter::Text(const Expr& expr) { return Texts({expr})[0]; }

}  // namespace hone::dsl
