// What the ways of attention have in common that multiply with wgmma (compute capability 9.0): operands as the copy
// engine reads them, and the text of products.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/cuda/attention_parts.h"

namespace hone::dsl {

// A row is `row` elements from the next; batches that lie evenly are one dimension, of two at most: the inner first.
// One more goes along one of those, where the steps of both allow it. Of keys in pages `rows` are a page's, and the
// pages are batches of the inner one.
struct AttentionMatrices {
  int buffer = -1;
  std::int64_t offset = 0, rows = 1, width = 1, row = 0;
  std::array<std::int64_t, 2> extents = {1, 1}, strides = {0, 0};
  std::array<std::vector<std::int64_t>, 2> factors = {};  // of the batch indices, for the place in each dimension
};

// Of `rows` of q, k or v (`input` 0, 1, 2), which are the operand's. Nothing if the copy engine cannot; `why` says it
// then.
std::optional<AttentionMatrices> AttentionMatricesOf(const Kernel& kernel, std::size_t input,
                                                     const KernelOperand& operand, const AttentionRows& rows,
                                                     std::string& why);
// How many matrices of the inner dimension a page is from the one before; 0 where there are none.
std::int64_t PagesApart(const Kernel& kernel, const AttentionMatrices& matrices);
// Why the copy engine does not read a tile of so many keys, or one of any, by their pages; or nothing.
std::optional<std::string> CheckTileOfPages(const Kernel& kernel, std::int64_t keys);
std::optional<std::string> CheckPages(const Kernel& kernel);
// Of such a tile the keys that one copy reads.
std::int64_t KeysOfCopy(const Kernel& kernel, std::int64_t keys);
// The text of where the keys of the batch at `batches` are, a type of attention_keys.cuh; lines before it say more.
std::string OpenAttentionKeys(DeviceWriter& out, const Kernel& kernel, const std::vector<std::string>& batches);

// Boxes of so many rows of 64 elements.
TensorMapArgument AttentionMap(const KernelProgram& program, const AttentionMatrices& matrices, std::int64_t rows);

// Products of 64 x n x 16 as attention_products.cuh wants them: the operands of wgmma are named one by one.
std::string AttentionProductsText(std::int64_t n, DType type);

}  // namespace hone::dsl
