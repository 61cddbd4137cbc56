#include "dsl/cpu/matmul_pairs.h"

#include <fmt/format.h>

#include "dsl/cpu/matmul_blocks.h"
#include "dsl/shape/matmul_shape.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kLanes = 16;  // of f32 in the vector that the instruction works on

}  // namespace

std::optional<std::string> WhyNoPairs(const Kernel& kernel) {
  if (auto why = WhyNoBlocksOfProducts(kernel)) return why;
  if (!kernel.device->bf16_pairs) return fmt::format("{} has no products of bf16", kernel.device->processor);
  if (kernel.compute != DType::kF32) return "its sums are of f32";
  for (std::size_t input = 0; input < 2; ++input) {
    const int operand = OperandOf(kernel.inputs[input]);
    if (operand < 0) return "an operand is an expression, whose values are not of bf16";
    const DType held = kernel.operand_types[static_cast<std::size_t>(operand)];
    if (held != DType::kBF16 && !(IsFloat(held) && Bytes(held) == 1))
      return "both operands have to be of bf16, or of reals of 8 bits, which are such";
  }
  if (HasBlocks(kernel) && BlockOf(kernel).depth % 2 != 0 && kernel.space[2].extent > 1)
    return fmt::format("a pair would be of two blocks, of {} elements of K each", BlockOf(kernel).depth);
  return std::nullopt;
}

double PairsCost(const Kernel& kernel) {
  constexpr double kTwiceAsFast = 1.2;  // as those of two numbers are at once, for which tiles of numbers say 2
  const Ceilings& known = kernel.device->ceilings;
  const auto pairs = known.matmul_flops.find("bf16");
  if (pairs == known.matmul_flops.end() || pairs->second <= 0 || known.fma_flops_f32 <= 0) return kTwiceAsFast;
  // Some processors make pairs at half the rate of numbers: two cores of a Xeon, model 207, 170 GFLOP/s and not 347.
  return kTwiceAsFast * 2 * known.fma_flops_f32 / pairs->second;
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
