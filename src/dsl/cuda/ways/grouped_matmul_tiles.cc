#include <fmt/format.h>

#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_tensor_knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_grouped_matmul_tiles {
namespace {

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (auto why = WhyNoTensorCores(kernel)) return why;
  if (!AllAre(kernel, DType::kBF16) && !AllAre(kernel, DType::kF16))
    return "it is for operands that are both f16, or both bf16";
  if (!MultipliesInPlace(kernel, AllAre(kernel, DType::kBF16) ? TensorPrecision::kBF16 : TensorPrecision::kF16))
    return "both operands have to lie in lines, along K or across it, at multiples of 16 bytes";
  if (OperandOf(kernel.inputs[2]) < 0) return "the ends of the groups have to lie in memory";
  if (kernel.space[0].extent > kMostGroups)
    return fmt::format("{} groups are more than a block keeps, {}", kernel.space[0].extent, kMostGroups);
  return std::nullopt;
}

constexpr Knob kKnobs[] = {
    kTensorProductsKnob, kTensorTileKnob, kTensorStagesKnob, kTensorClusterKnob, kTensorEndKnob,
};

}  // namespace

HONE_ROW(Way){
    .family = "grouped_matmul",
    .name = "tiles",
    .doc = "on the tensor cores, each group beginning a tile",
    .why_not = WhyNot,
    .knobs = kKnobs,
    .emit_cuda = EmitTensorWay,
};

}  // namespace hone::dsl::cuda_way_grouped_matmul_tiles
