#include "dsl/cpu/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "dsl/cpu/identities.h"
#include "dsl/cpu/math.h"

namespace hone::dsl {
namespace {

struct HelperText {
  std::string_view name, text;
};

constexpr HelperText kHelpers[] = {
    {"AtLeast", R"(// x, or the bound if x is below it; a NaN stays one.
template <class T>
inline T AtLeast(T x, T bound) {
  return x < bound ? bound : x;
}
)"},
    {"AtMost", R"(// x, or the bound if x is above it; a NaN stays one.
template <class T>
inline T AtMost(T x, T bound) {
  return x > bound ? bound : x;
}
)"},
    {"FloorDiv", R"(// The quotient towards minus infinity.
inline long FloorDiv(long a, long b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
)"},
    {"FloorMod", R"(// The remainder that has the sign of b.
template <class T>
inline T FloorMod(T a, T b) {
  const T r = Remainder(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)"},
    {"Larger", R"(// The larger; what comes of a NaN does not matter.
template <class T>
inline T Larger(T a, T b) {
  return a > b ? a : b;
}
)"},
    {"Max", R"(// The larger; a NaN on either side is the result.
template <class T>
inline T Max(T a, T b) {
  const T larger = a > b ? a : b;  // b if b is a NaN
  return a != a ? a : larger;
}
)"},
    {"Min", R"(// The smaller; a NaN on either side is the result.
template <class T>
inline T Min(T a, T b) {
  const T smaller = a < b ? a : b;  // b if b is a NaN
  return a != a ? a : smaller;
}
)"},
    {"Remainder", R"(inline long Remainder(long a, long b) { return a % b; }
inline float Remainder(float a, float b) { return __builtin_fmodf(a, b); }
inline double Remainder(double a, double b) { return __builtin_fmod(a, b); }
)"},
    {"ReduceMax_float",
     "#pragma omp declare reduction(nanmax : float : omp_out = Max(omp_out, omp_in)) initializer(omp_priv = "
     "omp_orig)\n"},
    {"ReduceMax_double",
     "#pragma omp declare reduction(nanmax : double : omp_out = Max(omp_out, omp_in)) initializer(omp_priv = "
     "omp_orig)\n"},
    {"ReduceMin_float",
     "#pragma omp declare reduction(nanmin : float : omp_out = Min(omp_out, omp_in)) initializer(omp_priv = "
     "omp_orig)\n"},
    {"ReduceMin_double",
     "#pragma omp declare reduction(nanmin : double : omp_out = Min(omp_out, omp_in)) initializer(omp_priv = "
     "omp_orig)\n"},
    {"Sign", R"(template <class T>
inline T Sign(T x) {
  return T(x > 0) - T(x < 0);
}
)"},
    {"Stream",
     R"(// Writes a block past the caches: nobody reads the output soon, and a line that is written whole need not be read first.
#ifdef __AVX512F__
typedef double Line __attribute__((vector_size(64)));
inline void StreamLine(double* to, Line line) { __builtin_ia32_movntpd512(to, line); }
#elif defined(__AVX__)
typedef double Line __attribute__((vector_size(32)));
inline void StreamLine(double* to, Line line) { __builtin_ia32_movntpd256(to, line); }
#else
typedef double Line __attribute__((vector_size(16)));
inline void StreamLine(double* to, Line line) { *reinterpret_cast<Line*>(to) = line; }
#endif
inline void Stream(void* to, const void* from, long bytes) {
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  const long head = -reinterpret_cast<long>(out) & (sizeof(Line) - 1);
  long at = head < bytes ? head : bytes;
  __builtin_memcpy(out, in, at);
  for (; at + static_cast<long>(sizeof(Line)) <= bytes; at += sizeof(Line)) {
    Line line;
    __builtin_memcpy(&line, in + at, sizeof(Line));
    StreamLine(reinterpret_cast<double*>(out + at), line);
  }
  __builtin_memcpy(out + at, in + at, bytes - at);
#ifdef __SSE__
  __builtin_ia32_sfence();
#endif
}
)"},
    {"Vector_double", R"(// The processor's vectors, at any address.
#ifdef __AVX512F__
typedef double DoubleVector __attribute__((vector_size(64), aligned(8), may_alias));
#else
typedef double DoubleVector __attribute__((vector_size(32), aligned(8), may_alias));
#endif
)"},
    {"Vector_float", R"(// The processor's vectors, at any address.
#ifdef __AVX512F__
typedef float FloatVector __attribute__((vector_size(64), aligned(4), may_alias));
#else
typedef float FloatVector __attribute__((vector_size(32), aligned(4), may_alias));
#endif
)"},
    {"Vector_pairs", R"(// Pairs of bf16, the first in the lower half.
typedef unsigned PairVector __attribute__((vector_size(64), aligned(4), may_alias));
// sum += the products of the pairs' seconds, then of their firsts, in f32; subnormal numbers are zeros.
inline void AddPairs(FloatVector& sum, PairVector row, PairVector pair) {
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(row), "v"(pair));
}
)"},
};

}  // namespace

Writer::Writer(const KernelProgram& program) : program_(program) {
  for (const auto& buffer : program.buffers) names_.push_back(Spelled(buffer.name));
}

void Writer::Line(std::string_view line) {
  text_.append(static_cast<std::size_t>(depth_) * 2, ' ');
  text_ += line;
  text_ += '\n';
}
void Writer::Open(std::string_view head) {
  Line(std::string(head) + (head.empty() ? "{" : " {"));
  ++depth_;
}
void Writer::Close(std::string_view tail) {
  --depth_;
  Line(fmt::format("}}{}", tail));
}
void Writer::Comment(std::string_view text) {
  const std::size_t width = 100;
  std::string line;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find_first_of(" \n", at);
    if (end == std::string_view::npos) end = text.size();
    if (!line.empty() && line.size() + end - at > width) {
      Line("// " + line);
      line.clear();
    }
    if (end > at) line += (line.empty() ? "" : " ") + std::string(text.substr(at, end - at));
    at = end + 1;
  }
  if (!line.empty()) Line("// " + line);
}
void Writer::Blank() { text_ += '\n'; }
std::string Writer::Take() { return std::exchange(text_, {}); }

void Writer::BeginFunction() {
  outer_text_ = std::exchange(text_, {});
  outer_depth_ = std::exchange(depth_, 0);
}
void Writer::EndFunction() {
  functions_ += std::exchange(text_, std::exchange(outer_text_, {})) + "\n";
  depth_ = outer_depth_;
}
std::string Writer::TakeFunctions() { return std::exchange(functions_, {}); }

void Writer::Begin(const Kernel& kernel) {
  kernel_ = &kernel;
  real_ = ComputeType(program_, kernel) == DType::kF64 ? "double" : "float";
  parallel_ = IntSetting(kernel, "threads") != 1;
  taken_ = {names_.begin(), names_.end()};
}

std::string Writer::TypeName(ScalarType type) const {
  return type == ScalarType::kReal ? real_ : type == ScalarType::kInt ? "long" : "bool";
}

std::string Writer::Number(double value) const {
  const std::string suffix = wide() ? "" : "f";
  if (std::isnan(value)) return wide() ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")";
  if (!wide()) value = static_cast<double>(static_cast<float>(value));
  if (std::isinf(value)) return fmt::format("{}__builtin_inf{}()", value < 0 ? "-" : "", suffix);
  std::string text = wide() ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + suffix;
}

const std::string& Writer::BufferName(int buffer) const { return names_[static_cast<std::size_t>(buffer)]; }

std::string Writer::Fresh(const std::string& hint) {
  std::string name = hint;
  for (int n = 2; !taken_.insert(name).second; ++n) name = fmt::format("{}_{}", hint, n);
  return name;
}

std::string Writer::ThreadsText() const {
  const std::int64_t wanted = IntSetting(*kernel_, "threads");
  return wanted == 0 ? "threads" : fmt::format("(threads < {} ? threads : {})", wanted, wanted);
}

void Writer::ParallelFor(int collapse, std::string_view schedule) {
  if (!parallel_) return;
  Line(fmt::format("#pragma omp parallel for{} num_threads({}) schedule({})",
                   collapse > 1 ? fmt::format(" collapse({})", collapse) : "", ThreadsText(), schedule));
}

std::string Writer::Helper(std::string_view name) {
  if (name == "FloorMod") Helper("Remainder");
  if (const MathFunction* own = FindOwnFunction(name)) {
    for (const auto& other : own->needs) {
      if (!other.empty()) helpers_.emplace(other);
    }
  }
  helpers_.emplace(name);
  return std::string(name);
}

std::string Writer::Libm(const std::string& function) {
  if (const MathFunction* own = wide() ? nullptr : FindMathFunction(function)) {
    return Helper(own->name);
  }
  const std::string name = function + (wide() ? "" : "f");
  libm_.insert(name);
  return name;
}

std::string Writer::MapMax(bool max) {
  Helper(max ? "Max" : "Min");
  Helper(fmt::format("Reduce{}_{}", max ? "Max" : "Min", real_));
  return max ? "nanmax" : "nanmin";
}

std::string Writer::Scratch(const std::string& hint, const std::string& type, std::int64_t count) {
  const std::string base = fmt::format("{}_{}", TargetName(), hint);
  std::string name = base;
  const auto used = [&](const std::string& text) {
    return std::find(names_.begin(), names_.end(), text) != names_.end() ||
           std::any_of(scratch_.begin(), scratch_.end(), [&](const ScratchMemory& one) { return one.name == text; });
  };
  for (int n = 2; used(name); ++n) name = fmt::format("{}_{}", base, n);
  taken_.insert(name);
  scratch_.push_back({.name = name, .type = type, .count = std::max<std::int64_t>(count, 1), .kernel = kernel_});
  return name;
}

std::string Writer::Head() const {
  std::string head;
  if (!libm_.empty()) {
    head += "// libm, with the vector versions that glibc has of it.\nextern \"C\" {\n";
    for (const auto& name : libm_) {
      const std::string type = name.ends_with("f") && name != "erf" ? "float" : "double";
      const bool two = name.starts_with("pow") || name.starts_with("atan2");
      head += fmt::format("__attribute__((simd(\"notinbranch\"), const)) {} {}({}{});\n", type, name, type,
                          two ? ", " + type : "");
    }
    head += "}\n\n";
  }
  head += "namespace {\n\n";
  // Remainder stands before FloorMod, and Max and Min before the reductions made of them.
  for (const bool first : {true, false}) {
    for (const auto& helper : kHelpers) {
      const bool early = helper.name == "Remainder" || helper.name == "Max" || helper.name == "Min";
      if (early == first && helpers_.contains(std::string(helper.name))) head += std::string(helper.text) + "\n";
    }
  }
  for (const auto& function : MathFunctions()) {
    if (helpers_.contains(std::string(function.name))) head += std::string(function.text) + "\n";
  }
  return head;
}

// --- Expressions.

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
    case Expr::Kind::kIndex: break;
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
        case BinaryOp::kMul: return infix("*", kTimes);
        case BinaryOp::kDiv: return infix("/", kTimes);
        case BinaryOp::kFloorDiv:
          if (real)
            return {fmt::format("__builtin_floor{}({})", writer_.wide() ? "" : "f", infix("/", kTimes).text), kPrimary};
          return call(writer_.Helper("FloorDiv"));
        case BinaryOp::kFloorMod: return call(writer_.Helper("FloorMod"));
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
