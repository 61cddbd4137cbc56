// Whole numbers as text: what bounds of loops and places in memory are made of. What is known to be 0 or 1 leaves no
// trace.
#pragma once

#include <cstdint>
#include <string>

namespace hone::dsl {

std::string Plus(const std::string& a, const std::string& b);    // "i + j"; "j" if the other is "0"
std::string Plus(const std::string& a, std::int64_t b);          // "i + 4", "i - 4"
std::string Scaled(const std::string& a, std::int64_t by);       // "i * 4", "(i + j) * 4"
std::string Lesser(const std::string& a, const std::string& b);  // "a < b ? a : b"

// "const long rows = 100 - i0 < 32 ? 100 - i0 : 32;": how many of `whole` are left from `from` on, `most` at a time.
// Where these divide it, "constexpr long rows = 32;".
std::string Left(const std::string& name, std::int64_t whole, const std::string& from, std::int64_t most);
std::string Left(const std::string& name, const std::string& whole, const std::string& from, std::int64_t most);

}  // namespace hone::dsl
