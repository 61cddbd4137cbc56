// The kernel language: a program is one symbol, all of its file.
#include <algorithm>

#include "index/language.h"

namespace hone::language_hk {
namespace {

constexpr std::string_view kSuffixes[] = {".hk"};

std::vector<Symbol> Symbols(std::string_view text) {
  std::vector<Symbol> symbols;
  const int lines = static_cast<int>(std::ranges::count(text, '\n')) + (text.ends_with('\n') ? 0 : 1);
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    ++number;
    begin = end + 1;
    constexpr std::string_view kWord = "program ";
    if (!line.starts_with(kWord)) continue;
    const std::size_t name = line.find_first_not_of(" \t", kWord.size());
    if (name == line.npos) continue;
    const std::size_t behind = std::min(line.find_first_of(" \t\r#", name), line.size());
    if (!symbols.empty()) symbols.back().last = number - 1;
    symbols.push_back({.name = std::string(line.substr(name, behind - name)),
                       .kind = "program",
                       .scope = "",
                       .signature = Signature(line),
                       .line = number,
                       .first = number,
                       .last = lines});
  }
  return symbols;
}

}  // namespace

HONE_ROW(Language){.name = "hk", .doc = "programs of the kernel language", .suffixes = kSuffixes, .symbols = Symbols};

}  // namespace hone::language_hk
