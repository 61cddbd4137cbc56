// Element types of tensors, by the names that problem.json, the language and reports use: f32, bf16, i64, bool ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hone {

enum class DType : std::uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kBool };

std::string_view Name(DType dtype);
std::optional<DType> ParseDType(std::string_view name);
std::size_t Bytes(DType dtype);  // of one element
bool IsFloat(DType dtype);
std::string_view CppName(DType dtype);  // the C++ type of one element in memory: float, std::int64_t, bool ...

}  // namespace hone
