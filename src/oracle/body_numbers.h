// What making one function or kernel of several needs, whose bodies differ in numbers alone (nest_functions.h,
// merged_kernels.h).
#pragma once

#include <cctype>
#include <map>
#include <utility>
#include <vector>

namespace hone {

inline bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
inline bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Which parameter each number of the body is, all the same one at first. Numbers that shared one part where these, of
// one more body, differ.
template <class Number>
void PartSlots(std::vector<int>& slots, const std::vector<Number>& numbers) {
  std::map<std::pair<int, Number>, int> parted;
  for (std::size_t i = 0; i < slots.size(); ++i)
    slots[i] = parted.try_emplace({slots[i], numbers[i]}, static_cast<int>(parted.size())).first->second;
}

}  // namespace hone
