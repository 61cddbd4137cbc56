#include "index/language.h"

#include <algorithm>

namespace hone {

const Language* LanguageOf(std::string_view path) {
  for (const Language* language : AllLanguages()) {
    if (std::ranges::any_of(language->suffixes, [&](std::string_view suffix) { return path.ends_with(suffix); }))
      return language;
  }
  return nullptr;
}

std::string Signature(std::string_view declaration) {
  std::string line;
  for (const char c : declaration) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!space) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
    if (line.size() == kLongestSignature) break;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace hone
