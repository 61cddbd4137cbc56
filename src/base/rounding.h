// Whole numbers up to the next multiple of another. None is negative, and the other one is not 0.
#pragma once

#include <cstdint>

namespace hone {

constexpr std::int64_t CeilDiv(std::int64_t count, std::int64_t step) { return (count + step - 1) / step; }
constexpr std::int64_t RoundUp(std::int64_t count, std::int64_t step) { return CeilDiv(count, step) * step; }

}  // namespace hone
