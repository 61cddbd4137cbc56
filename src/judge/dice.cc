#include "judge/dice.h"

#include <fmt/format.h>

#include <cinttypes>
#include <cstdio>

namespace hone {

std::string ToString(const Dice& dice) {
  return fmt::format("{:02x}.{}.{}", fmt::join(dice.key, ""), dice.draws, dice.timings);
}

Result<Dice> ParseDice(const std::string& text) {
  Dice dice;
  std::size_t digits = 0;
  for (; digits < 2 * dice.key.size() && digits < text.size(); digits += 2) {
    unsigned byte = 0;
    if (std::sscanf(text.c_str() + digits, "%2x", &byte) != 1) break;
    dice.key[digits / 2] = static_cast<std::uint8_t>(byte);
  }
  int read = 0;
  const bool whole =
      digits == 2 * dice.key.size() &&
      std::sscanf(text.c_str() + digits, ".%" SCNu64 ".%" SCNu64 "%n", &dice.draws, &dice.timings, &read) == 2 &&
      digits + static_cast<std::size_t>(read) == text.size();
  if (!whole || ToString(dice) != text)
    return Fail(ErrorKind::kUsage, fmt::format("'{}' are no dice: take those that a result names", text));
  return dice;
}

}  // namespace hone
