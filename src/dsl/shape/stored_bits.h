// Which bits of a byte, or of a word of 32, a whole number is that a nest makes of it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "expr/expr.h"

namespace hone::dsl {

// The whole number for a byte, as its type has it, where this index is `at`; nothing if it takes more to say.
std::optional<std::int64_t> Evaluated(const Expr& e, std::int64_t byte, int index, std::int64_t at);

// What indices are, by id.
using Fixed = std::map<int, std::int64_t>;

// A whole number of which each bit is 0, 1 or a bit of a word of 32.
class BitsOfWord {
 public:
  static BitsOfWord Of(std::int64_t number);
  static BitsOfWord Word();

  std::optional<std::int64_t> Number() const;
  // Which four bits of the word it is, in order and without a sign.
  std::optional<int> Nibble() const;

  // As floordiv by 2^places does, and, of less than 0, as times.
  BitsOfWord Shifted(int places) const;
  static std::optional<BitsOfWord> Both(const BitsOfWord& a, BinaryOp op, const BitsOfWord& b);

 private:
  static constexpr int kZero = -1, kOne = -2;
  static std::size_t At(int i) { return static_cast<std::size_t>(i); }
  std::array<int, 64> bits_ = {};
};

// The whole number of a word; nothing where its bits do not tell.
std::optional<BitsOfWord> BitsOf(const Expr& e, const Fixed& fixed);

}  // namespace hone::dsl
