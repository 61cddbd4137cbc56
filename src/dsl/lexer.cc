#include "dsl/lexer.h"

#include <fmt/format.h>

#include <charconv>

namespace hone::dsl {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::variant<std::vector<Token>, Complaint> Run() {
    while (true) {
      SkipBlanks();
      Token token;
      token.at = {line_, static_cast<int>(at_ - line_start_) + 1};
      if (at_ == text_.size()) {
        tokens_.push_back(token);
        return std::move(tokens_);
      }
      const std::size_t start = at_;
      if (std::string why = Next(token); !why.empty()) return Complaint{token.at, std::move(why)};
      token.text = text_.substr(start, at_ - start);
      if (token.kind == Token::Kind::kQuoted) token.text = token.text.substr(1, token.text.size() - 2);
      tokens_.push_back(std::move(token));
    }
  }

 private:
  char Peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void SkipBlanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '\n') {
        ++at_;
        ++line_;
        line_start_ = at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string Next(Token& token) {
    const char c = Peek();
    if (IsLetter(c)) {
      token.kind = Token::Kind::kWord;
      SkipWord();
      return {};
    }
    if (c == '"') {
      token.kind = Token::Kind::kQuoted;
      ++at_;
      const bool word = IsLetter(Peek());
      SkipWord();
      if (!word || Peek() != '"') return "quotes hold one word, such as \"it\": letters, digits and _, no digit first";
      ++at_;
      return {};
    }
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) return NumberOrTuple(token);
    token.kind = Token::Kind::kSymbol;
    for (const std::string_view two : {"->", "<=", ">=", "==", "!="}) {
      if (text_.substr(at_, 2) == two) {
        at_ += 2;
        return {};
      }
    }
    if (std::string_view("+-*/<>=:,()[]{}").find(c) != std::string_view::npos) {
      ++at_;
      return {};
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 32 && byte < 127) return fmt::format("'{}' means nothing here: remove it", c);
    return fmt::format("a byte of value {} is not part of the language: use plain ASCII", byte);
  }

  void SkipWord() {
    while (IsLetter(Peek()) || IsDigit(Peek())) ++at_;
  }

  std::string NumberOrTuple(Token& token) {
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    std::int64_t whole = 0;
    const auto [after_whole, whole_error] = std::from_chars(begin, end, whole);
    const bool is_whole = whole_error == std::errc() &&
                          (after_whole == end || (*after_whole != '.' && *after_whole != 'e' && *after_whole != 'E'));
    if (is_whole && after_whole != end && *after_whole == 'x') {
      token.kind = Token::Kind::kTuple;
      token.parts.push_back(whole);
      at_ += static_cast<std::size_t>(after_whole - begin);
      while (Peek() == 'x') {
        ++at_;
        const char* const from = text_.data() + at_;
        const auto [to, error] = std::from_chars(from, end, whole);
        if (error != std::errc() || !IsDigit(*from))
          return "a number runs into a word: put an operator between them, or finish the tuple, such as 64x256";
        token.parts.push_back(whole);
        at_ += static_cast<std::size_t>(to - from);
      }
    } else {
      token.kind = Token::Kind::kNumber;
      const auto [to, error] = std::from_chars(begin, end, token.number);
      if (error != std::errc()) return "this number does not fit a double: write a smaller one";
      token.is_whole = is_whole;
      token.whole = is_whole ? whole : 0;
      at_ += static_cast<std::size_t>(to - begin);
    }
    if (IsLetter(Peek())) return "a number runs into a word: put a blank or an operator between them";
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::size_t line_start_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

bool HasMeaning(std::string_view word) { return word == "it" || word == "inf" || word == "nan"; }

std::variant<std::vector<Token>, Complaint> Lex(std::string_view text) { return Lexer(text).Run(); }

}  // namespace hone::dsl
