// Looks into an index: texts, lines of a file, symbols. All comes from the index itself, as the tree was when that was
// made; no file of the tree is opened. So a path is a name that the index has or has not, and leads nowhere else,
// whatever is in it. Answers are bounded: in number, in bytes of a line, in lines.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "index/language.h"
#include "store/sqlite.h"

namespace hone {

inline constexpr int kMostHits = 100;  // of one answer
inline constexpr int kUsualHits = 20;
inline constexpr int kMostLines = 400;             // that are read at once
inline constexpr std::size_t kLongestLine = 240;   // bytes; what is longer is cut
inline constexpr std::size_t kLongestQuery = 200;  // bytes

struct CodeHit {
  std::string path;
  int line = 0;
  std::string text;              // of the line, without its indentation
  std::optional<Symbol> within;  // the innermost one that has the line
};
struct CodeHits {
  std::vector<CodeHit> hits;  // best first
  bool more = false;          // there are others
};

struct CodeLines {
  std::string path;
  int first = 0, last = 0;  // from 1; 0, 0 of an empty file
  int lines = 0;            // that the file has
  std::vector<std::string> text;
  bool changed = false;  // in the tree the file is another one by now, or gone
};

struct SymbolHit {
  std::string path;
  Symbol symbol;
};
struct SymbolHits {
  std::vector<SymbolHit> hits;
  bool exact = false;  // those of that name; else of names that hold it
  bool more = false;
};

class CodeIndex {
 public:
  // kNotFound when there is none; kUsage when another version of hone made it; kCorrupt when it is none.
  static Result<CodeIndex> Open(const std::string& path);

  const std::string& root() const { return root_; }

  // Lines with words of the query, those with most of them first, where they are defined before where they are used;
  // a file has to have all of them. Words are told apart by spaces, quotes hold some together; letters' cases are one.
  // `glob` is of paths, "include/cute/*.hpp": * is any letters, / among them, ? one; empty: all. kUsage when no word
  // has three letters in a row.
  Result<CodeHits> Search(std::string_view query, std::string_view glob, int limit);

  // kNotFound with the nearest paths when the index has no such file; kUsage when the lines are none of it.
  Result<CodeLines> Read(const std::string& path, int first, int last);

  // By its name, with or without what it lies in: "Layout", "cute::Layout". `kind` as Symbol has it; empty: any.
  Result<SymbolHits> Find(std::string_view name, std::string_view kind, int limit);

 private:
  CodeIndex(Connection connection, std::string root) : connection_(std::move(connection)), root_(std::move(root)) {}
  Result<std::optional<Symbol>> Within(std::int64_t file, int line);
  Result<std::string> Nearest(const std::string& path);

  Connection connection_;
  std::string root_;
};

// "120-180", "120-", "120": the first line and the last, 0 = as many as are read at once. kUsage else.
Result<std::pair<int, int>> ParseLines(std::string_view words);

// For people and models, and as documents. What is no letter but a line break or a tab is shown as '?'.
std::string Text(const CodeHits& hits);
std::string Text(const CodeLines& lines);
std::string Text(const SymbolHits& hits);
nlohmann::json ToDocument(const CodeHits& hits);
nlohmann::json ToDocument(const CodeLines& lines);
nlohmann::json ToDocument(const SymbolHits& hits);

}  // namespace hone
