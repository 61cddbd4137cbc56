// C++ and CUDA C++: types, functions, aliases, concepts and macros that are defined at the level of a file, a namespace
// or a type. Both branches of an #if are read, each from where the scopes stood before it.
//
//   declaration := words up to ; or { at that level      what the words are says what the brace opens
//
// Missed: what macros make; functions without a body; variables, also lambdas; what is defined inside of functions. A
// macro that is used like a function, with a body behind it, is taken for one: TEST(...) { }.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "index/cpp_tokens.h"
#include "index/language.h"

namespace hone::language_cpp {
namespace {

constexpr std::string_view kSuffixes[] = {".h",   ".hh", ".hpp", ".hxx", ".cuh", ".inl",
                                          ".ipp", ".cu", ".c",   ".cc",  ".cpp", ".cxx"};

template <std::size_t kSize>
bool IsOneOf(std::string_view word, const std::array<std::string_view, kSize>& words) {
  return std::ranges::find(words, word) != words.end();
}
// What brackets may follow without being a function's name.
constexpr std::array<std::string_view, 26> kNoFunctions = {"__launch_bounds__",
                                                           "__attribute__",
                                                           "__declspec",
                                                           "alignas",
                                                           "__align__",
                                                           "decltype",
                                                           "noexcept",
                                                           "requires",
                                                           "explicit",
                                                           "sizeof",
                                                           "alignof",
                                                           "typeof",
                                                           "asm",
                                                           "__asm__",
                                                           "static_assert",
                                                           "if",
                                                           "while",
                                                           "for",
                                                           "switch",
                                                           "catch",
                                                           "return",
                                                           "void",
                                                           "int",
                                                           "bool",
                                                           "auto",
                                                           "__cluster_dims__"};
constexpr std::array<std::string_view, 4> kTypeKeys = {"class", "struct", "union", "enum"};
constexpr std::array<std::string_view, 9> kBehindFunction = {"const",    "noexcept", "override", "final", "requires",
                                                             "volatile", "mutable",  "try",      "throw"};

using Tokens = std::vector<CppToken>;

constexpr std::size_t kLongestDeclaration = 4096;  // words: more are no declaration, and are looked at for nothing

enum class Opened { kNamespace, kType, kCode };
struct Scope {
  Opened opened = Opened::kCode;
  std::string name = {};
  std::optional<std::size_t> symbol = {};
  bool inside = false;  // of a declaration, which goes on behind it
  int brackets = 0;     // that were open before it
};
struct State {
  std::vector<Scope> scopes = {};
  std::size_t begin = 0;  // the first word of the declaration at hand
  int brackets = 0;       // that are open in it
};

struct Branch {
  State before;
  bool between = false;  // declarations, where the #if stands
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), tokens_(CppTokens(text)) {}

  std::vector<Symbol> Read() {
    while (at_ < tokens_.size() && state_.scopes.size() < kDeepestScope && branches_.size() < kDeepestScope) {
      Take(tokens_[at_]);
      ++at_;
    }
    std::ranges::stable_sort(symbols_, {}, &Symbol::first);
    return std::move(symbols_);
  }

 private:
  bool InCode() const { return !state_.scopes.empty() && state_.scopes.back().opened == Opened::kCode; }

  void Take(const CppToken& token) {
    const bool between = state_.begin == at_;  // declarations
    if (between && token.kind != CppToken::Kind::kName && token.kind != CppToken::Kind::kOther) ++state_.begin;
    switch (token.kind) {
      case CppToken::Kind::kIf: branches_.push_back({state_, between}); return;
      case CppToken::Kind::kElse:
        if (branches_.empty()) return;
        state_ = branches_.back().before;
        if (branches_.back().between) state_.begin = at_ + 1;
        return;
      case CppToken::Kind::kEndif:
        if (!branches_.empty()) branches_.pop_back();
        return;
      case CppToken::Kind::kMacro: Add(token.text, "macro", "", token, token.last_line, LineText(token)); return;
      case CppToken::Kind::kName: return;
      case CppToken::Kind::kOther: break;
    }
    if (token.text == "{") return Open();
    if (token.text == "}") return Close();
    if (InCode()) return;
    if (token.text == "(" || token.text == "[") ++state_.brackets;
    if ((token.text == ")" || token.text == "]") && state_.brackets > 0) --state_.brackets;
    if (state_.brackets > 0) return;
    if (token.text == ";") {
      Alias();
      state_.begin = at_ + 1;
    }
    const bool access =
        token.text == ":" && at_ == state_.begin + 1 &&
        IsOneOf(tokens_[state_.begin].text, std::array<std::string_view, 3>{"public", "private", "protected"});
    if (access) state_.begin = at_ + 1;
  }

  void Open() {
    if (InCode() || state_.brackets > 0) {
      state_.scopes.push_back({.inside = true, .brackets = state_.brackets});
      return;
    }
    Scope scope = Classify();
    scope.brackets = 0;
    state_.scopes.push_back(std::move(scope));
    state_.begin = at_ + 1;
  }

  void Close() {
    if (state_.scopes.empty()) {
      state_.begin = at_ + 1;  // more closed than opened: branches of an #if, or half a file
      return;
    }
    const Scope scope = std::move(state_.scopes.back());
    state_.scopes.pop_back();
    state_.brackets = scope.brackets;
    if (scope.inside) return;
    if (scope.symbol) symbols_[*scope.symbol].last = tokens_[at_].last_line;
    state_.begin = at_ + 1;
    // What members begin with, y{0}, and then the body.
    const bool goes_on = scope.opened == Opened::kCode && scope.symbol && at_ + 1 < tokens_.size() &&
                         (tokens_[at_ + 1].text == "," || tokens_[at_ + 1].text == "{");
    if (goes_on) going_on_ = scope.symbol;
  }

  void Shorten() {
    if (at_ - state_.begin > kLongestDeclaration) state_.begin = at_ - kLongestDeclaration;
  }

  // What the brace at hand opens, by the words before it.
  Scope Classify() {
    Shorten();
    if (const auto symbol = std::exchange(going_on_, std::nullopt)) return {.symbol = symbol};
    const std::size_t begin = Declared();
    if (begin == at_) return {};
    if (const auto name = NamespaceName(begin)) return {.opened = Opened::kNamespace, .name = *name};
    if (const auto type = TypeName(begin)) {
      const std::string_view kind = tokens_[type->first].text;
      const CppToken& name = tokens_[type->second];
      return {.opened = Opened::kType,
              .name = std::string(name.text),
              .symbol = Add(name.text, kind, "", name, name.line, Words(state_.begin, at_))};
    }
    return Function(begin);
  }

  // Behind template <...>, as often as it stands there.
  std::size_t Declared() const {
    std::size_t at = state_.begin;
    while (at < at_ && tokens_[at].text == "template" && at + 1 < at_ && tokens_[at + 1].text == "<") {
      int angles = 0, brackets = 0;
      for (++at; at < at_; ++at) {
        const std::string_view text = tokens_[at].text;
        if (text == "(" || text == "[" || text == "{") ++brackets;
        if (text == ")" || text == "]" || text == "}") --brackets;
        if (brackets > 0) continue;
        if (text == "<") ++angles;
        if (text == ">" && --angles == 0) break;
      }
      at = std::min(at + 1, at_);
    }
    return at;
  }

  // Behind the bracket that closes the one at `open`.
  std::size_t BehindBrackets(std::size_t open) const {
    int depth = 0;
    for (std::size_t at = open; at < at_; ++at) {
      const std::string_view text = tokens_[at].text;
      if (text == "(" || text == "[" || text == "{") ++depth;
      if ((text == ")" || text == "]" || text == "}") && --depth == 0) return at + 1;
    }
    return at_;
  }
  bool IsWord(std::size_t at) const { return at < at_ && tokens_[at].kind == CppToken::Kind::kName; }
  bool Is(std::size_t at, std::string_view text) const { return at < at_ && tokens_[at].text == text; }

  std::optional<std::string> NamespaceName(std::size_t begin) const {
    if (Is(begin, "extern") && begin + 2 == at_) return "";  // extern "C" {
    if (Is(begin, "inline")) ++begin;
    if (!Is(begin, "namespace")) return std::nullopt;
    std::string name;
    for (std::size_t at = begin + 1; at < at_; ++at) {
      if (tokens_[at].text == "[" || tokens_[at].text == "(") {
        at = BehindBrackets(at) - 1;
      } else if (IsWord(at) && tokens_[at].text != "inline") {
        name += (name.empty() ? "" : "::") + std::string(tokens_[at].text);
      }
    }
    return name;
  }

  // Where class, struct ... stands, and the type's name; nothing when it is no type or has none.
  std::optional<std::pair<std::size_t, std::size_t>> TypeName(std::size_t begin) const {
    std::size_t key = begin;
    while (key < at_ && !IsOneOf(tokens_[key].text, kTypeKeys)) {
      // Only words stand before it, and what belongs to them.
      if (Is(key, "(") || Is(key, "[")) {
        key = BehindBrackets(key);
      } else if (IsWord(key) && !Is(key, "operator")) {
        ++key;
      } else {
        return std::nullopt;
      }
    }
    if (key >= at_) return std::nullopt;
    std::optional<std::size_t> name;
    for (std::size_t at = key + 1; at < at_;) {
      if (Is(at, "[")) {
        at = BehindBrackets(at);
      } else if (IsOneOf(tokens_[at].text, kTypeKeys) || Is(at, "::")) {
        ++at;
      } else if (IsWord(at) && Is(at + 1, "(")) {
        at = BehindBrackets(at + 1);
        if (at == at_ || IsOneOf(tokens_[at].text, kBehindFunction)) return std::nullopt;  // struct X f() {
      } else if (IsWord(at) && !Is(at, "final")) {
        name = at++;
      } else if (Is(at, "*") || Is(at, "&") || Is(at, "=")) {
        return std::nullopt;
      } else {
        break;  // a base, a type's arguments
      }
    }
    if (!name) return std::nullopt;
    return std::pair(key, *name);
  }

  // The function whose body the brace opens; code without a name where it is none.
  Scope Function(std::size_t begin) {
    for (std::size_t at = begin; at < at_; ++at) {
      if (Is(at, "=")) return {};  // a variable and what it begins with
      if (Is(at, "operator")) return Operator(at);
      if (!Is(at, "(")) {
        if (Is(at, "[")) at = BehindBrackets(at) - 1;
        continue;
      }
      const std::size_t behind = BehindBrackets(at);
      const std::size_t name = BeforeArguments(begin, at);
      const bool named = name < at && IsWord(name) && !IsOneOf(tokens_[name].text, kNoFunctions);
      const bool macro = IsWord(behind) && !IsOneOf(tokens_[behind].text, kBehindFunction) && HasBrackets(behind);
      if (named && !macro) return Named(begin, name, std::string(tokens_[name].text));
      at = behind - 1;
    }
    return {};
  }
  // Of pi<double>( the word; `at` where there is none.
  std::size_t BeforeArguments(std::size_t begin, std::size_t at) const {
    if (at == begin) return at;
    if (!Is(at - 1, ">")) return at - 1;
    int angles = 0;
    for (std::size_t back = at; back-- > begin;) {
      if (Is(back, ">")) ++angles;
      if (Is(back, "<") && --angles == 0) return back > begin ? back - 1 : at;
    }
    return at;
  }
  bool HasBrackets(std::size_t from) const {
    for (; from < at_; ++from) {
      if (Is(from, "(")) return true;
    }
    return false;
  }

  Scope Operator(std::size_t at) {
    std::string name = "operator";
    std::size_t sign = at + 1;
    if (Is(sign, "(") && Is(sign + 1, ")")) {
      name += "()";
    } else {
      for (; sign < at_ && !Is(sign, "("); ++sign) name += (IsWord(sign) ? " " : "") + std::string(tokens_[sign].text);
    }
    return Named(state_.begin, at, name);
  }

  Scope Named(std::size_t begin, std::size_t at, std::string name) {
    if (at > begin && Is(at - 1, "~")) name = "~" + name, --at;
    std::string qualifier;  // of ns::Type::name
    while (at >= begin + 2 && Is(at - 1, "::") && IsWord(at - 2)) {
      qualifier = std::string(tokens_[at - 2].text) + (qualifier.empty() ? "" : "::") + qualifier;
      at -= 2;
    }
    bool kernel = false;
    for (std::size_t i = state_.begin; i < at_; ++i) kernel = kernel || Is(i, "__global__");
    return {.symbol = Add(name, kernel ? "kernel" : "function", qualifier, tokens_[at], tokens_[at].line,
                          Words(state_.begin, at_))};
  }

  void Alias() {
    Shorten();
    const std::size_t begin = Declared();
    if ((Is(begin, "using") || Is(begin, "concept")) && IsWord(begin + 1)) {
      const std::size_t behind = Is(begin + 2, "[") ? BehindBrackets(begin + 2) : begin + 2;
      if (!Is(behind, "=")) return;
      const CppToken& name = tokens_[begin + 1];
      Add(name.text, Is(begin, "using") ? "alias" : "concept", "", name, tokens_[at_].line, Words(state_.begin, at_));
    } else if (Is(begin, "typedef") && IsWord(at_ - 1)) {
      Add(tokens_[at_ - 1].text, "alias", "", tokens_[at_ - 1], tokens_[at_].line, Words(state_.begin, at_));
    }
  }

  std::string ScopeName(std::string_view qualifier) const {
    std::string name;
    const auto add = [&](std::string_view part) {
      if (!part.empty()) name += (name.empty() ? "" : "::") + std::string(part);
    };
    for (const Scope& scope : state_.scopes) add(scope.name);
    add(qualifier);
    return name;
  }

  std::size_t Add(std::string_view name, std::string_view kind, std::string_view qualifier, const CppToken& at,
                  int last, std::string signature) {
    const bool macro = kind == "macro";
    const int first = macro || state_.begin >= tokens_.size() ? at.line : std::min(tokens_[state_.begin].line, at.line);
    symbols_.push_back({.name = std::string(name),
                        .kind = std::string(kind),
                        .scope = macro ? "" : ScopeName(qualifier),
                        .signature = std::move(signature),
                        .line = at.line,
                        .first = first,
                        .last = last});
    return symbols_.size() - 1;
  }

  // Words without comments between them, as they were spaced.
  std::string Words(std::size_t begin, std::size_t end) const {
    std::string words;
    for (std::size_t at = begin; at < end && words.size() <= kLongestSignature; ++at) {
      const CppToken& token = tokens_[at];
      if (token.kind != CppToken::Kind::kName && token.kind != CppToken::Kind::kOther) continue;
      words += (token.spaced && !words.empty() ? " " : "") + std::string(token.text);
    }
    return Signature(words);
  }
  // The first line of a #define, behind its sign.
  std::string LineText(const CppToken& macro) const {
    const std::size_t name = static_cast<std::size_t>(macro.text.data() - text_.data());
    return "#define " + Signature(text_.substr(name, std::min(text_.find('\n', name), text_.size()) - name));
  }

  const std::string_view text_;
  const Tokens tokens_;
  std::size_t at_ = 0;
  State state_;
  std::vector<Branch> branches_;
  std::optional<std::size_t> going_on_;
  std::vector<Symbol> symbols_;
};

std::vector<Symbol> Symbols(std::string_view text) { return Reader(text).Read(); }

}  // namespace

HONE_ROW(Language){.name = "cpp",
                   .doc = "C++ and CUDA C++: types, functions with a body, kernels, aliases, concepts, macros",
                   .suffixes = kSuffixes,
                   .symbols = Symbols};

}  // namespace hone::language_cpp
