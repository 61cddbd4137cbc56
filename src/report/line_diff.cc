#include "report/line_diff.h"

#include <algorithm>
#include <cstdint>

namespace hone {
namespace {

// Pairs of lines that are compared at most: 4 MB of table, a few milliseconds.
constexpr std::size_t kMostPairs = std::size_t{1} << 20;

using Lines = std::vector<std::string_view>;

// The changes between lines that begin and end differently, by the longest common subsequence.
void Between(const Lines& before, const Lines& after, std::vector<DiffLine>& out) {
  const std::size_t rows = before.size(), columns = after.size();
  const bool whole = rows * columns > kMostPairs;
  std::vector<std::uint32_t> common(whole ? 0 : (rows + 1) * (columns + 1));  // of what begins at row, column
  const auto at = [&](std::size_t row, std::size_t column) -> std::uint32_t& {
    return common[row * (columns + 1) + column];
  };
  if (!whole) {
    for (std::size_t row = rows; row-- > 0;) {
      for (std::size_t column = columns; column-- > 0;) {
        at(row, column) = before[row] == after[column] ? at(row + 1, column + 1) + 1
                                                       : std::max(at(row + 1, column), at(row, column + 1));
      }
    }
  }
  std::size_t row = 0, column = 0;
  while (!whole && row < rows && column < columns) {
    if (before[row] == after[column]) {
      out.push_back({' ', before[row]});
      ++row, ++column;
    } else if (at(row + 1, column) >= at(row, column + 1)) {
      out.push_back({'-', before[row++]});
    } else {
      out.push_back({'+', after[column++]});
    }
  }
  while (row < rows) out.push_back({'-', before[row++]});
  while (column < columns) out.push_back({'+', after[column++]});
}

// Leaves out what is far from changes.
std::vector<DiffLine> Near(const std::vector<DiffLine>& lines, std::size_t around) {
  std::vector<bool> kept(lines.size(), false);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].kind == ' ') continue;
    const std::size_t first = i > around ? i - around : 0;
    const std::size_t end = std::min(lines.size(), i + around + 1);
    std::fill(kept.begin() + static_cast<std::ptrdiff_t>(first), kept.begin() + static_cast<std::ptrdiff_t>(end), true);
  }
  std::vector<DiffLine> out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (kept[i]) {
      out.push_back(lines[i]);
    } else if (out.empty() || out.back().kind != '@') {
      out.push_back({'@', {}});
    }
  }
  return out;
}

}  // namespace

std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<DiffLine> DiffOf(std::string_view before, std::string_view after, std::size_t around) {
  if (before == after) return {};
  Lines left = SplitLines(before), right = SplitLines(after);
  std::vector<DiffLine> head, tail;
  const auto same = std::mismatch(left.begin(), left.end(), right.begin(), right.end()).first - left.begin();
  for (auto i = same; i > 0; --i) head.push_back({' ', left[static_cast<std::size_t>(same - i)]});
  left.erase(left.begin(), left.begin() + same);
  right.erase(right.begin(), right.begin() + same);
  while (!left.empty() && !right.empty() && left.back() == right.back()) {
    tail.push_back({' ', left.back()});
    left.pop_back(), right.pop_back();
  }
  Between(left, right, head);
  head.insert(head.end(), tail.rbegin(), tail.rend());
  std::vector<DiffLine> lines = Near(head, around);
  return std::any_of(lines.begin(), lines.end(), [](const DiffLine& line) { return line.kind != '@'; })
             ? lines
             : std::vector<DiffLine>();
}

}  // namespace hone
