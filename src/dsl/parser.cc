// Recursive descent over the tokens; docs/language.md is the grammar. No word is reserved but it, inf and nan, and in
// quotes these are names, too: what a word means follows from where it stands, so that a tensor may be called `input`
// or `view`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "dsl/lexer.h"
#include "dsl/program.h"
#include "dsl/views.h"

namespace hone::dsl {

TermPtr Number(double value) { return std::make_shared<Term>(Term{Term::Kind::kNumber, value, {}, {}, {}, {}}); }
TermPtr It() { return std::make_shared<Term>(Term{Term::Kind::kIt, 0, {}, {}, {}, {}}); }
TermPtr Name(std::string name) {
  return std::make_shared<Term>(Term{Term::Kind::kName, 0, std::move(name), {}, {}, {}});
}
TermPtr Call(std::string function, std::vector<TermPtr> arguments) {
  return std::make_shared<Term>(Term{Term::Kind::kCall, 0, std::move(function), std::move(arguments), {}, {}});
}
TermPtr Element(std::string name, std::vector<TermPtr> indices) {
  return std::make_shared<Term>(Term{Term::Kind::kElement, 0, std::move(name), std::move(indices), {}, {}});
}
TermPtr FoldOver(std::string fold, std::vector<LoopIndex> over, TermPtr body) {
  return std::make_shared<Term>(Term{Term::Kind::kFold, 0, std::move(fold), {std::move(body)}, {}, std::move(over)});
}

std::string ToString(const Complaint& complaint) {
  if (complaint.at.line == 0) return complaint.message;
  return fmt::format("line {}, column {}: {}", complaint.at.line, complaint.at.column, complaint.message);
}

namespace {

constexpr int kMostOperators = 4000;  // of an expression: a chain of them is as deep
constexpr int kDeepest = 200;         // nested parentheses: far more than anybody writes, far less than the stack holds

// The parser stops at the first complaint: it is kept, and every step after it does nothing.
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::variant<Program, Complaint> Run() {
    ParseProgram();
    if (failed_) return complaint_;
    OrderViews(program_);
    return std::move(program_);
  }

 private:
  const Token& Now() const { return tokens_[at_]; }
  const Token& Ahead(std::size_t n) const { return tokens_[std::min(at_ + n, tokens_.size() - 1)]; }
  bool IsSymbol(std::string_view symbol) const { return Now().kind == Token::Kind::kSymbol && Now().text == symbol; }
  bool IsWord(std::string_view word) const { return Now().kind == Token::Kind::kWord && Now().text == word; }
  bool AtWord() const { return Now().kind == Token::Kind::kWord; }
  static bool IsName(const Token& token) {
    return token.kind == Token::Kind::kWord || token.kind == Token::Kind::kQuoted;
  }
  static bool Is(const Token& token, std::string_view symbol) {
    return token.kind == Token::Kind::kSymbol && token.text == symbol;
  }
  void Step() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }

  void Fail(Position at, std::string message) {
    if (failed_) return;
    failed_ = true;
    complaint_ = {at, std::move(message)};
    at_ = tokens_.size() - 1;
  }
  static std::string Quote(const Token& token) {
    return token.kind == Token::Kind::kEnd ? "the end of the text" : fmt::format("'{}'", token.text);
  }
  void Expected(std::string_view what) { Fail(Now().at, fmt::format("expected {}, found {}", what, Quote(Now()))); }

  bool Take(std::string_view symbol) {
    if (failed_ || !IsSymbol(symbol)) return false;
    Step();
    return true;
  }
  void Need(std::string_view symbol, std::string_view purpose) {
    if (!Take(symbol)) Expected(fmt::format("'{}' {}", symbol, purpose));
  }
  std::string Word(std::string_view what) {
    if (failed_ || !AtWord()) {
      Expected(what);
      return {};
    }
    std::string word(Now().text);
    Step();
    return word;
  }
  // A name, new or known, by itself or in quotes.
  std::string NameOf(std::string_view what) {
    if (!failed_ && AtWord() && HasMeaning(Now().text))
      Fail(Now().at, fmt::format("'{0}' has a meaning of its own: as a name it is written \"{0}\"", Now().text));
    if (failed_ || !IsName(Now())) {
      Expected(what);
      return {};
    }
    std::string name(Now().text);
    Step();
    return name;
  }
  std::int64_t Whole(std::string_view what) {
    const bool negative = Take("-");
    if (failed_ || Now().kind != Token::Kind::kNumber || !Now().is_whole) {
      Expected(what);
      return 0;
    }
    const std::int64_t value = Now().whole;
    Step();
    return negative ? -value : value;
  }
  std::vector<std::int64_t> List(std::string_view what) {
    std::vector<std::int64_t> values;
    Need("[", fmt::format("before {}", what));
    if (Take("]")) return values;
    do values.push_back(Whole("a whole number"));
    while (Take(","));
    Need("]", fmt::format("after {}", what));
    return values;
  }
  Shape Extents() {
    const Position at = Now().at;
    Shape shape = List("the extents");
    for (const auto extent : shape) {
      if (extent < 0) Fail(at, fmt::format("extent {} is negative: extents count from 0", extent));
    }
    return shape;
  }

  void ParseProgram() {
    if (!IsWord("program")) return Expected("'program NAME' first");
    Step();
    program_.name = NameOf("the program's name");
    while (!failed_ && Now().kind != Token::Kind::kEnd) {
      const bool two_words = AtWord() && IsName(Ahead(1));
      if (two_words && (IsWord("input") || IsWord("param") || IsWord("output"))) {
        ParseDeclaration();
      } else if (two_words && IsWord("view")) {
        ParseView();
      } else if (IsName(Now()) && (Is(Ahead(1), "=") || Is(Ahead(1), ":"))) {
        ParseStatement();
      } else if (two_words) {
        Fail(Now().at, fmt::format("'{}' does not begin a line: one begins with input, param, output, view or NAME =",
                                   Now().text));
      } else {
        Expected("input, param, output, view or NAME =");
      }
    }
  }

  DType Type(std::string_view what) {
    const Position at = Now().at;
    const std::string word = Word(what);
    if (const auto dtype = ParseDType(word)) return *dtype;
    Fail(at, fmt::format("'{}' is not an element type: use {}", word, NamesOfDTypes()));
    return DType::kF32;
  }

  void ParseDeclaration() {
    Declaration declaration;
    declaration.at = Now().at;
    declaration.role = IsWord("input") ? Role::kInput : IsWord("param") ? Role::kParameter : Role::kOutput;
    Step();
    declaration.at = Now().at;
    declaration.name = NameOf("a name");
    Need(":", "and a type such as f32[512, 1024] after the name");
    declaration.dtype = Type("a type such as f32[512, 1024]");
    declaration.shape = Extents();
    if (!failed_ && declaration.role == Role::kOutput && IsWord("updates") && IsName(Ahead(1))) {
      Step();
      declaration.updates = NameOf("the input whose memory it is written into");
    }
    program_.declarations.push_back(std::move(declaration));
  }

  void ParseView() {
    View view;
    Step();
    view.at = Now().at;
    view.name = NameOf("the view's name");
    Need("=", "after the view's name");
    view.base = NameOf("the tensor or value that is viewed");
    Need(":", "and the view's extents after the viewed name");
    view.shape = Extents();
    if (!failed_ && IsWord("strides")) {
      Step();
    } else {
      Expected("'strides [...]', one stride (in elements) an extent");
    }
    view.strides = List("the strides");
    if (!failed_ && view.strides.size() != view.shape.size()) {
      Fail(view.at, fmt::format("view '{}' has {} extents and {} strides: give one stride an extent", view.name,
                                view.shape.size(), view.strides.size()));
    }
    if (!failed_ && IsWord("offset") && Ahead(1).kind == Token::Kind::kNumber) {
      Step();
      view.offset = Whole("the offset");
    }
    program_.views.push_back(std::move(view));
  }

  // NAME: bf16[4, 8] =
  template <class Made>
  void ParseTarget(Made& made) {
    made.target = NameOf("a name");
    if (Take(":")) {
      if (AtWord()) made.target_type = Type("a type such as bf16");
      made.has_target_shape = !made.target_type || IsSymbol("[");
      if (made.has_target_shape) made.target_shape = Extents();
    }
    Need("=", "after the name");
  }

  void ParseStatement() {
    Statement statement;
    statement.at = Now().at;
    ParseTarget(statement);
    statement.family = Word("an operator family such as map or matmul");
    if (!failed_ && AtWord()) statement.variant = Word("a variant");
    if (IsSymbol("[")) statement.loops = Loops();
    Need("(", "and the operands after the family");
    if (!IsSymbol(")")) {
      do statement.operands.push_back(Expression(0));
      while (Take(","));
    }
    Need(")", "after the operands");
    if (!failed_ && IsWord("over") && Is(Ahead(1), "[")) {
      Step();
      const Position at = Now().at;
      for (const auto axis : List("the axes")) {
        if (axis < 0 || axis > 64) Fail(at, fmt::format("axis {}: axes count from 0 at the outermost dimension", axis));
        statement.axes.push_back(static_cast<int>(axis));
      }
      std::sort(statement.axes.begin(), statement.axes.end());
      if (std::adjacent_find(statement.axes.begin(), statement.axes.end()) != statement.axes.end()) {
        Fail(at, "an axis is named twice: name each once");
      }
    }
    if (!failed_ && IsWord("by") && Is(Ahead(1), "{")) ParseAttributes(statement);
    if (!failed_ && IsWord("with") && Is(Ahead(1), "{")) ParseSettings(statement);
    while (!failed_ && IsWord("let") && IsName(Ahead(1))) {
      Step();
      Let let;
      let.at = Now().at;
      let.name = NameOf("the let's name");
      Need("=", "after the let's name");
      let.value = Expression(0);
      statement.lets.push_back(std::move(let));
    }
    while (Take("->")) statement.epilogue.push_back(Expression(0));
    while (!failed_ && IsWord("also") && IsName(Ahead(1))) {
      Step();
      Also also;
      also.at = Now().at;
      ParseTarget(also);
      also.value = Expression(0);
      statement.also.push_back(std::move(also));
    }
    program_.statements.push_back(std::move(statement));
  }

  // [i < 8, j < 16]
  std::vector<LoopIndex> Loops() {
    std::vector<LoopIndex> loops;
    Need("[", "before the indices");
    if (Take("]")) return loops;
    do {
      LoopIndex loop;
      const Position at = Now().at;
      loop.name = NameOf("an index such as i < 8");
      Need("<", "and the index's extent after its name");
      loop.extent = Whole("the index's extent");
      if (loop.extent < 0) Fail(at, fmt::format("extent {} is negative: extents count from 0", loop.extent));
      loops.push_back(std::move(loop));
    } while (Take(","));
    Need("]", "after the indices");
    return loops;
  }

  void ParseAttributes(Statement& statement) {
    Step();
    Need("{", "before the attributes");
    if (Take("}")) return;
    do {
      const Position at = Now().at;
      const std::string name = Word("an attribute's name");
      Need(":", "after the attribute's name");
      if (failed_) return;
      std::vector<std::int64_t> value;
      if (Now().kind == Token::Kind::kTuple) {
        value = Now().parts;
        Step();
      } else {
        value = {Whole("a whole number or a tuple such as 2x2")};
      }
      if (!statement.attributes.emplace(name, std::move(value)).second)
        Fail(at, fmt::format("'{}' is given twice: give it once", name));
    } while (Take(","));
    Need("}", "after the attributes");
  }

  void ParseSettings(Statement& statement) {
    Step();
    Need("{", "before the settings");
    if (Take("}")) return;
    do {
      const Position at = Now().at;
      const std::string knob = Word("a knob's name");
      Need(":", "after the knob's name");
      Setting setting;
      setting.at = Now().at;
      if (failed_) return;
      if (AtWord()) {
        setting.value = std::string(Now().text);
        Step();
      } else if (Now().kind == Token::Kind::kTuple) {
        setting.value = Now().parts;
        Step();
      } else {
        setting.value = Whole("a whole number, a word or a tuple such as 64x256x256");
      }
      if (!statement.settings.emplace(knob, std::move(setting)).second)
        Fail(at, fmt::format("'{}' is set twice: set it once", knob));
    } while (Take(","));
    Need("}", "after the settings");
  }

  // Precedence climbing: comparisons bind least (and do not chain), then + -, then * /, then unary minus.
  static int Precedence(const Token& token) {
    if (token.kind != Token::Kind::kSymbol) return -1;
    for (const std::string_view op : {"<", "<=", ">", ">=", "==", "!="}) {
      if (token.text == op) return 0;
    }
    if (token.text == "+" || token.text == "-") return 1;
    if (token.text == "*" || token.text == "/") return 2;
    return -1;
  }

  TermPtr Expression(int least) {
    if (++depth_ > kDeepest)
      Fail(Now().at, fmt::format("more than {} levels of nesting: name a part of it with a map first", kDeepest));
    if (depth_ == 1) operators_ = 0;
    TermPtr left = UnaryTerm();
    while (!failed_) {
      const Token op = Now();
      const int precedence = Precedence(op);
      if (precedence < least) break;
      if (++operators_ > kMostOperators) {
        Fail(op.at, fmt::format("more than {} operators: name a part of it with a map first", kMostOperators));
      }
      Step();
      TermPtr right = Expression(precedence + 1);
      left = MakeCall(op.at, std::string(op.text), {std::move(left), std::move(right)});
      if (precedence == 0 && Precedence(Now()) == 0)
        Fail(Now().at, "comparisons do not chain: join two with and(a < b, b < c)");
    }
    --depth_;
    return left;
  }

  TermPtr UnaryTerm() {
    const Position at = Now().at;
    if (Take("-")) {
      // A minus before a number is part of the number, so that numbers print as they are.
      if (!failed_ && Now().kind == Token::Kind::kNumber) {
        const double value = Now().number;
        Step();
        return MakeNumber(at, -value);
      }
      if (!failed_ && IsWord("inf")) {
        Step();
        return MakeNumber(at, -std::numeric_limits<double>::infinity());
      }
      if (++depth_ > kDeepest) Fail(at, "too many minus signs");
      TermPtr operand = UnaryTerm();
      --depth_;
      return MakeCall(at, "neg", {std::move(operand)});
    }
    return Primary();
  }

  TermPtr Primary() {
    const Position at = Now().at;
    if (failed_) return Number(0);
    if (Now().kind == Token::Kind::kNumber) {
      const double value = Now().number;
      Step();
      return MakeNumber(at, value);
    }
    if (Take("(")) {
      TermPtr inner = Expression(0);
      Need(")", "to close the parenthesis");
      return inner;
    }
    if (!IsName(Now())) {
      Expected("an expression");
      return Number(0);
    }
    const bool quoted = Now().kind == Token::Kind::kQuoted;
    std::string word(Now().text);
    Step();
    if (quoted) return NameOrElement(at, std::move(word));
    if (word == "it") return std::make_shared<Term>(Term{Term::Kind::kIt, 0, {}, {}, at, {}});
    if (word == "inf") return MakeNumber(at, std::numeric_limits<double>::infinity());
    if (word == "nan") return MakeNumber(at, std::numeric_limits<double>::quiet_NaN());
    if (IsSymbol("[") && IsFoldAhead()) {
      std::vector<LoopIndex> over = Loops();
      Need("(", "and what is folded after the indices");
      TermPtr body = Expression(0);
      Need(")", "after what is folded");
      return std::make_shared<Term>(
          Term{Term::Kind::kFold, 0, std::move(word), {std::move(body)}, at, std::move(over)});
    }
    if (!Take("(")) return NameOrElement(at, std::move(word));
    std::vector<TermPtr> arguments;
    if (!IsSymbol(")")) {
      do arguments.push_back(Expression(0));
      while (Take(","));
    }
    Need(")", "after the arguments");
    return MakeCall(at, std::move(word), std::move(arguments));
  }

  TermPtr NameOrElement(Position at, std::string name) {
    if (!Take("[")) return std::make_shared<Term>(Term{Term::Kind::kName, 0, std::move(name), {}, at, {}});
    std::vector<TermPtr> indices;
    if (!IsSymbol("]")) {
      do indices.push_back(Expression(0));
      while (Take(","));
    }
    Need("]", "after the indices");
    return std::make_shared<Term>(Term{Term::Kind::kElement, 0, std::move(name), std::move(indices), at, {}});
  }

  // Whether `[` opens the indices of a fold: after its `]` stands what is folded, in parentheses. Nothing else does.
  bool IsFoldAhead() const {
    int depth = 0;
    for (std::size_t n = 0; at_ + n < tokens_.size(); ++n) {
      if (Is(Ahead(n), "[")) ++depth;
      if (Is(Ahead(n), "]") && --depth == 0) return Is(Ahead(n + 1), "(");
    }
    return false;
  }

  static TermPtr MakeNumber(Position at, double value) {
    return std::make_shared<Term>(Term{Term::Kind::kNumber, value, {}, {}, at, {}});
  }
  static TermPtr MakeCall(Position at, std::string function, std::vector<TermPtr> arguments) {
    return std::make_shared<Term>(Term{Term::Kind::kCall, 0, std::move(function), std::move(arguments), at, {}});
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0, operators_ = 0;  // of the expression that is read
  Program program_;
  bool failed_ = false;
  Complaint complaint_;
};

}  // namespace

std::variant<Program, Complaint> Parse(std::string_view text) {
  auto tokens = Lex(text);
  if (auto* complaint = std::get_if<Complaint>(&tokens)) return std::move(*complaint);
  return Parser(std::move(std::get<std::vector<Token>>(tokens))).Run();
}

}  // namespace hone::dsl
