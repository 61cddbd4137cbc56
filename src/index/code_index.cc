#include "index/code_index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "base/sha256.h"
#include "index/schema.h"
#include "index/tree.h"

namespace hone {
namespace {

constexpr std::size_t kHitsOfFile = 5;
constexpr std::size_t kMostTrigrams = 40;  // of a query: more tell no more files apart
constexpr int kOfDefinition = 3;           // words that a line is worth more which defines one of them

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return Lower(c); });
  return lower;
}

// In lower case; what stands between quotes is one.
std::vector<std::string> WordsOf(std::string_view query) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  const auto end = [&] {
    if (!word.empty() && std::ranges::find(words, word) == words.end()) words.push_back(word);
    word.clear();
  };
  for (const char c : query) {
    if (c == '"') {
      quoted = !quoted;
      end();
    } else if ((c == ' ' || c == '\t') && !quoted) {
      end();
    } else {
      word += Lower(c);
    }
  }
  end();
  return words;
}

// Three ASCII letters in a row of any of the words, as FTS5 has them: "mak" "ake".
std::string Trigrams(const std::vector<std::string>& words) {
  std::set<std::string> trigrams;
  for (const std::string& word : words) {
    for (std::size_t i = 0; i + 3 <= word.size() && trigrams.size() < kMostTrigrams; ++i) {
      const std::string three = word.substr(i, 3);
      if (std::ranges::all_of(three, [](unsigned char c) { return c >= ' ' && c < 127; })) trigrams.insert(three);
    }
  }
  std::string match;
  for (const std::string& three : trigrams) match += fmt::format("{}\"{}\"", match.empty() ? "" : " ", three);
  return match;
}

std::string CutLine(std::string_view line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  line.remove_prefix(begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return std::string(line.substr(0, kLongestLine));
}

// * is any letters, ? is one. SQLite's GLOB takes exponential time for some of both, and both are others' words here.
bool Matches(std::string_view glob, std::string_view path) {
  std::size_t g = 0, p = 0, star = glob.npos, from = 0;
  while (p < path.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      from = p;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == path[p])) {
      ++g;
      ++p;
    } else if (star != glob.npos) {
      g = star + 1;
      p = ++from;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == glob.npos;
}

struct Line {
  int words = 0;  // of the query, how many it has
  int score = 0;
  int number = 0;
  std::string_view text;
};

// Its lines with words, by their beginnings; nothing unless the text has all of the words.
std::map<std::size_t, unsigned> LinesWith(const std::string& lower, const std::vector<std::string>& words) {
  std::map<std::size_t, unsigned> lines;
  for (std::size_t w = 0; w < words.size(); ++w) {
    std::size_t at = lower.find(words[w]);
    if (at == lower.npos) return {};
    while (at != lower.npos) {
      const std::size_t before = at == 0 ? lower.npos : lower.rfind('\n', at - 1);
      lines[before == lower.npos ? 0 : before + 1] |= 1u << w;
      at = lower.find(words[w], std::min(lower.find('\n', at), lower.size()));
    }
  }
  return lines;
}

Result<Symbol> SymbolOf(const Statement& row, int column) {
  return Symbol{.name = row.Text(column),
                .kind = row.Text(column + 1),
                .scope = row.Text(column + 2),
                .signature = row.Text(column + 3),
                .line = static_cast<int>(row.Integer(column + 4)),
                .first = static_cast<int>(row.Integer(column + 5)),
                .last = static_cast<int>(row.Integer(column + 6))};
}
constexpr std::string_view kSymbolColumns =
    "symbol.name, symbol.kind, symbol.scope, symbol.signature, symbol.line, symbol.first, symbol.last";

// Whether the file of the tree is another one than was indexed. Looks without following links in the name's last part;
// what is seen is that it differs, and nothing of it.
bool Changed(const std::string& root, const std::string& path, const std::string& sha256) {
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::path file = fs::path(root) / path;
  const fs::path real = fs::canonical(file, failure);
  if (failure || real != file || !fs::is_regular_file(real, failure) || fs::file_size(real, failure) > kLargestSource)
    return true;
  const auto now = Sha256OfFile(file.string());
  return !now || *now != sha256;
}

}  // namespace

Result<CodeIndex> CodeIndex::Open(const std::string& path) {
  std::error_code ignored;
  const auto none = [&](std::string_view what) {
    return Fail(ErrorKind::kNotFound, fmt::format("{} code index {}; `hone index DIR` makes one", what, path));
  };
  if (!std::filesystem::exists(path, ignored)) return none("there is no");
  Connection connection = HONE_TRY(Connection::Open(path, IfAbsent::kFail, kIndexWords));
  const IndexState state = HONE_TRY(StateOf(connection));
  if (state == IndexState::kEmpty) return none("nothing is in the");
  if (state == IndexState::kOlder)
    return Fail(ErrorKind::kUsage,
                fmt::format("{} was made by another version of hone; `hone index DIR` makes it anew", path));
  Statement origin = HONE_TRY(connection.Prepare("SELECT root FROM origin"));
  if (!HONE_TRY(origin.Step())) return none("nothing is in the");
  std::string root = origin.Text(0);
  return CodeIndex(std::move(connection), std::move(root));
}

Result<CodeHits> CodeIndex::Search(std::string_view query, std::string_view glob, int limit) {
  if (query.size() > kLongestQuery)
    return Fail(ErrorKind::kUsage, fmt::format("the query is {} bytes long; {} at most", query.size(), kLongestQuery));
  std::vector<std::string> words = WordsOf(query);
  if (words.size() > 16) words.resize(16);
  const std::string match = Trigrams(words);
  if (match.empty())
    return Fail(ErrorKind::kUsage,
                fmt::format("'{}': a query needs a word of three letters at least, such as it stands in code", query));
  const auto most = static_cast<std::size_t>(std::clamp(limit, 1, kMostHits));

  struct Found {
    std::int64_t file;
    Line line;
    CodeHit hit;
  };
  std::vector<Found> found;
  bool more = false;
  Statement files = HONE_TRY(connection_.Prepare(
      "SELECT id, path, text FROM file WHERE id IN (SELECT rowid FROM word WHERE word MATCH ?1) ORDER BY path"));
  files.Bind(1, match);
  while (HONE_TRY(files.Step())) {
    if (!glob.empty() && !Matches(glob, files.Text(1))) continue;
    const std::string text = files.Text(2);
    const auto lines = LinesWith(Lower(text), words);
    if (lines.empty()) continue;
    std::set<int> defined;
    Statement symbols = HONE_TRY(connection_.Prepare("SELECT line, name FROM symbol WHERE file = ?1"));
    symbols.Bind(1, files.Integer(0));
    while (HONE_TRY(symbols.Step())) {
      if (std::ranges::find(words, Lower(symbols.Text(1))) != words.end())
        defined.insert(static_cast<int>(symbols.Integer(0)));
    }
    std::vector<Line> best;
    int number = 1;
    std::size_t counted = 0;
    for (const auto& [begin, mask] : lines) {
      number += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                                            text.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
      counted = begin;
      const std::string_view line(text.data() + begin, std::min(text.find('\n', begin), text.size()) - begin);
      const int here = __builtin_popcount(mask);
      best.push_back({here, here + (defined.contains(number) ? kOfDefinition : 0), number, line});
    }
    std::ranges::stable_sort(best, std::ranges::greater(), &Line::score);
    more = more || best.size() > kHitsOfFile;
    best.resize(std::min(best.size(), kHitsOfFile));
    for (const Line& line : best)
      found.push_back({files.Integer(0), line, {files.Text(1), line.number, CutLine(line.text), std::nullopt}});
  }
  std::ranges::stable_sort(found, std::ranges::greater(), [](const Found& one) { return one.line.score; });
  CodeHits hits{.hits = {}, .more = more || found.size() > most};
  for (Found& one : found) {
    if (hits.hits.size() == most) break;
    one.hit.within = HONE_TRY(Within(one.file, one.hit.line));
    hits.hits.push_back(std::move(one.hit));
  }
  return hits;
}

Result<std::optional<Symbol>> CodeIndex::Within(std::int64_t file, int line) {
  Statement select = HONE_TRY(connection_.Prepare(
      fmt::format("SELECT {} FROM symbol WHERE file = ?1 AND first <= ?2 AND last >= ?2 ORDER BY last - first, first "
                  "DESC LIMIT 1",
                  kSymbolColumns)));
  select.Bind(1, file).Bind(2, line);
  if (!HONE_TRY(select.Step())) return std::nullopt;
  return HONE_TRY(SymbolOf(select, 0));
}

Result<std::string> CodeIndex::Nearest(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  Statement select = HONE_TRY(connection_.Prepare(
      "SELECT path FROM file WHERE path = ?1 OR substr(path, -length(?1) - 1) = '/' || ?1 ORDER BY length(path) LIMIT "
      "3"));
  select.Bind(1, name);
  std::string near;
  while (HONE_TRY(select.Step())) near += (near.empty() ? "; did you mean " : ", ") + select.Text(0);
  return near;
}

Result<CodeLines> CodeIndex::Read(const std::string& path, int first, int last) {
  Statement select = HONE_TRY(connection_.Prepare("SELECT text, sha256 FROM file WHERE path = ?1"));
  select.Bind(1, path);
  if (!HONE_TRY(select.Step()))
    return Fail(ErrorKind::kNotFound,
                fmt::format("the index has no file '{}'{}", path.substr(0, kLongestQuery), HONE_TRY(Nearest(path))));
  const std::string text = select.Text(0);
  CodeLines lines{.path = path, .first = std::max(first, 1), .changed = Changed(root_, path, select.Text(1))};
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    ++lines.lines;
    const bool wanted = lines.lines >= lines.first && (last == 0 || lines.lines <= last);
    if (wanted && lines.text.size() < kMostLines)
      lines.text.push_back(text.substr(begin, std::min(end - begin, kLongestLine)));
    begin = end + 1;
  }
  if (lines.lines == 0) {
    lines.first = 0;
    return lines;
  }
  if (lines.first > lines.lines || (last != 0 && last < lines.first))
    return Fail(ErrorKind::kUsage, fmt::format("lines {}-{}: {} has {} lines", first, last, path, lines.lines));
  lines.last = lines.first + static_cast<int>(lines.text.size()) - 1;
  return lines;
}

Result<SymbolHits> CodeIndex::Find(std::string_view name, std::string_view kind, int limit) {
  if (name.size() > kLongestQuery || name.empty())
    return Fail(ErrorKind::kUsage, fmt::format("a symbol's name has 1 to {} bytes", kLongestQuery));
  const auto most = static_cast<std::size_t>(std::clamp(limit, 1, kMostHits));
  const std::size_t colon = name.rfind("::"), dot = name.rfind('.');
  const std::size_t cut = colon != name.npos ? colon : dot;
  const std::string_view own = cut == name.npos ? name : name.substr(cut + (colon != name.npos ? 2 : 1));
  const std::string_view scope = cut == name.npos ? "" : name.substr(0, cut);
  SymbolHits hits;
  for (const bool exact : {true, false}) {
    Statement select = HONE_TRY(connection_.Prepare(
        fmt::format("SELECT file.path, {} FROM symbol JOIN file ON file.id = symbol.file WHERE {} AND (?2 = '' OR "
                    "symbol.kind = ?2) "
                    "ORDER BY length(symbol.name), file.path, symbol.first",
                    kSymbolColumns, exact ? "symbol.name = ?1" : "instr(lower(symbol.name), lower(?1)) > 0")));
    select.Bind(1, own.empty() ? name : own).Bind(2, kind);
    while (HONE_TRY(select.Step())) {
      Symbol symbol = HONE_TRY(SymbolOf(select, 1));
      // The end of its scope, and no part of a name in it.
      const std::string around = "::" + symbol.scope;
      const bool lies_there =
          scope.empty() || around.ends_with(fmt::format("::{}", scope)) || around.ends_with(fmt::format(".{}", scope));
      if (!lies_there) continue;
      hits.more = hits.hits.size() == most;
      if (hits.more) break;
      hits.hits.push_back({select.Text(0), std::move(symbol)});
    }
    hits.exact = exact && !hits.hits.empty();
    if (!hits.hits.empty()) break;
  }
  return hits;
}

Result<std::pair<int, int>> ParseLines(std::string_view words) {
  const auto wrong = [&] {
    return Fail(ErrorKind::kUsage,
                fmt::format("lines '{}': they are as 120-180, or 120 for what begins there", words.substr(0, 40)));
  };
  const std::size_t dash = words.find('-');
  int ends[2] = {1, 0};
  int at = 0;
  for (const std::string_view part : {words.substr(0, dash), dash == words.npos ? "" : words.substr(dash + 1)}) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), ends[at]);
    if (!part.empty() && (error != std::errc() || end != part.data() + part.size() || ends[at] < 1)) return wrong();
    ++at;
  }
  if (ends[1] != 0 && ends[1] < ends[0]) return wrong();
  return std::pair(ends[0], ends[1]);
}

}  // namespace hone
