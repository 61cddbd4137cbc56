// Element types of tensors, by the names that problem.json, the language and reports use: f32, bf16, i64, bool ...
// kDTypes is the one table of what they are and of what others call them: code that depends on a type asks for a
// column, so that one more is an enumerator, a row, and a name in docs/problem.schema.json and docs/plan.schema.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace hone {

// Reals go from wide to narrow, and so do signed whole numbers: Promote counts on it.
enum class DType : std::uint8_t { kF64, kF32, kF16, kBF16, kF8E4M3, kF8E5M2, kI64, kI32, kI16, kI8, kU8, kBool };

struct DTypeRow {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
  // Of reals, 0 of others: bits of the exponent and of the mantissa without its leading one, and the largest number.
  // Where `infinity` is false, what is larger becomes that, as PyTorch has it.
  int exponent, mantissa;
  double largest;
  bool infinity;
  std::string_view cpp;          // a type of C++ of that size; its own, where every compiler of ours has one
  std::string_view cuda;         // in CUDA C++
  std::string_view cuda_header;  // that declares it; empty if none has to
  std::string_view torch;        // torch.NAME
  std::string_view safetensors;
  int dlpack;                   // DLDataTypeCode
  std::string_view tensor_map;  // CU_TENSOR_MAP_DATA_TYPE_NAME, by its size where there is no such
  int tensor_map_code;          // its number
};

inline constexpr DTypeRow kDTypes[] = {
    {DType::kF64, "f64", 8, 11, 52, std::numeric_limits<double>::max(), true, "double", "double", "", "float64", "F64",
     2, "FLOAT64", 8},
    {DType::kF32, "f32", 4, 8, 23, std::numeric_limits<float>::max(), true, "float", "float", "", "float32", "F32", 2,
     "FLOAT32", 7},
    {DType::kF16, "f16", 2, 5, 10, 65504, true, "_Float16", "__half", "cuda_fp16.h", "float16", "F16", 2, "FLOAT16", 6},
    {DType::kBF16, "bf16", 2, 8, 7, 0x1.fep127, true, "std::uint16_t", "__nv_bfloat16", "cuda_bf16.h", "bfloat16",
     "BF16", 4, "BFLOAT16", 9},
    {DType::kF8E4M3, "f8e4m3", 1, 4, 3, 448, false, "std::uint8_t", "__nv_fp8_e4m3", "cuda_fp8.h", "float8_e4m3fn",
     "F8_E4M3", 10, "UINT8", 0},
    {DType::kF8E5M2, "f8e5m2", 1, 5, 2, 57344, true, "std::uint8_t", "__nv_fp8_e5m2", "cuda_fp8.h", "float8_e5m2",
     "F8_E5M2", 12, "UINT8", 0},
    {DType::kI64, "i64", 8, 0, 0, 0, false, "std::int64_t", "long", "", "int64", "I64", 0, "INT64", 5},
    {DType::kI32, "i32", 4, 0, 0, 0, false, "std::int32_t", "int", "", "int32", "I32", 0, "INT32", 3},
    {DType::kI16, "i16", 2, 0, 0, 0, false, "std::int16_t", "short", "", "int16", "I16", 0, "UINT16", 1},
    {DType::kI8, "i8", 1, 0, 0, 0, false, "std::int8_t", "signed char", "", "int8", "I8", 0, "UINT8", 0},
    {DType::kU8, "u8", 1, 0, 0, 0, false, "std::uint8_t", "unsigned char", "", "uint8", "U8", 1, "UINT8", 0},
    // DLPack 0.6 has no bool: one byte, 0 or 1.
    {DType::kBool, "bool", 1, 0, 0, 0, false, "bool", "bool", "", "bool", "BOOL", 1, "UINT8", 0},
};

constexpr const DTypeRow& RowOf(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

constexpr std::string_view Name(DType dtype) { return RowOf(dtype).name; }
std::optional<DType> ParseDType(std::string_view name);
std::string NamesOfDTypes();                                             // "f64, f32, ... or bool"
constexpr std::size_t Bytes(DType dtype) { return RowOf(dtype).bytes; }  // of one element
constexpr bool IsFloat(DType dtype) { return RowOf(dtype).mantissa > 0; }
// Reals narrower than a float: stored as such, computed with as floats.
constexpr bool IsSmallFloat(DType dtype) { return IsFloat(dtype) && Bytes(dtype) < 4; }
constexpr bool IsHalf(DType dtype) { return IsFloat(dtype) && Bytes(dtype) == 2; }
// The largest relative error of rounding a real to it once.
constexpr double Roundoff(DType dtype) { return 0.5 / static_cast<double>(1ull << RowOf(dtype).mantissa); }
// The least magnitude that rounds to the infinity, half a step beyond the largest number; infinity where no double
// does.
constexpr double OverflowOf(DType dtype) {
  const DTypeRow& row = RowOf(dtype);
  if (!row.infinity || dtype == DType::kF64) return std::numeric_limits<double>::infinity();
  const double ones = static_cast<double>((2ull << row.mantissa) - 1);  // the largest number's mantissa
  return row.largest + row.largest / ones / 2;
}
// The type that generated C++ gives an element in memory: "float", "std::int64_t", and base/small_float.h's
// "hone::SmallFloat<8, 7>", which converts as the language's own types do.
std::string ElementType(DType dtype);
// The columns that Python programs of ours want, as JSON: {"bf16": {"torch": "bfloat16", "bytes": 2, ...}, ...}.
std::string DTypesJson();

}  // namespace hone
