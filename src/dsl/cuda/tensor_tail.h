// The last tiles of a product on the tensor cores, where there are more blocks than are left of them: whole, a block
// each, while the others have nothing to do, or in parts of K, as many as there are blocks for. All blocks make a part
// first, then the tiles that are whole:
//
//   blocks  |  0   |  1   |  2   |  3   |  4   |  5   |  6   |
//   first   | 0: K from 0 .. | 1: ..  | 2: ..  | 0: K from K/2 .. | 1: ..  | 2: ..  | nothing |
//   then    | 3    | 4    | 5    | 6    | 7    | 8    | 9    |
//
// Blocks whose parts begin at the same K are neighbours: they read the same rows of the operands at the same time. (In
// equal shares of all that is left, stream-K, each would be elsewhere in K: 4096 x 4096 x 14336 took 901 us so and 589
// by whole tiles, docs/measured/cuda_16bit.md.) Who has the first part of a tile ends it, and adds up what others have
// left in memory, always in the same order.
//
// And what either takes, in cycles of a multiprocessor, by which tiles are chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/family.h"
#include "dsl/kernel.h"
#include "dsl/shape/matmul_shape.h"

namespace hone::dsl {

// How many tiles so many blocks make in parts, of so many steps each, and in how many; one part where all are whole.
struct TailParts {
  std::int64_t tiles = 0, parts = 1;
};
TailParts PartsOfTail(std::int64_t tiles, std::int64_t blocks, std::int64_t steps);
// Whether the setting says so.
bool TailInParts(const Kernel& kernel);

// What a product takes whose tiles are whole, of K in `split` parts, and whose last ones are made in parts; nothing
// where they are not. A tile has `columns` of each product. Fitted to 28 products of bf16 on one H200,
// 192 times of whole tiles and 55 of parts (docs/measured/cuda_16bit.md); what memory takes is not in it.
double WholeTilesCycles(const Kernel& kernel, const MatmulShape& shape, std::int64_t rows, std::int64_t columns,
                        std::int64_t split);
std::optional<double> TailInPartsCycles(const Kernel& kernel, const MatmulShape& shape, std::int64_t rows,
                                        std::int64_t columns);

std::vector<Setting> TensorTailValues(const Kernel& kernel);
std::optional<std::string> CheckTensorTail(const Kernel& kernel, const Setting& value);
inline constexpr Knob kTensorTailKnob{
    "tail", "the last tiles, fewer than blocks: whole, a block each; parts, of K, as many as there are blocks for",
    TensorTailValues, CheckTensorTail};

}  // namespace hone::dsl
