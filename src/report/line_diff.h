// What changed from one text to another, by lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

struct DiffLine {
  char kind = ' ';  // ' ' in both, '-' in the first alone, '+' in the second alone, '@' lines of both are left out
  std::string_view text;  // of the texts that were compared, without its end; empty for '@'
};

inline constexpr std::size_t kAllLines = std::size_t{1} << 40;  // around changes: nothing is left out

// Lines around changes, `around` of them; as few changes as there can be where texts are not very long, else what lies
// between the first and the last change is changed as a whole. Equal texts give nothing. Views must outlive it.
std::vector<DiffLine> DiffOf(std::string_view before, std::string_view after, std::size_t around = 3);

// Without their ends; a text that ends in a line break has no empty line behind it.
std::vector<std::string_view> SplitLines(std::string_view text);

}  // namespace hone
