// As matmul's way of the same name, but that what the tensor cores summed is scaled as it is promoted, which takes no
// instruction more: the sums of 8-bit reals have to be promoted anyway.
#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_tensor_knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_scaled_matmul_f8 {
namespace {

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (auto why = WhyNoTensorCores(kernel)) return why;
  if (!MultipliesInPlace(kernel, TensorPrecision::kF8))
    return "it is for operands that are reals of 8 bits, lie along K and begin at multiples of 16 bytes";
  return WhyNoBlocks(kernel, TensorPrecision::kF8);
}

// The tensor cores keep too little of sums of reals of 8 bits for a result of 32.
std::optional<double> Cost(const Kernel& kernel) {
  return IsSmallFloat(kernel.target_type) ? std::optional(1.2) : std::nullopt;
}

constexpr Knob kKnobs[] = {
    kTensorTileKnob, kTensorSumsKnob, kTensorStagesKnob, kTensorClusterKnob, kTensorSplitKnob, kTensorEndKnob,
};

}  // namespace

HONE_ROW(Way){
    .family = "scaled_matmul",
    .name = "f8",
    .doc = "on the tensor cores, of operands that are reals of 8 bits",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = EmitTensorWay,
};

}  // namespace hone::dsl::cuda_way_scaled_matmul_f8
