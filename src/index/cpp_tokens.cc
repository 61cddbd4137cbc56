#include "index/cpp_tokens.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace hone {
namespace {

bool IsName(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<CppToken> Run() {
    while (at_ < text_.size()) Next();
    return std::move(tokens_);
  }

 private:
  bool Ahead(std::string_view word) const { return text_.substr(at_).starts_with(word); }

  void Skip(std::size_t end) {
    end = std::min(end, text_.size());
    for (; at_ < end; ++at_) {
      if (text_[at_] != '\n') continue;
      ++line_;
      line_begins_ = true;
    }
  }
  // Behind the next `word`, or at the end.
  std::size_t Behind(std::string_view word, std::size_t from) const {
    const std::size_t at = text_.find(word, std::min(from, text_.size()));
    return at == text_.npos ? text_.size() : at + word.size();
  }

  void Next() {
    if (IsSpace(text_[at_])) {
      spaced_ = true;
      return Skip(at_ + 1);
    }
    if (Ahead("//")) return Comment(EndOfLine());
    if (Ahead("/*")) return Comment(Behind("*/", at_ + 2));
    if (text_[at_] == '#' && line_begins_) return Directive();
    line_begins_ = false;
    if (text_[at_] == '"') return Take(CppToken::Kind::kOther, QuoteEnd('"'));
    if (text_[at_] == '\'') return Take(CppToken::Kind::kOther, QuoteEnd('\''));
    if (IsDigit(text_[at_])) return Take(CppToken::Kind::kOther, NumberEnd());
    if (IsName(text_[at_])) return Name();
    Take(CppToken::Kind::kOther, at_ + (Ahead("::") ? 2 : 1));
  }

  void Comment(std::size_t end) {
    spaced_ = true;
    Skip(end);
  }

  // Of a line that backslashes may prolong: where its last line break stands.
  std::size_t EndOfLine() const {
    std::size_t end = at_;
    while (true) {
      end = std::min(text_.find('\n', end), text_.size());
      std::size_t before = end;
      if (before > at_ && text_[before - 1] == '\r') --before;
      if (end == text_.size() || before == at_ || text_[before - 1] != '\\') return end;
      ++end;
    }
  }

  std::size_t QuoteEnd(char quote) const {
    for (std::size_t i = at_ + 1; i < text_.size(); ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (text_[i] == quote) {
        return i + 1;
      } else if (text_[i] == '\n') {
        return i;  // it is no string, or somebody is still writing it
      }
    }
    return text_.size();
  }

  std::size_t NumberEnd() const {
    std::size_t end = at_;
    while (end < text_.size() && (IsName(text_[end]) || text_[end] == '.' ||
                                  (text_[end] == '\'' && end + 1 < text_.size() && IsName(text_[end + 1]))))
      ++end;
    return end;
  }

  void Name() {
    std::size_t end = at_;
    while (end < text_.size() && IsName(text_[end])) ++end;
    const std::string_view name = text_.substr(at_, end - at_);
    const bool raw = end < text_.size() && text_[end] == '"' &&
                     (name == "R" || name == "u8R" || name == "LR" || name == "uR" || name == "UR");
    if (!raw) return Take(CppToken::Kind::kName, end);
    const std::size_t open = text_.find('(', end);
    if (open == text_.npos || open - end > 17) return Take(CppToken::Kind::kName, end);  // 16 letters at most
    Take(CppToken::Kind::kOther, Behind(")" + std::string(text_.substr(end + 1, open - end - 1)) + "\"", open));
  }

  void Directive() {
    const std::size_t end = EndOfLine();
    const std::string_view all = text_.substr(at_, end - at_);
    const auto word_from = [&](std::size_t from) {
      from = std::min(all.find_first_not_of(" \t", from), all.size());
      std::size_t behind = from;
      while (behind < all.size() && IsName(all[behind])) ++behind;
      return all.substr(from, behind - from);
    };
    const std::string_view word = word_from(1);
    if (word == "define") {
      const std::string_view name = word_from(static_cast<std::size_t>(word.end() - all.begin()));
      if (!name.empty()) Add(CppToken::Kind::kMacro, name, all);
    }
    if (word == "if" || word == "ifdef" || word == "ifndef") Add(CppToken::Kind::kIf, word, all);
    if (word.starts_with("el")) Add(CppToken::Kind::kElse, word, all);
    if (word == "endif") Add(CppToken::Kind::kEndif, word, all);
    Skip(end);
  }

  void Add(CppToken::Kind kind, std::string_view text, std::string_view over) {
    const int lines = static_cast<int>(std::ranges::count(over, '\n'));
    tokens_.push_back({kind, text, line_, line_ + lines, spaced_});
    spaced_ = false;
  }
  void Take(CppToken::Kind kind, std::size_t end) {
    end = std::min(end, text_.size());
    const std::string_view text = text_.substr(at_, end - at_);
    Add(kind, text, text);
    Skip(end);
    line_begins_ = false;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_begins_ = true, spaced_ = false;
  std::vector<CppToken> tokens_;
};

}  // namespace

std::vector<CppToken> CppTokens(std::string_view text) { return Lexer(text).Run(); }

}  // namespace hone
