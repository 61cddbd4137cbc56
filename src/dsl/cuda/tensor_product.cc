#include "dsl/cuda/tensor_product.h"

#include <fmt/format.h>

#include <string_view>

namespace hone::dsl {
namespace {

// In PTX.
std::string_view TypeText(DType type) {
  switch (type) {
    case DType::kBF16: return "bf16";
    case DType::kF8E4M3: return "e4m3";
    case DType::kF8E5M2: return "e5m2";
    case DType::kI8: return "s8";
    case DType::kF32: return "tf32";
    default: return "f16";
  }
}

}  // namespace

std::string ProductKind::Name() const {
  if (Bytes(a) == 1) return fmt::format("Multiply_{}_{}", TypeText(a), TypeText(b));
  if (a == DType::kF32) return "MultiplyTf32";
  return fmt::format("Multiply{}{}{}", a == DType::kBF16 ? "Brains" : "Halves", a_across ? "AcrossA" : "",
                     b_across ? "AcrossB" : "");
}

std::string ProductText(std::int64_t n, const ProductKind& kind) {
  const std::int64_t registers = n / 2;
  const bool whole = kind.a == DType::kI8;
  std::string names, values;
  for (std::int64_t i = 0; i < registers; ++i) {
    names += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    values += fmt::format("{}\"+{}\"(d[{}])", i == 0 ? "" : ", ", whole ? "r" : "f", i);
  }
  // What may follow: signs of the operands, and that they lie across K, which only those of 16 bits do.
  std::string more = whole ? "" : ", 1, 1";
  if (Bytes(kind.a) == 2) more += fmt::format(", {:d}, {:d}", kind.a_across, kind.b_across);
  return fmt::format(
      R"(// d = a * b, and what d was where `add` is not 0: a of 64 x {3}, b of {0} x {3}, both by their descriptors.
__device__ __forceinline__ void {9}({12} (&d)[{1}], unsigned long a, unsigned long b, int add) {{
  asm volatile(
      "{{\n.reg .pred add;\nsetp.ne.b32 add, %{2}, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n{0}k{3}.{13}.{4}.{5} {{{6}}}, %{7}, %{8}, add{10};\n}}"
      : {11}
      : "l"(a), "l"(b), "r"(add));
}}
)",
      n, registers, registers + 2, kind.depth(), TypeText(kind.a), TypeText(kind.b), names, registers, registers + 1,
      kind.Name(), more, values, whole ? "int" : "float", whole ? "s32" : "f32");
}

}  // namespace hone::dsl
