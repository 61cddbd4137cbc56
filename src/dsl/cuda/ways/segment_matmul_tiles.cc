#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_tensor_knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_segment_matmul_tiles {
namespace {

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (auto why = WhyNoTensorCores(kernel)) return why;
  if (!AllAre(kernel, DType::kBF16) && !AllAre(kernel, DType::kF16))
    return "it is for operands that are both f16, or both bf16";
  if (!LieAcrossK(kernel)) return "both operands have to lie in lines across K, at multiples of 16 bytes";
  if (OperandOf(kernel.inputs[2]) < 0) return "the ends of the segments have to lie in memory";
  return std::nullopt;
}

constexpr Knob kKnobs[] = {kTensorTileKnob, kTensorStagesKnob, kTensorClusterKnob, kTensorEndKnob};

}  // namespace

HONE_ROW(Way){
    .family = "segment_matmul",
    .name = "tiles",
    .doc = "on the tensor cores, tiles of each segment's product",
    .why_not = WhyNot,
    .knobs = kKnobs,
    .emit_cuda = EmitTensorWay,
};

}  // namespace hone::dsl::cuda_way_segment_matmul_tiles
