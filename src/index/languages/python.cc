// Python: what def and class begin, by its indentation. Missed are names that are assigned, and what an eval makes.
#include <algorithm>
#include <cctype>

#include "index/language.h"

namespace hone::language_python {
namespace {

constexpr std::string_view kSuffixes[] = {".py", ".pyi"};

bool IsName(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Walks lines; knows which of them begin inside of a string of three quotes or of brackets, where no statement begins.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<Symbol> Read() {
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      ++number_;
      const bool starts = quote_.empty() && brackets_ == 0;
      Line(text_.substr(begin, end - begin), starts, begin);
      begin = end + 1;
    }
    while (!open_.empty()) Close();
    return std::move(symbols_);
  }

 private:
  struct Open {
    std::size_t indent;
    std::size_t symbol;
  };

  void Line(std::string_view line, bool starts, std::size_t offset) {
    const std::size_t indent = line.find_first_not_of(" \t\r");
    if (starts && indent != line.npos && line[indent] != '#') {
      while (!open_.empty() && open_.back().indent >= indent) Close();
      Statement(line.substr(indent), indent, offset + indent);
    }
    if (indent != line.npos && (!starts || line[indent] != '#')) last_code_ = number_;
    Scan(line);
  }

  void Close() {
    symbols_[open_.back().symbol].last = std::max(last_code_, symbols_[open_.back().symbol].line);
    open_.pop_back();
  }

  void Statement(std::string_view statement, std::size_t indent, std::size_t offset) {
    if (statement.starts_with("async ")) {
      const std::size_t at = std::min(statement.find_first_not_of(' ', 6), statement.size());
      statement.remove_prefix(at);
      offset += at;
    }
    const bool type = statement.starts_with("class ");
    if (!type && !statement.starts_with("def ")) return;
    const std::size_t name = statement.find_first_not_of(' ', type ? 6 : 4);
    if (name == statement.npos) return;
    std::size_t end = name;
    while (end < statement.size() && IsName(statement[end])) ++end;
    if (end == name || open_.size() == kDeepestScope) return;
    std::string scope;
    for (const Open& one : open_) scope += (scope.empty() ? "" : ".") + symbols_[one.symbol].name;
    const std::string_view rest = text_.substr(offset, kLongestSignature * 2);
    open_.push_back({indent, symbols_.size()});
    symbols_.push_back({.name = std::string(statement.substr(name, end - name)),
                        .kind = type ? "class" : "function",
                        .scope = std::move(scope),
                        .signature = Signature(rest.substr(0, HeadOf(rest))),
                        .line = number_,
                        .first = number_,
                        .last = number_});
  }

  // Up to the colon behind its brackets.
  static std::size_t HeadOf(std::string_view statement) {
    int depth = 0;
    for (std::size_t i = 0; i < statement.size(); ++i) {
      const char c = statement[i];
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (depth <= 0 && (c == ':' || c == '\n')) return i;
    }
    return statement.size();
  }

  // Which strings and brackets are open at its end.
  void Scan(std::string_view line) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (!quote_.empty()) {
        if (line[i] == '\\') {
          ++i;
        } else if (line.substr(i).starts_with(quote_)) {
          i += quote_.size() - 1;
          quote_.clear();
        }
        continue;
      }
      const char c = line[i];
      if (c == '#') break;
      if (c == '"' || c == '\'') {
        quote_ = std::string(line.substr(i).starts_with(std::string(3, c)) ? 3 : 1, c);
        i += quote_.size() - 1;
      }
      if (c == '(' || c == '[' || c == '{') ++brackets_;
      if ((c == ')' || c == ']' || c == '}') && brackets_ > 0) --brackets_;
    }
    if (quote_.size() == 1) quote_.clear();  // no string of one quote goes past its line
  }

  const std::string_view text_;
  int number_ = 0, last_code_ = 0, brackets_ = 0;
  std::string quote_;
  std::vector<Open> open_;
  std::vector<Symbol> symbols_;
};

std::vector<Symbol> Symbols(std::string_view text) { return Reader(text).Read(); }

}  // namespace

HONE_ROW(Language){.name = "python",
                   .doc = "classes and functions; not names that are assigned",
                   .suffixes = kSuffixes,
                   .symbols = Symbols};

}  // namespace hone::language_python
