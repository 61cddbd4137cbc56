// What a product on the tensor cores is set to, as far as its knobs are settled: which precision its way has, what that
// makes of its operands, and the settings of its kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dsl/cuda/matmul_tensor.h"
#include "dsl/kernel.h"
#include "dsl/shape/matmul_shape.h"

namespace hone::dsl {

inline constexpr int kMostStages = 6;  // that are tried without being told
// Rows up to which reading B is all that counts.
inline constexpr std::int64_t kFewRows = 64;

TensorPrecision PrecisionOf(const Kernel& kernel);
// Whether the sums of a tile are what the tensor cores leave, neither scaled nor promoted: what can be set on its
// course are settings of these products alone.
bool IsPlain(const Kernel& kernel);
inline bool Promotes(const Kernel& kernel) { return !IsPlain(kernel); }
// Whether what became halves has to be scaled back, for which ends are lines.
bool IsScaled(const Kernel& kernel);
// Why several products cannot be made together, or nothing; whether they are, and how many at a time.
std::optional<std::string> WhyApart(const Kernel& kernel);
bool Together(const Kernel& kernel);
std::int64_t ProductsAtATime(const Kernel& kernel);
// Whether a third operand says where groups of rows end, or segments of K.
bool EndsOfParts(const Kernel& kernel);
// Whether operands of the chain come in stages where results leave in tiles.
bool EndsInStages(const Kernel& kernel, const MatmulShape& shape, TensorSettings settings);
// Where operands become halves, as far as that is settled.
std::string HalvesOf(const Kernel& kernel);
// The settings where that is `halves`.
TensorSettings WithHalves(TensorSettings settings, std::string_view halves);
// Of the knobs before `stages`.
TensorSettings TensorSettingsOf(const Kernel& kernel);
// Into how many parts K is cut: a block a multiprocessor. Groups of rows and segments of K are not cut so.
std::int64_t SplitOf(const Kernel& kernel, const MatmulShape& shape, std::int64_t rows, std::int64_t columns);
bool SplitsK(const Kernel& kernel);  // whether the setting says so

}  // namespace hone::dsl
