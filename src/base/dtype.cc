#include "base/dtype.h"

namespace hone {
namespace {

struct Row {
  std::string_view name, cpp;
  std::size_t bytes;
  bool is_float;
};

// In the order of the enumeration.
constexpr Row kRows[] = {
    {"f64", "double", 8, true},        {"f32", "float", 4, true},         {"f16", "_Float16", 2, true},
    {"bf16", "__bf16", 2, true},       {"i64", "std::int64_t", 8, false}, {"i32", "std::int32_t", 4, false},
    {"i16", "std::int16_t", 2, false}, {"i8", "std::int8_t", 1, false},   {"u8", "std::uint8_t", 1, false},
    {"bool", "bool", 1, false},
};

const Row& Of(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view Name(DType dtype) { return Of(dtype).name; }
std::size_t Bytes(DType dtype) { return Of(dtype).bytes; }
bool IsFloat(DType dtype) { return Of(dtype).is_float; }
std::string_view CppName(DType dtype) { return Of(dtype).cpp; }

std::optional<DType> ParseDType(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace hone
