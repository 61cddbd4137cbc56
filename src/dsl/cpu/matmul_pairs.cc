#include "dsl/cpu/matmul_pairs.h"

#include <fmt/format.h>

#include "dsl/shape/matmul_shape.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kLanes = 16;  // of f32 in the vector that the instruction works on

}  // namespace

std::optional<std::string> WhyNoPairs(const Kernel& kernel) {
  if (!kernel.device->bf16_pairs) return fmt::format("{} has no products of bf16", kernel.device->processor);
  if (kernel.compute != DType::kF32) return "its sums are of f32";
  for (std::size_t input = 0; input < 2; ++input) {
    const int operand = OperandOf(kernel.inputs[input]);
    if (operand < 0) return "an operand is an expression, whose values are not of bf16";
    if (kernel.operand_types[static_cast<std::size_t>(operand)] != DType::kBF16)
      return "both operands have to be of bf16";
  }
  return std::nullopt;
}

std::vector<Setting> PairsMicroValues(const Kernel& kernel) {
  auto values = PackedMicroValues(kernel);
  std::erase_if(values,
                [](const Setting& value) { return std::get<std::vector<std::int64_t>>(value.value)[1] % kLanes != 0; });
  return values;
}
std::optional<std::string> CheckPairsMicro(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckMicro(kernel, value)) return why;
  if (std::get<std::vector<std::int64_t>>(value.value)[1] % kLanes != 0)
    return fmt::format("the second must be a multiple of {}; try 14x32", kLanes);
  return std::nullopt;
}

}  // namespace hone::dsl
