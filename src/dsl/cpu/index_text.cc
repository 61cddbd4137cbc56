#include "dsl/cpu/index_text.h"

#include <fmt/format.h>

namespace hone::dsl {

std::string Plus(const std::string& a, const std::string& b) {
  return a == "0" ? b : b == "0" ? a : fmt::format("{} + {}", a, b);
}

std::string Plus(const std::string& a, std::int64_t b) {
  if (b == 0) return a;
  if (a == "0") return fmt::format("{}", b);
  return b > 0 ? fmt::format("{} + {}", a, b) : fmt::format("{} - {}", a, -b);
}

std::string Scaled(const std::string& a, std::int64_t by) {
  if (by == 1 || a == "0") return a;
  const bool sum = a.find_first_of("+-") != std::string::npos;
  return fmt::format("{} * {}", sum ? "(" + a + ")" : a, by);
}

std::string Lesser(const std::string& a, const std::string& b) { return fmt::format("{} < {} ? {} : {}", a, b, a, b); }

std::string Left(const std::string& name, const std::string& whole, const std::string& from, std::int64_t most) {
  return fmt::format("const long {} = {};", name, Lesser(fmt::format("{} - {}", whole, from), fmt::format("{}", most)));
}

std::string Left(const std::string& name, std::int64_t whole, const std::string& from, std::int64_t most) {
  if (whole % most == 0) return fmt::format("constexpr long {} = {};", name, most);
  return Left(name, fmt::format("{}", whole), from, most);
}

}  // namespace hone::dsl
