// Nests that are written into an input (KernelBuffer::updates) and read of it other places than they write at, as a
// window that moves on by one:
//
//   window_after = nest [c, j < 4] (select(j < 3, window[c, j + 1], x[c]))
//
// Each reads its own row alone, which is read whole before any of it is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/kernel.h"

namespace hone::dsl {

inline constexpr std::int64_t kMostInUpdatedRow = 64;  // elements, which a thread has in registers

// Whether a load is of the row of `row` elements in which its own kernel writes at the same time; of one element: of
// the place at which that writes. `target`: how far apart its places are along each dimension of its space.
bool IsOfUpdatedRow(const Kernel& kernel, const ExprNode& load, const std::vector<std::int64_t>& target,
                    std::int64_t row);
// Elements of the shortest row, the last dimensions of the target, of which an element reads no other row's of
// `buffer`: 1 where each reads at most the place that it writes. 0: they read elsewhere, or in longer rows.
std::int64_t UpdatedRowOf(const Kernel& kernel, int buffer);
// Likewise, of what a nest writes into that input.
std::int64_t UpdatedRowOf(const Kernel& kernel);
// Why a way that reads such rows whole cannot make a nest, or nothing.
std::optional<std::string> WhyNoUpdatedRows(const Kernel& kernel);
// How many dimensions of the target, the innermost ones, are such a row of a nest that reads other places of it.
std::size_t RowDimensions(const Kernel& kernel);

}  // namespace hone::dsl
