// What an index answers, as texts and documents.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "index/code_index.h"

namespace hone {
namespace {

using Json = nlohmann::json;

std::string Scoped(const Symbol& symbol) {
  return symbol.scope.empty() ? symbol.name : fmt::format("{}::{}", symbol.scope, symbol.name);
}

Json ToJson(const Symbol& symbol) {
  return {{"name", symbol.name}, {"kind", symbol.kind},   {"scope", symbol.scope}, {"signature", symbol.signature},
          {"line", symbol.line}, {"first", symbol.first}, {"last", symbol.last}};
}

}  // namespace

std::string Text(const CodeHits& hits) {
  if (hits.hits.empty()) return "no line has these words, in a file that has them all\n";
  std::string text;
  for (const CodeHit& hit : hits.hits) {
    text += fmt::format("{}:{}: {}\n", hit.path, hit.line, hit.text);
    if (hit.within && hit.within->line != hit.line)
      text += fmt::format("    in {} {}, lines {}-{}\n", hit.within->kind, Scoped(*hit.within), hit.within->first,
                          hit.within->last);
  }
  if (hits.more) text += "(there are more: a narrower query, a glob of paths, or a higher limit)\n";
  return Printable(std::move(text));
}

std::string Text(const CodeLines& lines) {
  std::string text = fmt::format("{}, lines {}-{} of {}{}\n", lines.path, lines.first, lines.last, lines.lines,
                                 lines.changed ? ", as it was when it was indexed: it has changed since" : "");
  int number = lines.first;
  for (const std::string& line : lines.text) text += fmt::format("{:5}  {}\n", number++, line);
  return Printable(std::move(text));
}

std::string Text(const SymbolHits& hits) {
  if (hits.hits.empty()) return "no symbol has such a name\n";
  std::string text = hits.exact ? "" : "none has this name; names that hold it:\n";
  for (const SymbolHit& hit : hits.hits)
    text += fmt::format("{}:{}-{}: {} {}\n    {}\n", hit.path, hit.symbol.first, hit.symbol.last, hit.symbol.kind,
                        Scoped(hit.symbol), hit.symbol.signature);
  if (hits.more) text += "(there are more: what it lies in, a kind, or a higher limit)\n";
  return Printable(std::move(text));
}

Json ToDocument(const CodeHits& hits) {
  Json rows = Json::array();
  for (const CodeHit& hit : hits.hits)
    rows.push_back({{"path", hit.path},
                    {"line", hit.line},
                    {"text", hit.text},
                    {"within", hit.within ? ToJson(*hit.within) : Json()}});
  return {{"hits", std::move(rows)}, {"more", hits.more}};
}

Json ToDocument(const CodeLines& lines) {
  std::string text;
  for (const std::string& line : lines.text) text += line + "\n";
  return {{"path", lines.path},      {"first", lines.first},
          {"last", lines.last},      {"lines", lines.lines},
          {"text", std::move(text)}, {"next", lines.last < lines.lines ? Json(lines.last + 1) : Json()},
          {"changed", lines.changed}};
}

Json ToDocument(const SymbolHits& hits) {
  Json rows = Json::array();
  for (const SymbolHit& hit : hits.hits) {
    Json row = ToJson(hit.symbol);
    row["path"] = hit.path;
    rows.push_back(std::move(row));
  }
  return {{"symbols", std::move(rows)}, {"exact", hits.exact}, {"more", hits.more}};
}

}  // namespace hone
