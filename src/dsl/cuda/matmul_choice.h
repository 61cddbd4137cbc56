// What the ways to multiply matrices on CUDA ask about a product, to say what they cost and how to begin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/family.h"
#include "dsl/kernel.h"
#include "dsl/shape/matmul_shape.h"

namespace hone::dsl {

double Products(const MatmulShape& shape);  // multiplications, of one right operand
std::int64_t BatchesOf(const MatmulShape& shape);
std::int64_t TilesOf(const MatmulShape& shape, std::int64_t rows, std::int64_t columns);

// Whether all that is multiplied is held as `dtype`, is read along K in order.
bool AllAre(const Kernel& kernel, DType dtype);
// Whether it is reals of 8 bits as they are, all of which f16 holds.
bool FitHalves(const Kernel& kernel);
// Whether it is bf16, or that and reals of 8 bits as they are, all of which bf16 holds.
bool FitBrains(const Kernel& kernel);
bool AlongK(const Kernel& kernel, const MatmulShape& shape);
// Whether there are so few rows or columns that reading the other operand once is all that matters.
bool IsNarrow(const MatmulShape& shape);
// Whether the product is large enough to be worth packing operands for the tensor cores.
bool IsLarge(const MatmulShape& shape);
// Whether the tensor cores can make it, by our own kernels.
bool TensorCoresCan(const Kernel& kernel);

// Into how many parts K is cut where there are too few tiles for the device: `wanted` blocks, of `least` of K each. And
// what is worth trying beside that.
std::int64_t SplitFor(const MatmulShape& shape, std::int64_t tiles, std::int64_t wanted, std::int64_t least);
std::vector<Setting> SplitsAround(const MatmulShape& shape, std::int64_t split);
std::optional<std::string> CheckSplitK(const Kernel& kernel, const Setting& value);
inline constexpr std::string_view kSplitDoc = "parts of K that are summed by blocks of their own";

// `products`, of ways that make one product at a time.
inline constexpr std::string_view kProductsDoc =
    "together: what the lets multiply A with goes through the same tiles; apart: a kernel for each product";
inline constexpr std::string_view kOnlyInPlace =
    "only operands of 16 bits that are read where they lie are multiplied together; try apart";
std::vector<Setting> ApartValues(const Kernel& kernel);
std::optional<std::string> CheckApart(const Kernel& kernel, const Setting& value);
inline constexpr Knob kProductsApartKnob{"products", kProductsDoc, ApartValues, CheckApart};

}  // namespace hone::dsl
