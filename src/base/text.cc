#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace hone {

std::size_t EditDistance(std::string_view a, std::string_view b) {
  // Rows of the usual table; two back are kept for swaps of neighbours.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> known) {
  const auto nearest = std::min_element(known.begin(), known.end(), [word](std::string_view a, std::string_view b) {
    return EditDistance(word, a) < EditDistance(word, b);
  });
  if (nearest == known.end() || EditDistance(word, *nearest) > std::max<std::size_t>(1, word.size() / 3)) return "";
  return fmt::format("; did you mean '{}'?", *nearest);
}

int CountOf(std::string_view text, std::string_view word) {
  int count = 0;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + word.size())) ++count;
  return count;
}

std::string Printable(std::string text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    const bool control = (c < 32 && c != '\n' && c != '\t') || c == 127;
    const bool second_set = c == 0xC2 && next >= 0x80 && next < 0xA0;  // U+0080 to U+009F, with CSI among them
    shown += control || second_set ? '?' : text[i];
    if (second_set) ++i;
  }
  return shown;
}

std::string LastLine(std::string_view text) {
  const auto end = text.find_last_not_of(" \r\n");
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

std::string Spelled(std::string_view name) { return "t_" + std::string(name); }

}  // namespace hone
