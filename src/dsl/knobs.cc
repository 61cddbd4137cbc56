#include "dsl/knobs.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::dsl {

Setting Whole(std::int64_t value) { return {.value = value, .at = {}}; }
Setting Word(std::string value) { return {.value = std::move(value), .at = {}}; }
Setting Tuple(std::vector<std::int64_t> value) { return {.value = std::move(value), .at = {}}; }

double SpaceCount(const Kernel& kernel) {
  double count = 1;
  for (const auto& index : kernel.space) count *= static_cast<double>(index.extent);
  return count;
}

double OperationsPerElement(const Expr& expr) {
  if (!expr) return 0;
  double count = 0;
  Visit(expr, [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kUnary) {
      const bool cheap = node.unary == UnaryOp::kNeg || node.unary == UnaryOp::kAbs || node.unary == UnaryOp::kNot ||
                         node.unary == UnaryOp::kSqrt ||
                         (node.unary >= UnaryOp::kFloor && node.unary <= UnaryOp::kIsNan);
      count += cheap ? 1 : 20;
    } else if (node.kind == Expr::Kind::kBinary) {
      count += node.binary == BinaryOp::kPow || node.binary == BinaryOp::kAtan2 ? 20 : 1;
    } else if (node.kind == Expr::Kind::kSelect) {
      count += 1;
    }
  });
  return count;
}

std::vector<Setting> ThreadsValues(const Kernel& kernel) {
  // Waking threads costs some microseconds, in which one core does about this many simple element operations.
  double work = SpaceCount(kernel);
  double operations = OperationsPerElement(kernel.epilogue);
  for (const auto& one : kernel.also) operations += OperationsPerElement(one.value);
  work *= 1 + operations / 16;
  const bool small = work < 20e3;
  std::vector<Setting> values =
      small ? std::vector<Setting>{Whole(1), Whole(0)} : std::vector<Setting>{Whole(0), Whole(1)};
  if (kernel.device->threads >= 4) values.push_back(Whole(kernel.device->threads / 2));
  return values;
}

std::vector<Setting> ThreadsFor(const Kernel& kernel, double flops) {
  // Ten microseconds of one core.
  std::vector<Setting> values =
      flops < 600e3 ? std::vector<Setting>{Whole(1), Whole(0)} : std::vector<Setting>{Whole(0), Whole(1)};
  if (kernel.device->threads >= 4) values.push_back(Whole(kernel.device->threads / 2));
  return values;
}

std::optional<std::string> CheckRange(const Setting& value, std::int64_t low, std::int64_t high) {
  const auto* whole = std::get_if<std::int64_t>(&value.value);
  if (!whole) return fmt::format("it is one whole number; try {}", low);
  if (*whole < low || *whole > high)
    return fmt::format("it goes from {} to {}; try {}", low, high, std::clamp(*whole, low, high));
  return std::nullopt;
}

std::optional<std::string> CheckWord(const Setting& value, std::initializer_list<std::string_view> words) {
  const auto* word = std::get_if<std::string>(&value.value);
  if (word && std::find(words.begin(), words.end(), *word) != words.end()) return std::nullopt;
  return fmt::format("it is one of {}; try {}", fmt::join(words, ", "), *words.begin());
}

std::optional<std::string> CheckThreads(const Kernel&, const Setting& value) { return CheckRange(value, 0, 4096); }

std::vector<Setting> VectorValues(const Kernel& kernel) {
  return kernel.device->vector_bytes >= 64 ? std::vector<Setting>{Whole(64), Whole(32)}
                                           : std::vector<Setting>{Whole(32)};
}

std::optional<std::string> CheckVector(const Kernel&, const Setting& value) {
  const auto* whole = std::get_if<std::int64_t>(&value.value);
  if (whole && (*whole == 32 || *whole == 64)) return std::nullopt;
  return "it is 32 or 64; try 32";
}

}  // namespace hone::dsl
