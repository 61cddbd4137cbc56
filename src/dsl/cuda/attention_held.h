// Keys and values of attention that memory holds in 8 bits, or in the 16 of its queries. A way that reads them straight
// to registers converts them there, and multiplies scores and weights with what scales their rows: an operand such as
// real(k) * scale is read as it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "dsl/cuda/writer.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// What is of 8 bits among those, signed.
constexpr bool IsHeldInEightBits(DType type) { return type == DType::kI8 || (IsFloat(type) && Bytes(type) == 1); }

// Rows of k or v (`input` 1, 2) that are of 8 bits, times what is the same along a row; null where that is 1. Nothing
// where the operand is another expression.
struct HeldRows {
  std::size_t operand = 0;
  Expr scale;
};
std::optional<HeldRows> HeldRowsOf(const Kernel& kernel, std::size_t input);

// What scales k or v: nothing, or what all keys of a batch have in common, or each has for itself.
enum class ScaleOf : std::uint8_t { kNone, kAll, kEach };
ScaleOf ScaleOfRows(const Kernel& kernel, std::size_t input);
// Whether keys, or values, have one each.
bool HaveScalesEach(const Kernel& kernel);

// As memory holds keys.
DType HeldType(const Kernel& kernel);
// That q is of 16 bits, k and v of that type or both of one of 8, and all computed with in f32; or why that is not so.
std::optional<std::string> CheckHeldTypes(const Kernel& kernel);

// As what they are multiplied with each other: as halves, which hold all of 8 bits and cost less to make, where weights
// are those of a softmax; as what they are else, or as queries are.
DType MultipliedAs(const Kernel& kernel);
// Defines what converts them to that, and gives the type of attention_held.cuh that does.
std::string DefineHeld(DeviceWriter& out, const Kernel& kernel);

}  // namespace hone::dsl
