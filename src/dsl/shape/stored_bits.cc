#include "dsl/shape/stored_bits.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace hone::dsl {
namespace {

using Kind = Expr::Kind;

std::optional<std::int64_t> WholeOf(BinaryOp op, std::int64_t a, std::int64_t b) {
  const auto floored = [&] { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); };
  switch (op) {
    case BinaryOp::kAdd: return a + b;
    case BinaryOp::kSub: return a - b;
    case BinaryOp::kMul: return a * b;
    case BinaryOp::kFloorDiv: return b == 0 ? std::nullopt : std::optional(floored());
    case BinaryOp::kFloorMod: return b == 0 ? std::nullopt : std::optional(a - b * floored());
    case BinaryOp::kMin: return std::min(a, b);
    case BinaryOp::kMax: return std::max(a, b);
    case BinaryOp::kAnd: return a & b;
    case BinaryOp::kOr: return a | b;
    case BinaryOp::kXor: return a ^ b;
    case BinaryOp::kLess: return a < b;
    case BinaryOp::kLessEqual: return a <= b;
    case BinaryOp::kEqual: return a == b;
    case BinaryOp::kNotEqual: return a != b;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<std::int64_t> Evaluated(const Expr& e, std::int64_t byte, int index, std::int64_t at) {
  std::vector<std::int64_t> of;
  if (e->kind == Kind::kSelect) {
    const auto holds = Evaluated(e->operands[0], byte, index, at);
    return holds ? Evaluated(e->operands[*holds != 0 ? 1 : 2], byte, index, at) : std::nullopt;
  }
  if (e->kind == Kind::kLoad) return byte;
  for (const Expr& operand : e->operands) {
    const auto value = Evaluated(operand, byte, index, at);
    if (!value) return std::nullopt;
    of.push_back(*value);
  }
  if (e->kind == Kind::kConst && e->type != ScalarType::kReal) return e->whole;
  if (e->kind == Kind::kIndex && e->index.id == index) return at;
  if (e->kind == Kind::kCast && e->type != ScalarType::kReal)
    return e->type == ScalarType::kBool ? std::int64_t{of[0] != 0} : of[0];
  if (e->kind != Kind::kBinary || e->type == ScalarType::kReal) return std::nullopt;
  return WholeOf(e->binary, of[0], of[1]);
}

BitsOfWord BitsOfWord::Of(std::int64_t number) {
  BitsOfWord made;
  for (int i = 0; i < 64; ++i) made.bits_[At(i)] = (number >> i & 1) != 0 ? kOne : kZero;
  return made;
}

BitsOfWord BitsOfWord::Word() {
  BitsOfWord made;
  for (int i = 0; i < 64; ++i) made.bits_[At(i)] = std::min(i, 31);
  return made;
}

std::optional<std::int64_t> BitsOfWord::Number() const {
  std::int64_t number = 0;
  for (int i = 0; i < 64; ++i) {
    if (bits_[At(i)] >= 0) return std::nullopt;
    if (bits_[At(i)] == kOne) number |= static_cast<std::int64_t>(std::uint64_t{1} << i);
  }
  return number;
}

std::optional<int> BitsOfWord::Nibble() const {
  const int first = bits_[0];
  if (first < 0 || first % 4 != 0) return std::nullopt;
  for (int i = 1; i < 64; ++i) {
    if (bits_[At(i)] != (i < 4 ? first + i : kZero)) return std::nullopt;
  }
  return first / 4;
}

BitsOfWord BitsOfWord::Shifted(int places) const {
  BitsOfWord made;
  for (int i = 0; i < 64; ++i) made.bits_[At(i)] = i + places < 0 ? kZero : bits_[At(std::min(i + places, 63))];
  return made;
}

std::optional<BitsOfWord> BitsOfWord::Both(const BitsOfWord& a, BinaryOp op, const BitsOfWord& b) {
  BitsOfWord made;
  for (int i = 0; i < 64; ++i) {
    int x = a.bits_[At(i)], y = b.bits_[At(i)];
    if (x < 0) std::swap(x, y);  // y is none of the word's, if one is not
    int& bit = made.bits_[At(i)];
    if (op == BinaryOp::kXor && y != kZero && (x >= 0 || y >= 0)) return std::nullopt;
    if (y >= 0 && x != y) return std::nullopt;
    switch (op) {
      case BinaryOp::kAnd: bit = y == kZero || x == kZero ? kZero : y == kOne ? x : y; break;
      case BinaryOp::kOr: bit = y == kOne || x == kOne ? kOne : y == kZero ? x : y; break;
      default: bit = x >= 0 ? x : x == y ? kZero : kOne;
    }
  }
  return made;
}

std::optional<BitsOfWord> BitsOf(const Expr& e, const Fixed& fixed) {
  if (e->kind == Kind::kSelect) {
    const auto condition = BitsOf(e->operands[0], fixed);
    const auto holds = condition ? condition->Number() : std::nullopt;
    return holds ? BitsOf(e->operands[*holds != 0 ? 1 : 2], fixed) : std::nullopt;
  }
  if (e->kind == Kind::kLoad) return BitsOfWord::Word();
  if (e->type == ScalarType::kReal) return std::nullopt;
  if (e->kind == Kind::kConst) return BitsOfWord::Of(e->whole);
  if (e->kind == Kind::kIndex) {
    const auto at = fixed.find(e->index.id);
    return at == fixed.end() ? std::nullopt : std::optional(BitsOfWord::Of(at->second));
  }
  if (e->kind == Kind::kCast && e->type == ScalarType::kInt) return BitsOf(e->operands[0], fixed);
  if (e->kind != Kind::kBinary) return std::nullopt;
  const auto a = BitsOf(e->operands[0], fixed), b = BitsOf(e->operands[1], fixed);
  if (!a || !b) return std::nullopt;
  const auto first = a->Number(), number = b->Number();
  if (first && number) {
    const auto made = WholeOf(e->binary, *first, *number);
    return made ? std::optional(BitsOfWord::Of(*made)) : std::nullopt;
  }
  const bool is_power = number && *number > 0 && (*number & (*number - 1)) == 0;
  switch (e->binary) {
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor: return BitsOfWord::Both(*a, e->binary, *b);
    case BinaryOp::kFloorDiv:
      return is_power ? std::optional(a->Shifted(std::countr_zero(static_cast<std::uint64_t>(*number)))) : std::nullopt;
    case BinaryOp::kMul:
      return is_power ? std::optional(a->Shifted(-std::countr_zero(static_cast<std::uint64_t>(*number))))
                      : std::nullopt;
    case BinaryOp::kFloorMod:
      return is_power ? BitsOfWord::Both(*a, BinaryOp::kAnd, BitsOfWord::Of(*number - 1)) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace hone::dsl
